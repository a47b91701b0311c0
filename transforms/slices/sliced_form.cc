#include "transforms/slices/sliced_form.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/groups/row_ops.h"
#include "transforms/movement/axis_ops.h"

namespace tenon {
namespace {

bool Contains(std::span<const int64_t> values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

class Former {
 public:
  Former(Operation& op, const ResultSlices& slices)
      : op_(op), slices_(slices), axis_(slices.axis), out_(op.result().type()) {
    form_.operands.assign(op.num_operands(), SlicedForm::kWhole);
    form_.results.assign(op.num_results(), axis_);
    form_.slots.assign(op.slots().begin(), op.slots().end());
  }

  // `fits`: what an operation demanded of the axis holds.
  std::optional<SlicedForm> Take(bool fits) {
    if (!fits) return std::nullopt;
    return std::move(form_);
  }

  bool Form() {
    if (op_.Has(Trait::kElementwise)) return BroadcastAll();
    if (ReducesAxes(op_)) return Reduce(op_.attr("axes").ints());
    if (WorksAlongAxis(op_)) return axis_ != Int("axis") && CutParts();
    switch (op_.id()) {
      case ten::CastOp::kId:
        return BroadcastAll();
      case fused::GroupOp::kId:
        return (!IsLastAxis() || !IsGroupWithRows(op_)) && BroadcastAll();
      case nn::LayerNormOp::kId:
      case nn::RmsNormOp::kId:
      case fused::SkipLayerNormOp::kId:
      case fused::SkipRmsNormOp::kId:
        return axis_ < Int("axis") && BroadcastAll();
      case fused::GatedOp::kId:
      case fused::RotaryOp::kId:
        return !IsLastAxis() && BroadcastAll();
      case ten::SliceOp::kId:
        return !Contains(ten::SliceOp(&op_).axes(), axis_) && Cut(0, axis_);
      case ten::ArgmaxOp::kId:
      case ten::ArgminOp::kId: {
        const int64_t axes[] = {Int("axis")};
        return Reduce(axes);
      }
      case ten::TransposeOp::kId:
        return Cut(0, ten::TransposeOp(&op_).perm()[static_cast<size_t>(axis_)]);
      case ten::ReshapeOp::kId:
        return Reshape();
      case ten::ExpandOp::kId:
        return Expand();
      case ten::PadOp::kId:
        return Pad();
      case ten::TileOp::kId:
        return ten::TileOp(&op_).repeats()[static_cast<size_t>(axis_)].is_constant(1) &&
               Cut(0, axis_);
      case ten::GatherOp::kId:
        return Gather();
      case ten::MatmulOp::kId:
        return Matmul();
      case fused::LinearOp::kId:
      case fused::CompressedLinearOp::kId:
        return Linear();
      case fused::EmbeddingOp::kId:
        return Embedding();
      case fused::AttentionOp::kId:
        return Attention();
      default:
        return false;
    }
  }

 private:
  int64_t Int(std::string_view name) const { return op_.attr(name).int_value(); }
  bool IsLastAxis() const { return axis_ == out_.rank() - 1; }

  void SetExtent(std::string_view name, int64_t index) {
    Attribute& slot = form_.slots[static_cast<size_t>(op_.info().FindSlot(name))];
    std::vector<DimExpr> dims(slot.dims().begin(), slot.dims().end());
    dims[static_cast<size_t>(index)] = slices_.count;
    slot = Attribute::Dims(op_.context(), dims);
  }

  // Operand i is cut along its axis `axis`.
  bool Cut(unsigned i, int64_t axis) {
    const Type type = op_.operand(i).type();
    if (!type.is_tensor() || axis < 0 || axis >= type.rank()) return false;
    form_.operands[i] = axis;
    return true;
  }

  // Operand i broadcasts to extents of which there are `axes` behind the axis that is cut, whose
  // extent is `extent`. It stays whole where it has one element there, or no such axis.
  bool Broadcast(unsigned i, int64_t axes_behind, DimExpr extent) {
    const Type type = op_.operand(i).type();
    if (!type.is_tensor()) return false;
    const int64_t axis = type.rank() - 1 - axes_behind;
    if (axis < 0 || type.dim(axis).is_constant(1)) return true;
    return DimExpr::ProvablyEqual(type.dim(axis), extent) && Cut(i, axis);
  }
  bool Broadcast(unsigned i) { return Broadcast(i, out_.rank() - 1 - axis_, out_.dim(axis_)); }
  bool BroadcastGroup(unsigned group) {
    const auto [first, size] = op_.operand_group(group);
    return size == 0 || Broadcast(first);
  }
  bool BroadcastAll() {
    for (unsigned i = 0; i < op_.num_operands(); ++i) {
      if (!Broadcast(i)) return false;
    }
    return true;
  }

  // All operands are parts of the result, or the only one is what is taken apart.
  bool CutParts() { return op_.num_operands() > 1 ? BroadcastAll() : Cut(0, axis_); }

  bool Reduce(std::span<const int64_t> axes) {
    if (op_.attr("keepdims").bool_value()) return !Contains(axes, axis_) && Cut(0, axis_);
    int64_t axis = axis_;
    for (int64_t reduced : axes) axis += reduced <= axis ? 1 : 0;  // they are sorted
    return Cut(0, axis);
  }

  // An axis that a reshape keeps: of the same extent, behind as many elements.
  bool Reshape() {
    const Type x = op_.operand(0).type();
    if (!x.is_tensor()) return false;
    DimExpr before = Product(op_.context(), out_.dims().first(static_cast<size_t>(axis_)));
    for (int64_t axis = 0; axis < x.rank(); ++axis) {
      if (DimExpr::ProvablyEqual(x.dim(axis), out_.dim(axis_)) &&
          DimExpr::ProvablyEqual(Product(op_.context(), x.dims().first(static_cast<size_t>(axis))),
                                 before)) {
        SetExtent("shape", axis_);
        return Cut(0, axis);
      }
    }
    return false;
  }

  bool Expand() {
    const auto shape = static_cast<int64_t>(ten::ExpandOp(&op_).shape().size());
    const int64_t index = axis_ - (out_.rank() - shape);
    if (index >= 0 && !ten::ExpandOp(&op_).shape()[static_cast<size_t>(index)].is_constant(1)) {
      SetExtent("shape", index);
    }
    return Broadcast(0);
  }

  bool Pad() {
    const std::span<const DimExpr> pads = ten::PadOp(&op_).pads();
    return pads[static_cast<size_t>(axis_)].is_constant(0) &&
           pads[static_cast<size_t>(out_.rank() + axis_)].is_constant(0) && Cut(0, axis_);
  }

  // The indices' axes stand in the place of x's.
  bool Gather() {
    const int64_t axis = Int("axis");
    const Type indices = op_.operand(1).type();
    if (!indices.is_tensor()) return false;
    if (axis_ < axis) return Cut(0, axis_);
    if (axis_ < axis + indices.rank()) return Cut(1, axis_ - axis);
    return Cut(0, axis_ - indices.rank() + 1);
  }

  bool Matmul() {
    const ten::MatmulOp matmul(&op_);
    const Type a = matmul.a().type(), b = matmul.b().type();
    if (!a.is_tensor() || !b.is_tensor() || a.rank() < 2 || b.rank() < 2) return false;
    if (IsLastAxis()) return Cut(1, b.rank() - (matmul.transpose_b() ? 2 : 1));
    if (axis_ == out_.rank() - 2) return Cut(0, a.rank() - (matmul.transpose_a() ? 1 : 2));
    return BroadcastAll();
  }

  bool Linear() {
    constexpr unsigned kX = 0, kResidual = 3;
    return !IsLastAxis() && Broadcast(kX) && BroadcastGroup(kResidual);
  }

  // Ids have the axes of the result but the last one.
  bool Embedding() {
    constexpr unsigned kAdded = 0, kLookups = 3;
    if (IsLastAxis()) return false;
    const auto [first, size] = op_.operand_group(kLookups);
    for (unsigned ids = first; ids < first + size; ids += 2) {
      if (!Broadcast(ids, out_.rank() - 2 - axis_, out_.dim(axis_))) return false;
    }
    return BroadcastGroup(kAdded);
  }

  // Rows of queries. Positions count from the last one, so that conditions on them hold for the
  // last rows alone.
  bool Attention() {
    const fused::AttentionOp attention(&op_);
    constexpr unsigned kQ = 0, kMask = 3, kBias = 4;
    const auto rows = [](std::string_view layout) { return layout == "bhsd" ? 2 : 1; };
    if (axis_ != rows(attention.out_layout())) return false;
    if ((attention.causal() || attention.window() > 0) && !slices_.is_tail) return false;
    const int64_t row = rows(attention.q_layout());
    if (!Cut(kQ, row)) return false;
    std::fill(form_.results.begin() + 1, form_.results.end(), SlicedForm::kWhole);
    for (unsigned group : {kMask, kBias}) {
      const auto [first, size] = op_.operand_group(group);
      if (size > 0 && !Broadcast(first, 1, op_.operand(kQ).type().dim(row))) return false;
    }
    return true;
  }

  Operation& op_;
  const ResultSlices& slices_;
  int64_t axis_;
  Type out_;
  SlicedForm form_;
};

}  // namespace

std::optional<SlicedForm> FormOfSlices(Operation& op, const ResultSlices& slices) {
  if (!op.info().is_registered() || !op.Has(Trait::kPure) || op.num_regions() > 0 ||
      op.num_results() == 0 || op.num_operands() == 0) {
    return std::nullopt;
  }
  for (unsigned i = 0; i < op.num_results(); ++i) {
    if (!op.result(i).type().is_tensor()) return std::nullopt;
  }
  Former former(op, slices);
  return former.Take(former.Form());
}

}  // namespace tenon
