#include "transforms/groups/row_ops.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"

namespace tenon {
namespace {

bool IsLastAxisOf(int64_t axis, int64_t rank) { return axis == rank - 1 || axis == -1; }

// Sets kind, params and the operands; false if that is not a row op over the last axis.
bool ReadOperands(const Operation& op, RowOp& row) {
  const int64_t rank = op.result(0).type().rank();
  const auto norm = [&](PointwiseOp kind, const auto& view) {
    row.kind = kind;
    row.params = {static_cast<double>(view.epsilon())};
    row.x = view.x();
    row.scale = view.scale();
    return IsLastAxisOf(view.axis(), rank);
  };
  auto* const changed = const_cast<Operation*>(&op);
  switch (op.id()) {
    case nn::LayerNormOp::kId:
      row.bias = nn::LayerNormOp(changed).bias();
      return norm(PointwiseOp::kLayerNorm, nn::LayerNormOp(changed));
    case nn::RmsNormOp::kId:
      return norm(PointwiseOp::kRmsNorm, nn::RmsNormOp(changed));
    case fused::SkipLayerNormOp::kId:
      row.offset = fused::SkipLayerNormOp(changed).offset();
      row.bias = fused::SkipLayerNormOp(changed).bias();
      row.skip = fused::SkipLayerNormOp(changed).skip();
      return norm(PointwiseOp::kLayerNorm, fused::SkipLayerNormOp(changed));
    case fused::SkipRmsNormOp::kId:
      row.offset = fused::SkipRmsNormOp(changed).offset();
      row.skip = fused::SkipRmsNormOp(changed).skip();
      return norm(PointwiseOp::kRmsNorm, fused::SkipRmsNormOp(changed));
    case nn::SoftmaxOp::kId:
    case nn::LogSoftmaxOp::kId:
      row.x = op.operand(0);
      return FindPointwiseOp(op.name(), row.kind) &&
             IsLastAxisOf(op.attr("axis").int_value(), rank);
    default:
      break;
  }
  // Reductions.
  if (!FindPointwiseOp(op.name(), row.kind) ||
      InfoOf(row.kind).rows != PointwiseOpInfo::Rows::kReduces) {
    return false;
  }
  row.x = op.operand(0);
  const auto axes = op.attr("axes").ints();
  return axes.size() == 1 && IsLastAxisOf(axes[0], rank) && op.attr("keepdims").bool_value();
}

}  // namespace

bool IsGroupWithRows(const Operation& op) {
  if (op.id() != fused::GroupOp::kId) return false;
  std::vector<DType> dtypes;
  for (const OpOperand& operand : op.operands()) dtypes.push_back(operand.get().type().dtype());
  PointwiseBody body;
  std::string error;
  return !ParsePointwise(op.attr("body").str(), dtypes, body, error) || body.has_row_ops();
}

bool HasShape(Type type) {
  return type.is_tensor() && std::none_of(type.dims().begin(), type.dims().end(),
                                          [](DimExpr d) { return d.is_unknown(); });
}

bool SameShape(Type a, Type b) {
  return a.rank() == b.rank() &&
         std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(), DimExpr::ProvablyEqual);
}

bool IsColumnOf(Type column, Type whole) {
  const auto a = column.dims(), b = whole.dims();
  return column.rank() == whole.rank() && column.rank() > 0 && a.back().is_constant(1) &&
         std::equal(a.begin(), a.end() - 1, b.begin(), DimExpr::ProvablyEqual);
}

std::optional<RowOp> ReadRowOp(const Operation& op) {
  RowOp row;
  if (!op.info().is_registered() || op.num_results() == 0 || op.num_operands() == 0) return {};
  const auto floats = [](Type type) { return HasShape(type) && type.dtype() == DType::kF32; };
  for (const OpOperand& operand : op.operands()) {
    if (!floats(operand.get().type())) return {};
  }
  for (unsigned i = 0; i < op.num_results(); ++i) {
    if (!floats(op.result(i).type()) || op.result(i).type().rank() == 0) return {};
  }
  if (!ReadOperands(op, row)) return {};
  // The result of a skip's sum and of what keeps rows has their shape. Scale and bias broadcast to
  // it.
  row.whole =
      InfoOf(row.kind).rows == PointwiseOpInfo::Rows::kReduces ? row.x.type() : op.result(0).type();
  return row;
}

}  // namespace tenon
