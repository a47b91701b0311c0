// Elements of a reshape: positions counted through some axes and apart into others.
#include <algorithm>

#include "ir/dialect/ten_ops.h"
#include "transforms/masks/mask_eval.h"

namespace tenon::mask {
namespace {

// Row-major position among `dims`.
Affine Linear(std::span<const DimExpr> dims, std::span<const Affine> index) {
  Affine at = index[0];
  for (size_t i = 1; i < dims.size(); ++i) at = at * dims[i] + index[i];
  return at;
}

// Does a variable of this extent leave an axis of that one, as one that counts through several
// does?
bool CountsThrough(DimExpr extent, DimExpr axis) {
  if (extent.is_constant() && axis.is_constant()) return extent.constant() > axis.constant();
  const std::optional<DimExpr> times = DimExpr::ExactDiv(extent, axis);
  return times && !times->is_constant(1);
}

// The inverse: one position an axis; null if a position cannot be told apart. A variable that may
// leave its axis is taken not to: `assumed` gets what must hold.
std::optional<Index> Delinearized(const Ranges& ranges, Affine at, std::span<const DimExpr> dims,
                                  std::vector<std::pair<DimExpr, DimExpr>>& assumed) {
  Index index(dims.size(), Affine::Of(ranges.context(), 0));
  for (size_t axis = dims.size(); axis-- > 1;) {
    // at = quotient * extent + rest with a rest in range.
    Affine rest = Affine::Of(ranges.context(), 0), quotient = rest;
    for (const auto& [variable, coefficient] : at.terms) {
      const std::optional<DimExpr> q = DimExpr::ExactDiv(coefficient, dims[axis]);
      if (q) {
        quotient.terms.emplace_back(variable, *q);
      } else {
        rest.terms.emplace_back(variable, coefficient);
      }
    }
    const std::optional<DimExpr> q = DimExpr::ExactDiv(at.constant, dims[axis]);
    (q ? quotient : rest).constant = q ? *q : at.constant;
    if (!ranges.InRange(rest, dims[axis])) {
      const std::optional<Var> variable = rest.variable();
      if (!variable) return std::nullopt;
      const DimExpr extent = ranges.extent(*variable);
      if (CountsThrough(extent, dims[axis])) return std::nullopt;
      assumed.emplace_back(Min(dims[axis], extent), extent);
    }
    index[axis] = rest;
    at = quotient;
  }
  index[0] = at;
  return index;
}

}  // namespace

std::optional<Ref> Evaluator::Reshape(Operation* op, const Index& index) {
  const ten::ReshapeOp reshape(op);
  const Type in = reshape.x().type(), out = reshape.out().type();
  const auto is_unit = [](DimExpr d) { return d.is_constant(1); };
  std::vector<DimExpr> in_dims, out_dims;
  Index at;
  for (DimExpr d : in.dims()) {
    if (!is_unit(d)) in_dims.push_back(d);
  }
  for (int64_t i = 0; i < out.rank(); ++i) {
    if (is_unit(out.dim(i))) continue;
    out_dims.push_back(out.dim(i));
    at.push_back(index[i]);
  }
  // Axes that stay as they are, from both sides; what is between them is counted through.
  size_t front = 0, back = 0;
  const size_t n = in_dims.size(), m = out_dims.size();
  while (front < std::min(n, m) && DimExpr::ProvablyEqual(in_dims[front], out_dims[front])) ++front;
  while (back < std::min(n, m) - front &&
         DimExpr::ProvablyEqual(in_dims[n - 1 - back], out_dims[m - 1 - back])) {
    ++back;
  }
  Index found(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(front));
  const size_t in_count = n - front - back, out_count = m - front - back;
  if (in_count > 0) {
    if (out_count == 0) return std::nullopt;
    const Affine linear = Linear(std::span(out_dims).subspan(front, out_count),
                                 std::span<const Affine>(at).subspan(front, out_count));
    const std::optional<Index> inner =
        Delinearized(store_.ranges, linear,
                     std::span<const DimExpr>(in_dims).subspan(front, in_count), assumptions_);
    // Where counts are not provably equal, a lone axis is no excuse for reading across it.
    if (!inner || !DimExpr::ProvablyEqual(
                      Product(op->context(), std::span(in_dims).subspan(front, in_count)),
                      Product(op->context(), std::span(out_dims).subspan(front, out_count)))) {
      return std::nullopt;
    }
    found.insert(found.end(), inner->begin(), inner->end());
  } else if (out_count > 0) {
    return std::nullopt;
  }
  found.insert(found.end(), at.end() - static_cast<std::ptrdiff_t>(back), at.end());
  Index result;
  size_t next = 0;
  for (DimExpr d : in.dims()) {
    result.push_back(is_unit(d) ? Affine::Of(op->context(), 0) : found[next++]);
  }
  return Element(reshape.x(), result);
}

}  // namespace tenon::mask
