// expand-conv-transpose: a transposed convolution with steps s is s (in each axis) convolutions
// with steps of 1, whose results interleave: result s * i + r is the sum over j of
// x[i - j] * w[s * j + r]. They are one convolution with s times the filters. Where the window is
// not a multiple of the steps, filters end with zeros, which are multiplied like other elements. A
// window shorter than the steps makes whole filters of zeros: step / window times as many filters
// as needed for each axis. That is rare, and faster than what nn.conv_transpose has by itself, a
// reference kernel.
#include <algorithm>
#include <vector>

#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/check.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

using DimList = std::vector<DimExpr>;
using Made = absl::StatusOr<Value>;

// One spatial axis.
struct Axis {
  int64_t step;          // of the transposed convolution
  int64_t window, taps;  // elements of its window; of those of the convolutions
  int64_t dilation;      // of both; 1 unless `step` is
  int64_t pad_begin;     // of the convolutions
  int64_t pad_end;
  DimExpr interleaved;  // extent of the interleaved results …
  int64_t first, rest;  // … of which the result begins with this one, and leaves out so many
};

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

class Expansion {
 public:
  explicit Expansion(Operation& op) : op_(op), transposed_(&op), builder_(OpBuilder::Before(&op)) {}

  // Null where extents of filters or of the result are not known, the result is empty, or windows
  // have both steps and gaps between their elements.
  Made Make() {
    if (!ReadAxes()) return Value();
    TENON_ASSIGN_OR_RETURN(const Value filters, Filters());
    Value bias = transposed_.bias();
    if (bias) {
      TENON_ASSIGN_OR_RETURN(bias, Bias(bias));
    }
    nn::ConvOp::Attrs attrs;
    attrs.group = group_;
    std::vector<int64_t> ends;
    for (const Axis& axis : axes_) {
      attrs.strides.push_back(1);
      attrs.dilations.push_back(axis.dilation);
      attrs.pads.push_back(axis.pad_begin);
      ends.push_back(axis.pad_end);
    }
    attrs.pads.insert(attrs.pads.end(), ends.begin(), ends.end());
    TENON_ASSIGN_OR_RETURN(
        const nn::ConvOp conv,
        nn::ConvOp::Create(builder_, op_.location(), transposed_.x(), filters, bias, attrs));
    TENON_ASSIGN_OR_RETURN(const Value y, Activated(conv.out()));
    return Interleave(y);
  }

  // What the result of Make replaces.
  Value replaced() const { return replaced_; }

 private:
  DimExpr Number(int64_t n) const { return DimExpr::Constant(op_.context(), n); }

  bool ReadAxes() {
    const Type x = transposed_.x().type(), w = transposed_.w().type(), out = op_.result().type();
    if (!x.is_tensor() || !out.is_tensor() || !w.is_static() || w.num_elements() == 0) {
      return false;
    }
    const nn::ConvTransposeOp::Attrs attrs = transposed_.attrs();
    const auto rank = static_cast<size_t>(x.rank() - 2);
    group_ = attrs.group;
    per_group_ = w.dim(0).constant() / group_;
    filters_ = w.dim(1).constant();
    for (size_t i = 0; i < rank; ++i) {
      const auto at = static_cast<int64_t>(i + 2);
      Axis axis = {};
      axis.step = attrs.strides[i];
      axis.window = w.dim(at).constant();
      axis.taps = CeilDiv(axis.window, axis.step);
      axis.dilation = attrs.dilations[i];
      if (out.dim(at).is_unknown() || out.dim(at).is_constant(0)) return false;
      if (axis.dilation > 1 && axis.step > 1) return false;
      // Results of the convolutions before and behind those of the first and the last element.
      const int64_t reach = axis.dilation * (axis.taps - 1);
      const int64_t skipped = std::min(attrs.pads[i] / axis.step, reach);
      const int64_t span = axis.dilation * (axis.window - 1) + 1;
      const int64_t end = span - attrs.pads[rank + i] + attrs.output_padding[i];
      axis.pad_begin = reach - skipped;
      axis.pad_end = std::max<int64_t>(0, CeilDiv(std::max<int64_t>(end, 1), axis.step) - 1);
      axis.first = attrs.pads[i] - skipped * axis.step;
      const int64_t added = axis.pad_begin + axis.pad_end - reach;
      axis.interleaved = (x.dim(at) + added) * axis.step;
      axis.rest = (1 + added) * axis.step - end + attrs.pads[i] - axis.first;
      interleaves_ |= axis.step > 1;
      axes_.push_back(axis);
    }
    return true;
  }

  Made Reshaped(Value x, DimList shape) {
    TENON_ASSIGN_OR_RETURN(const auto made, ten::ReshapeOp::Create(builder_, op_.location(), x,
                                                                   {.shape = std::move(shape)}));
    return made.out();
  }

  Made Transposed(Value x, std::vector<int64_t> perm) {
    TENON_ASSIGN_OR_RETURN(const auto made, ten::TransposeOp::Create(builder_, op_.location(), x,
                                                                     {.perm = std::move(perm)}));
    return made.out();
  }

  // From [C, M/group, window…] to [group * steps… * M/group, C/group, taps…], taps backwards.
  Made Filters() {
    Value w = transposed_.w();
    const size_t rank = axes_.size();
    DimList pads(2 * (rank + 2), Number(0));
    DimList split = {Number(group_), Number(per_group_), Number(filters_)};
    DimList joined = {Number(group_ * filters_ * Steps()), Number(per_group_)};
    ten::SliceOp::Attrs backwards;
    std::vector<int64_t> perm = {0}, taps;
    bool is_padded = false;
    for (size_t i = 0; i < rank; ++i) {
      const Axis& axis = axes_[i];
      const int64_t added = axis.taps * axis.step - axis.window;
      is_padded |= added > 0;
      pads[rank + 2 + i + 2] = Number(added);
      const auto at = static_cast<int64_t>(split.size());
      backwards.axes.push_back(at);
      backwards.starts.push_back(Number(axis.taps - 1));
      backwards.ends.push_back(Number(INT64_MIN));
      backwards.steps.push_back(-1);
      split.push_back(Number(axis.taps));
      split.push_back(Number(axis.step));
      joined.push_back(Number(axis.taps));
      taps.push_back(at);
      perm.push_back(at + 1);
    }
    perm.insert(perm.end(), {2, 1});
    perm.insert(perm.end(), taps.begin(), taps.end());
    if (is_padded) {
      TENON_ASSIGN_OR_RETURN(const auto padded, ten::PadOp::Create(builder_, op_.location(), w,
                                                                   Value(), {.pads = pads}));
      w = padded.out();
    }
    TENON_ASSIGN_OR_RETURN(w, Reshaped(w, split));
    TENON_ASSIGN_OR_RETURN(const auto turned,
                           ten::SliceOp::Create(builder_, op_.location(), w, backwards));
    TENON_ASSIGN_OR_RETURN(w, Transposed(turned.out(), perm));
    return Reshaped(w, joined);
  }

  // [M] once for each of the interleaving results.
  Made Bias(Value bias) {
    TENON_ASSIGN_OR_RETURN(bias, Reshaped(bias, {Number(group_), Number(1), Number(filters_)}));
    TENON_ASSIGN_OR_RETURN(const auto wide,
                           ten::ExpandOp::Create(builder_, op_.location(), bias,
                                                 {.shape = DimList{Number(group_), Number(Steps()),
                                                                   Number(filters_)}}));
    return Reshaped(wide.out(), {Number(group_ * filters_ * Steps())});
  }

  int64_t Steps() const {
    int64_t steps = 1;
    for (const Axis& axis : axes_) steps *= axis.step;
    return steps;
  }

  // With the operation on single elements, if there is one, that alone reads the old result: rules
  // then see it behind a convolution.
  Made Activated(Value y) {
    if (!op_.result().has_one_use()) return y;
    Operation& user = *op_.result().uses().begin()->owner();
    if (!user.Has(Trait::kElementwise) || user.num_operands() != 1 || user.num_results() != 1 ||
        user.result().type() != op_.result().type() || user.block() != op_.block()) {
      return y;
    }
    const Value operands[] = {y};
    TENON_ASSIGN_OR_RETURN(Operation * made, builder_.CreateInferred(user.info(), user.location(),
                                                                     operands, user.slots()));
    replaced_ = user.result();
    return made->result();
  }

  // From [N, group * steps… * M/group, spatial…] to the result.
  Made Interleave(Value y) {
    const size_t rank = axes_.size();
    const DimExpr batch = y.type().dim(0);
    if (interleaves_) {
      DimList split = {batch, Number(group_)}, merged = {batch, Number(group_ * filters_)};
      std::vector<int64_t> perm = {0, 1, static_cast<int64_t>(rank) + 2};
      for (size_t i = 0; i < rank; ++i) {
        split.push_back(Number(axes_[i].step));
        merged.push_back(axes_[i].interleaved);
        perm.push_back(static_cast<int64_t>(rank + 3 + i));
        perm.push_back(static_cast<int64_t>(2 + i));
      }
      split.push_back(Number(filters_));
      for (size_t i = 0; i < rank; ++i) split.push_back(y.type().dim(static_cast<int64_t>(2 + i)));
      if (group_ == 1) {  // needs no axis of its own
        split.erase(split.begin() + 1);
        perm.erase(perm.begin() + 1);
        for (int64_t& axis : perm) axis -= axis > 0 ? 1 : 0;
      }
      TENON_ASSIGN_OR_RETURN(y, Reshaped(y, split));
      TENON_ASSIGN_OR_RETURN(y, Transposed(y, perm));
      TENON_ASSIGN_OR_RETURN(y, Reshaped(y, merged));
    }
    ten::SliceOp::Attrs cut;
    for (size_t i = 0; i < rank; ++i) {
      const Axis& axis = axes_[i];
      if (axis.first == 0 && axis.rest == 0) continue;
      cut.axes.push_back(static_cast<int64_t>(2 + i));
      cut.starts.push_back(Number(axis.first));
      cut.ends.push_back(Number(axis.rest == 0 ? INT64_MAX : -axis.rest));
      cut.steps.push_back(1);
    }
    if (!cut.axes.empty()) {
      TENON_ASSIGN_OR_RETURN(const auto made,
                             ten::SliceOp::Create(builder_, op_.location(), y, cut));
      y = made.out();
    }
    if (y.type() == op_.result().type()) return y;
    // The same extents, written in another way.
    const std::span<const DimExpr> dims = op_.result().type().dims();
    return Reshaped(y, {dims.begin(), dims.end()});
  }

  Operation& op_;
  nn::ConvTransposeOp transposed_;
  OpBuilder builder_;
  std::vector<Axis> axes_;
  int64_t group_ = 1, per_group_ = 0, filters_ = 0;  // channels and filters of a group
  bool interleaves_ = false;
  Value replaced_ = op_.result();
};

class ExpandConvTranspose : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    std::vector<Operation*> found;
    op->Walk([&](Operation* inner) {
      if (Isa<nn::ConvTransposeOp>(inner)) found.push_back(inner);
    });
    int64_t expanded = 0;
    for (Operation* conv : found) {
      Expansion expansion(*conv);
      TENON_ASSIGN_OR_RETURN(const Value value, expansion.Make());
      if (!value) continue;
      Value replaced = expansion.replaced();
      if (value.type() != replaced.type()) {
        return absl::InternalError("a transposed convolution has another type");
      }
      replaced.ReplaceAllUsesWith(value);
      if (replaced != conv->result()) replaced.defining_op()->Erase();
      conv->Erase();
      ++expanded;
    }
    if (expanded > 0) context.statistics->Add("expanded", expanded);
    return PassResult{expanded > 0};
  }
};

}  // namespace

PassInfo ExpandConvTransposePassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.create = [](const PassOptionValues&) { return std::make_unique<ExpandConvTranspose>(); };
  return info;
}

}  // namespace tenon
