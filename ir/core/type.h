// Types of values.
#ifndef TENON_IR_CORE_TYPE_H_
#define TENON_IR_CORE_TYPE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ir/core/dim_expr.h"
#include "ir/core/dtype.h"

namespace tenon {

class Context;
struct TypeStorage;

// An interned type; equal pointers mean equal types. Trivially copyable; lives as long as its
// Context.
class Type {
 public:
  enum class Kind : uint8_t {
    kScalar,    // f32, i64, …: an element type by itself
    kIndex,     // index
    kNone,      // none
    kTensor,    // tensor<2x?xf32, ["", "B"]>
    kUnranked,  // tensor<*xf32>
    kFunction,  // (a, b) -> (c)
    kTuple,     // tuple<a, b>
    kOpaque,    // a dialect's type as text: !onnx.any
  };

  Type() = default;
  explicit Type(const TypeStorage* storage) : storage_(storage) {}

  static Type Scalar(Context& context, DType dtype);
  static Type Index(Context& context);
  static Type None(Context& context);
  static Type Tensor(Context& context, DType dtype, std::span<const DimExpr> dims);
  static Type Tensor(Context& context, DType dtype, std::span<const int64_t> dims);  // all static
  static Type Unranked(Context& context, DType dtype);
  static Type Function(Context& context, std::span<const Type> inputs,
                       std::span<const Type> results);
  static Type Tuple(Context& context, std::span<const Type> types);
  // `text` with the leading "!": "!onnx.any".
  static Type Opaque(Context& context, std::string_view text);

  Kind kind() const;
  bool is_tensor() const { return kind() == Kind::kTensor; }  // ranked
  bool is_any_tensor() const { return kind() == Kind::kTensor || kind() == Kind::kUnranked; }
  // Element type of a tensor, or the scalar itself; kInvalid for all others.
  DType dtype() const;
  int64_t rank() const;                   // REQUIRES: is_tensor()
  std::span<const DimExpr> dims() const;  // REQUIRES: is_tensor()
  DimExpr dim(int64_t i) const;           // from -rank, which is the first, to rank - 1
  bool is_static() const;                 // ranked, and every dimension a constant
  // Number of elements of a static tensor; -1 if not static or not representable.
  int64_t num_elements() const;
  std::span<const Type> inputs() const;   // function; elements of a tuple
  std::span<const Type> results() const;  // function
  std::string_view opaque_text() const;

  Context& context() const;
  std::string text() const;  // MLIR's text

  explicit operator bool() const { return storage_ != nullptr; }
  bool operator==(const Type&) const = default;
  const TypeStorage* storage() const { return storage_; }

 private:
  const TypeStorage* storage_ = nullptr;
};

// The same element type with other dimensions, and the other way round.
Type WithDims(Type tensor, std::span<const DimExpr> dims);
Type WithDType(Type tensor, DType dtype);

}  // namespace tenon

#endif  // TENON_IR_CORE_TYPE_H_
