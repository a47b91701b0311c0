// expand-conv-transpose: a transposed convolution with steps s is s (in each axis) convolutions
// with steps of 1, whose results interleave: result s * i + r is the sum over j of
// x[i - j] * w[s * j + r]. They are one convolution with s times the filters. Where the window is
// not a multiple of the steps, filters end with zeros, which are multiplied like other elements. A
// window shorter than the steps makes whole filters of zeros: step / window times as many filters
// as needed for each axis.
//
// Those stay that a CPU kernel computes phase by phase, without zeros and interleaving: of floats,
// in one group, over one or two axes, with filters that fill its vectors well; but not with steps
// of 1 and windows of 3 x 3, which Winograd's method computes as convolutions. Those that it can
// compute stay too where filters would end with zeros: a zero times an infinity of the image is
// NaN, which only other transposed convolutions then spread over neighboring results. The option
// `all` expands them all.
#include <algorithm>
#include <vector>

#include "ir/base/ceil_div.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/expand/conv_transpose_choice.h"
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

class Expansion {
 public:
  explicit Expansion(Operation& op)
      : op_(op),
        attrs_(ConvTransposeAttrsOf(op)),
        builder_(OpBuilder::Before(&op)),
        channels_last_(attrs_.layout == "nhwc") {}

  // Null where extents of filters or of the result are not known, the result is empty, or windows
  // have both steps and gaps between their elements.
  Made Make() {
    if (!ReadAxes()) return Value();
    TENON_ASSIGN_OR_RETURN(const Value filters, Filters());
    Value bias = op_.num_operands() > 2 ? op_.operand(2) : Value();
    if (bias) {
      TENON_ASSIGN_OR_RETURN(bias, Bias(bias));
    }
    fused::ConvOp::Attrs attrs;
    attrs.group = attrs_.group;
    attrs.layout = attrs_.layout;
    attrs.activation = attrs_.activation;
    attrs.alpha = attrs_.alpha;
    attrs.beta = attrs_.beta;
    std::vector<int64_t> ends;
    for (const Axis& axis : axes_) {
      attrs.strides.push_back(1);
      attrs.dilations.push_back(axis.dilation);
      attrs.pads.push_back(axis.pad_begin);
      ends.push_back(axis.pad_end);
    }
    attrs.pads.insert(attrs.pads.end(), ends.begin(), ends.end());
    TENON_ASSIGN_OR_RETURN(const Value y, Convolution(filters, bias, attrs));
    return Interleave(y);
  }

 private:
  Type x_type() const { return op_.operand(0).type(); }
  DimExpr Number(int64_t n) const { return DimExpr::Constant(op_.context(), n); }
  // Of spatial axis i of an image.
  int64_t AxisOf(size_t i) const { return static_cast<int64_t>(i) + (channels_last_ ? 1 : 2); }

  Made Convolution(Value filters, Value bias, const fused::ConvOp::Attrs& attrs) {
    if (attrs.activation != "none") {
      TENON_ASSIGN_OR_RETURN(
          const auto conv, fused::ConvOp::Create(builder_, op_.location(), op_.operand(0), filters,
                                                 bias, Value(), attrs));
      return conv.out();
    }
    TENON_ASSIGN_OR_RETURN(
        const auto conv, nn::ConvOp::Create(builder_, op_.location(), op_.operand(0), filters, bias,
                                            {.strides = attrs.strides,
                                             .pads = attrs.pads,
                                             .dilations = attrs.dilations,
                                             .group = attrs.group,
                                             .layout = attrs.layout}));
    return conv.out();
  }

  bool ReadAxes() {
    const Type x = x_type(), w = op_.operand(1).type(), out = op_.result().type();
    if (!x.is_tensor() || !out.is_tensor() || !w.is_static() || w.num_elements() == 0) {
      return false;
    }
    const auto rank = static_cast<size_t>(x.rank() - 2);
    group_ = attrs_.group;
    per_group_ = w.dim(0).constant() / group_;
    filters_ = w.dim(1).constant();
    for (size_t i = 0; i < rank; ++i) {
      const int64_t at = AxisOf(i);
      Axis axis = {};
      axis.step = attrs_.strides[i];
      axis.window = w.dim(static_cast<int64_t>(i) + 2).constant();
      axis.taps = CeilDiv(axis.window, axis.step);
      axis.dilation = attrs_.dilations[i];
      if (out.dim(at).is_unknown() || out.dim(at).is_constant(0)) return false;
      if (axis.dilation > 1 && axis.step > 1) return false;
      // Results of the convolutions before and behind those of the first and the last element.
      const int64_t reach = axis.dilation * (axis.taps - 1);
      const int64_t skipped = std::min(attrs_.pads[i] / axis.step, reach);
      const int64_t span = axis.dilation * (axis.window - 1) + 1;
      const int64_t end = span - attrs_.pads[rank + i] + attrs_.output_padding[i];
      axis.pad_begin = reach - skipped;
      axis.pad_end = std::max<int64_t>(0, CeilDiv(std::max<int64_t>(end, 1), axis.step) - 1);
      axis.first = attrs_.pads[i] - skipped * axis.step;
      const int64_t added = axis.pad_begin + axis.pad_end - reach;
      axis.interleaved = (x.dim(at) + added) * axis.step;
      axis.rest = (1 + added) * axis.step - end + attrs_.pads[i] - axis.first;
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
    Value w = op_.operand(1);
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

  // From channels of group * steps… * M/group to the result.
  Made Interleave(Value y) {
    const auto rank = static_cast<int64_t>(axes_.size());
    if (interleaves_) {
      const DimExpr batch = y.type().dim(0), channels = Number(group_ * filters_);
      DimList spatial, steps, extents;
      for (size_t i = 0; i < axes_.size(); ++i) {
        spatial.push_back(y.type().dim(AxisOf(i)));
        steps.push_back(Number(axes_[i].step));
        extents.push_back(axes_[i].interleaved);
      }
      DimList split = {batch}, merged = {batch};
      const auto add = [](DimList& to, const DimList& dims) {
        to.insert(to.end(), dims.begin(), dims.end());
      };
      if (channels_last_) add(split, spatial);
      const auto first = static_cast<int64_t>(split.size());  // of the channels' parts
      const bool has_groups = group_ > 1;
      if (has_groups) split.push_back(Number(group_));
      const auto step = static_cast<int64_t>(split.size());
      add(split, steps);
      split.push_back(Number(filters_));
      const int64_t pixels = channels_last_ ? 1 : static_cast<int64_t>(split.size());
      if (!channels_last_) add(split, spatial);
      std::vector<int64_t> moved_channels, moved_pixels, perm = {0};
      if (has_groups) moved_channels.push_back(first);
      moved_channels.push_back(step + rank);
      for (int64_t i = 0; i < rank; ++i) {
        moved_pixels.insert(moved_pixels.end(), {pixels + i, step + i});
      }
      const auto& front = channels_last_ ? moved_pixels : moved_channels;
      const auto& back = channels_last_ ? moved_channels : moved_pixels;
      perm.insert(perm.end(), front.begin(), front.end());
      perm.insert(perm.end(), back.begin(), back.end());
      if (!channels_last_) merged.push_back(channels);
      add(merged, extents);
      if (channels_last_) merged.push_back(channels);
      TENON_ASSIGN_OR_RETURN(y, Reshaped(y, split));
      TENON_ASSIGN_OR_RETURN(y, Transposed(y, perm));
      TENON_ASSIGN_OR_RETURN(y, Reshaped(y, merged));
    }
    ten::SliceOp::Attrs cut;
    for (size_t i = 0; i < axes_.size(); ++i) {
      const Axis& axis = axes_[i];
      if (axis.first == 0 && axis.rest == 0) continue;
      cut.axes.push_back(AxisOf(i));
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
  fused::ConvTransposeOp::Attrs attrs_;
  OpBuilder builder_;
  std::vector<Axis> axes_;
  int64_t group_ = 1, per_group_ = 0, filters_ = 0;  // channels and filters of a group
  bool interleaves_ = false, channels_last_;
};

class ExpandConvTranspose : public Pass {
 public:
  explicit ExpandConvTranspose(bool all) : all_(all) {}

  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    std::vector<Operation*> found;
    op->Walk([&](Operation* inner) {
      if (Isa<nn::ConvTransposeOp>(inner) || Isa<fused::ConvTransposeOp>(inner)) {
        found.push_back(inner);
      }
    });
    int64_t expanded = 0;
    for (Operation* conv : found) {
      if (!all_ && HasConvTransposeKernel(*conv)) continue;
      Expansion expansion(*conv);
      TENON_ASSIGN_OR_RETURN(const Value value, expansion.Make());
      if (!value) continue;
      if (value.type() != conv->result().type()) {
        return absl::InternalError("a transposed convolution has another type");
      }
      conv->result().ReplaceAllUsesWith(value);
      conv->Erase();
      ++expanded;
    }
    if (expanded > 0) context.statistics->Add("expanded", expanded);
    return PassResult{expanded > 0};
  }

 private:
  bool all_;
};

}  // namespace

PassInfo ExpandConvTransposePassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"expanded", "transposed convolutions taken apart"}};
  info.options = {{"all", PassOption::Type::kBool, "false",
                   "also those that the CPU has a kernel of its own for"}};
  info.create = [](const PassOptionValues& options) {
    return std::make_unique<ExpandConvTranspose>(options.GetBool("all"));
  };
  return info;
}

}  // namespace tenon
