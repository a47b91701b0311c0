// Compile-time data attached to operations.
#ifndef TENON_IR_CORE_ATTRIBUTE_H_
#define TENON_IR_CORE_ATTRIBUTE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "ir/core/blob.h"
#include "ir/core/dim_expr.h"
#include "ir/core/type.h"

namespace tenon {

class Context;
struct AttributeStorage;

// An interned string: attribute names, op names. Equal pointers mean equal text.
class Identifier {
 public:
  Identifier() = default;
  explicit Identifier(const std::string* text) : text_(text) {}
  std::string_view str() const { return text_ ? std::string_view(*text_) : std::string_view(); }
  explicit operator bool() const { return text_ != nullptr; }
  bool operator==(const Identifier&) const = default;
  // Alphabetical, so that sorting is the same in every run.
  bool operator<(const Identifier& o) const { return str() < o.str(); }

 private:
  const std::string* text_ = nullptr;
};

struct NamedAttribute;

// An interned attribute; equal pointers mean equal attributes (large Elements: equal pointers only
// when they share one storage; compare contents with SameElements). Trivially copyable.
class Attribute {
 public:
  enum class Kind : uint8_t {
    kUnit,        // unit
    kBool,        // true
    kInteger,     // 3 : i64        (type: scalar integer or index)
    kFloat,       // 1.0e-5 : f32
    kString,      // "text"
    kArray,       // [a, b]
    kDenseArray,  // array<i64: 1, 2>  (i1, i8, i16, i32, i64, f32, f64)
    kType,        // f32
    kSymbolRef,   // @name or @a::@b
    kDictionary,  // {a = 1, b}
    kElements,    // dense<…> : tensor<…>, dense_resource<…> : tensor<…>
    kDims,        // #core.dims<"B", "past + S", 768>
    kOpaque,      // a dialect's attribute as text: #onnx.x<…>
  };

  Attribute() = default;
  explicit Attribute(const AttributeStorage* storage) : storage_(storage) {}

  static Attribute Unit(Context& context);
  static Attribute Bool(Context& context, bool value);
  static Attribute Int(Context& context, int64_t value, Type type);
  static Attribute I64(Context& context, int64_t value);
  static Attribute Float(Context& context, double value, DType dtype);  // rounded to dtype
  static Attribute F32(Context& context, float value) { return Float(context, value, DType::kF32); }
  static Attribute F64(Context& context, double value) {
    return Float(context, value, DType::kF64);
  }
  static Attribute Str(Context& context, std::string_view value);
  static Attribute Array(Context& context, std::span<const Attribute> elements);
  static Attribute I64s(Context& context, std::span<const int64_t> values);  // array<i64: …>
  static Attribute F32s(Context& context, std::span<const float> values);    // array<f32: …>
  static Attribute Ints(Context& context, DType dtype, std::span<const int64_t> values);
  static Attribute Floats(Context& context, DType dtype, std::span<const double> values);
  static Attribute TypeAttr(Context& context, Type type);
  // `path` without the leading "@"; nested parts joined by "::@".
  static Attribute SymbolRef(Context& context, std::string_view path);
  static Attribute Dictionary(Context& context,
                              std::span<const NamedAttribute> entries);  // sorted here
  static Attribute Dims(Context& context, std::span<const DimExpr> dims);
  // `text` with the leading "#".
  static Attribute Opaque(Context& context, std::string_view text);
  // Elements of a static tensor type, in row-major order, little-endian, bool as one byte. A tensor
  // whose elements are all bitwise equal becomes a splat. At most kInlineBytes are interned by
  // content. REQUIRES: as many bytes as the type has.
  static Attribute Elements(Context& context, Type type, std::span<const std::byte> bytes);
  static Attribute Elements(Context& context, Type type, std::shared_ptr<const Blob> blob);
  // One element's bytes repeated.
  static Attribute Splat(Context& context, Type type, std::span<const std::byte> element);
  static constexpr size_t kInlineBytes = 256;

  Kind kind() const;
  Context& context() const;
  bool bool_value() const;                          // kBool
  int64_t int_value() const;                        // kInteger
  double float_value() const;                       // kFloat
  std::string_view str() const;                     // kString, kSymbolRef (path), kOpaque
  std::span<const Attribute> elements() const;      // kArray
  std::span<const int64_t> ints() const;            // kDenseArray of integers
  std::span<const double> floats() const;           // kDenseArray of floats
  std::span<const DimExpr> dims() const;            // kDims
  std::span<const NamedAttribute> entries() const;  // kDictionary, sorted by name
  Attribute Get(std::string_view name) const;       // kDictionary; null if absent
  // kType: the type; kInteger, kFloat, kElements: its type; kDenseArray: the element type.
  Type type() const;

  // kElements
  bool is_splat() const;
  // All bytes; for a splat the bytes of its one element.
  std::span<const std::byte> raw_bytes() const;
  // The blob behind a large tensor; null for inline ones.
  std::shared_ptr<const Blob> blob() const;
  // Dense bytes of the whole tensor (a splat is expanded): a fresh or the shared blob.
  std::shared_ptr<const Blob> DenseBlob() const;
  // Element i as a number; kBool as 0/1. For floats and integers up to 2^53 exact.
  double ElementAsDouble(int64_t i) const;
  int64_t ElementAsInt(int64_t i) const;

  std::string text() const;  // MLIR's text; large elements as dense_resource<blob_HASH>

  explicit operator bool() const { return storage_ != nullptr; }
  bool operator==(const Attribute&) const = default;
  const AttributeStorage* storage() const { return storage_; }

 private:
  const AttributeStorage* storage_ = nullptr;
};

struct NamedAttribute {
  Identifier name;
  Attribute value;
  bool operator==(const NamedAttribute&) const = default;
};

// Same type and same bytes (compares content hashes of large ones).
bool SameElements(Attribute a, Attribute b);

// IEEE half and bfloat16 to and from double/float, round to nearest even.
double HalfToDouble(uint16_t bits);
uint16_t DoubleToHalf(double value);
double BFloat16ToDouble(uint16_t bits);
uint16_t DoubleToBFloat16(double value);
// Reads / writes one element of a dtype at an address without alignment.
double LoadAsDouble(DType dtype, const std::byte* at);
int64_t LoadAsInt(DType dtype, const std::byte* at);
void StoreFromDouble(DType dtype, double value, std::byte* at);

}  // namespace tenon

#endif  // TENON_IR_CORE_ATTRIBUTE_H_
