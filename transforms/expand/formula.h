// Creating several operations in a row, for passes that write one operation as others.
#ifndef TENON_TRANSFORMS_EXPAND_FORMULA_H_
#define TENON_TRANSFORMS_EXPAND_FORMULA_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "ir/core/builder.h"
#include "ir/core/context/diagnostic.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {

// Creates operations before one, with its location, and keeps the first error, which has been
// reported. After an error, values are null and nothing more is created.
class OpFormula {
 public:
  using Dims = std::vector<DimExpr>;

  explicit OpFormula(Operation& op) : op_(op), builder_(OpBuilder::Before(&op)) {}

  // Makes an operation and returns its first result.
  template <typename Op, typename... Args>
  Value Make(const Args&... args) {
    if (!status_.ok()) return Value();
    const auto made = Op::Create(builder_, op_.location(), args...);
    if (made.ok()) return made->op()->result(0);
    status_ = made.status();
    return Value();
  }

  Value Add(Value a, Value b) { return Make<ten::AddOp>(a, b); }
  Value Sub(Value a, Value b) { return Make<ten::SubOp>(a, b); }
  Value Mul(Value a, Value b) { return Make<ten::MulOp>(a, b); }
  Value Div(Value a, Value b) { return Make<ten::DivOp>(a, b); }
  // The conjunction of two conditions, either of which may be null for true.
  Value And(Value a, Value b);
  Value Where(Value condition, Value a, Value b) { return Make<ten::WhereOp>(condition, a, b); }
  // x itself if it has the type.
  Value Cast(Value x, DType dtype);
  // A constant without axes.
  Value Scalar(DType dtype, double value);
  // A constant i64 without axes.
  Value Integer(int64_t value);
  // A constant i64 vector.
  Value Ints(std::span<const int64_t> values);
  // An extent as an i64 scalar.
  Value Extent(DimExpr dim);
  // x itself if it has these extents.
  Value Reshape(Value x, Dims dims);
  Value Transpose(Value x, std::vector<int64_t> perm);
  Value Concat(std::span<const Value> parts, int64_t axis);
  // The elements [start, end) of an axis.
  Value Slice(Value x, int64_t axis, DimExpr start, DimExpr end);
  // The i64 vector first, first + 1, …, of `count` elements.
  Value Iota(DimExpr first, DimExpr count);
  // x after an activation of the dialect fused; `alpha` and `beta` are its parameters.
  Value Activated(Value x, std::string_view name, float alpha, float beta);
  // A layer norm or RMS norm over the axes from `axis` on; `scale` and `bias` may be null.
  Value Norm(std::string_view norm, int64_t axis, float epsilon, Value x, Value scale, Value bias);

  // Axis `axis` of a value; negative ones count from the end. 1 after an error.
  DimExpr DimOf(Value x, int64_t axis) const;
  // All axes of a value; none after an error.
  Dims DimsOf(Value x) const;
  DimExpr Number(int64_t n) const { return DimExpr::Constant(op_.context(), n); }

  // Reports an error at the operation, unless there is one.
  void Fail(std::string message);
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  Operation& op() const { return op_; }
  OpBuilder& builder() { return builder_; }

 private:
  Operation& op_;
  OpBuilder builder_;
  absl::Status status_;
};

}  // namespace tenon

#endif  // TENON_TRANSFORMS_EXPAND_FORMULA_H_
