// Types of values.
#ifndef TENON_IR_CORE_TYPE_H_
#define TENON_IR_CORE_TYPE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ir/base/dtype.h"
#include "ir/core/dims/dim_expr.h"

namespace tenon {

class Context;
struct TypeStorage;

// A handle to an interned type. Equal types have equal handles. It is cheap to copy and lives as
// long as its Context. A default-constructed handle is null. The static functions are thread-safe.
//
// An accessor whose requirement does not hold ends the program; in a predicate of a rule it makes
// the condition false instead (guarded_read.h).
class Type {
 public:
  // The kind of a type, with an example of its text.
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
  explicit Type(const TypeStorage* storage) : storage_(storage) {}  // For ir/core only.

  static Type Scalar(Context& context, DType dtype);  // Requires dtype != kInvalid.
  static Type Index(Context& context);                // The type `index`.
  static Type None(Context& context);                 // The type `none`.
  // A ranked tensor. `dims` may be constant, symbolic or Unknown. Requires dtype != kInvalid.
  static Type Tensor(Context& context, DType dtype, std::span<const DimExpr> dims);
  static Type Tensor(Context& context, DType dtype, std::span<const int64_t> dims);
  static Type Unranked(Context& context, DType dtype);  // A tensor of unknown rank.
  // A function type: (a, b) -> (c).
  static Type Function(Context& context, std::span<const Type> inputs,
                       std::span<const Type> results);
  static Type Tuple(Context& context, std::span<const Type> types);  // tuple<a, b>
  // A type of another dialect as text, with its leading "!".
  static Type Opaque(Context& context, std::string_view text);

  // Requires a type that is not null.
  Kind kind() const;
  bool is_tensor() const { return kind() == Kind::kTensor; }  // a ranked tensor
  // True for ranked and unranked tensors.
  bool is_any_tensor() const { return kind() == Kind::kTensor || kind() == Kind::kUnranked; }
  // The element type of a tensor, or the scalar type itself; kInvalid for all others.
  DType dtype() const;
  int64_t rank() const;                   // requires is_tensor()
  std::span<const DimExpr> dims() const;  // the extent of each axis; requires is_tensor()
  // Dimension `i`, from -rank() to rank() - 1; negative ones count from the end. Requires
  // is_tensor().
  DimExpr dim(int64_t i) const;
  // True for a ranked tensor whose dimensions are all constant.
  bool is_static() const;
  // The number of elements of a static tensor; -1 if the type is not static or the number
  // overflows.
  int64_t num_elements() const;
  std::span<const Type> inputs() const;   // of a function; the elements of a tuple
  std::span<const Type> results() const;  // of a function
  std::string_view opaque_text() const;   // of kOpaque; empty for others

  Context& context() const;  // Its owner. Requires a type that is not null.
  // MLIR's text.
  std::string text() const;

  explicit operator bool() const { return storage_ != nullptr; }  // False for a null handle.
  bool operator==(const Type&) const = default;
  const TypeStorage* storage() const { return storage_; }  // Identity, for hashing.

 private:
  const TypeStorage* storage_ = nullptr;
};

// Returns a ranked tensor with the element type of `tensor` and dimensions `dims`.
Type WithDims(Type tensor, std::span<const DimExpr> dims);
// Returns `tensor` with another element type. The result is unranked if `tensor` is.
Type WithDType(Type tensor, DType dtype);

}  // namespace tenon

#endif  // TENON_IR_CORE_TYPE_H_
