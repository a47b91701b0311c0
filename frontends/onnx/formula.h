// Nodes that are imported as a formula of several ops.
#ifndef TENON_FRONTENDS_ONNX_FORMULA_H_
#define TENON_FRONTENDS_ONNX_FORMULA_H_

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frontends/onnx/node.h"

namespace tenon::onnx {

// Creates ops one after the other and keeps the first error. After an error, values are null and
// nothing more is created.
class Formula {
 public:
  using Dims = std::vector<DimExpr>;

  explicit Formula(Node& node) : node_(node) {}

  template <typename Op, typename... Args>
  Value Make(Args&&... args) {
    return status_.ok() ? Take(node_.Make<Op>(std::forward<Args>(args)...)) : Value();
  }
  Value Take(absl::StatusOr<Value> value);

  Value Add(Value a, Value b);
  Value Sub(Value a, Value b);
  Value Mul(Value a, Value b);
  Value Div(Value a, Value b);
  Value And(Value a, Value b);
  Value Where(Value condition, Value a, Value b);
  Value Cast(Value x, DType dtype);  // x itself if it has the type; as ONNX's Cast by default
  // The same for a narrow type, with the attributes of q.encode.
  Value Encode(Value x, DType to, bool saturate, std::string rounding);
  Value Scalar(DType dtype, double value);
  Value Ints(std::span<const int64_t> values);  // an i64 vector
  Value Extent(DimExpr dim);                    // an i64 scalar
  Value Extents(const Dims& dims);              // an i64 vector
  // Returns x, checked at run time: a run fails unless all elements lie in [low, high]. Used where
  // values decide a shape or a position, and ops that read them would accept others. `what` names
  // an element, such as "a size of Split".
  Value CheckRange(Value x, Value low, Value high, std::string what);
  // The same with low = 0, for x of i64.
  Value CheckUpTo(Value x, Value high, std::string what);
  Value Reshape(Value x, Dims dims);
  Value Transpose(Value x, std::vector<int64_t> perm);
  Value Expand(Value x, Dims dims);
  // Converts [batch, sequence, heads * size] to [batch, heads, sequence, size], and back.
  Value SplitHeads(Value x, int64_t heads);
  Value JoinHeads(Value x);
  // Returns 0, 1, … below `end`, an i64 scalar, as a vector of i64. Its extent is known where `end`
  // follows from constants and shapes. With `extent` it has that extent.
  Value Steps(Value end, DimExpr extent = DimExpr());
  // Returns 0, 1, … below `extent` (i64) along axis `axis` of a tensor of rank `rank`; its other
  // extents are 1.
  Value Iota(DimExpr extent, int64_t axis, int64_t rank);
  // Reshapes a vector so that it lies along axis `axis` of such a tensor. With `extent` it must
  // have so many elements: one element does not stand for all.
  Value Along(Value vector, int64_t axis, int64_t rank, DimExpr extent = DimExpr());

  // Returns the extents of a value; none for null.
  static Dims DimsOf(Value value);
  DimExpr One() const { return node_.Dim(1); }
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  // Sets output `output` of the node to `value`, or returns the error.
  absl::Status Return(Value value, int output = 0);

 private:
  Node& node_;
  absl::Status status_;
};

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_FORMULA_H_
