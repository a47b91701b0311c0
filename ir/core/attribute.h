// Attributes: compile-time data attached to operations. Also access to single tensor elements.
#ifndef TENON_IR_CORE_ATTRIBUTE_H_
#define TENON_IR_CORE_ATTRIBUTE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "ir/base/element_access.h"
#include "ir/core/constants/blob.h"
#include "ir/core/dims/dim_expr.h"
#include "ir/core/type.h"

namespace tenon {

class Context;
struct AttributeStorage;

// An interned string: the name of an attribute or of an op. The Context owns the text
// (Context::Intern). Identifiers of one Context are equal if and only if their texts are equal.
class Identifier {
 public:
  Identifier() = default;
  explicit Identifier(const std::string* text) : text_(text) {}  // For Context::Intern.
  // Empty for a null identifier.
  std::string_view str() const { return text_ ? std::string_view(*text_) : std::string_view(); }
  explicit operator bool() const { return text_ != nullptr; }  // False for a null identifier.
  bool operator==(const Identifier&) const = default;
  // Alphabetical, so that sorting gives the same order in every run.
  bool operator<(const Identifier& o) const { return str() < o.str(); }

 private:
  const std::string* text_ = nullptr;
};

struct NamedAttribute;

// A handle to an interned attribute. It is cheap to copy and lives as long as its Context. Equal
// attributes have equal handles, with one exception: each call that makes large Elements makes a
// new handle. Compare the contents of those with SameElements. A default-constructed handle is
// null.
//
// The static functions are thread-safe. An accessor requires the kind that stands behind it. An
// accessor whose requirement does not hold ends the program; in a predicate of a rule it makes the
// condition false instead (guarded_read.h).
class Attribute {
 public:
  // The kind of an attribute, with an example of its text.
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
  explicit Attribute(const AttributeStorage* storage) : storage_(storage) {}  // For ir/core only.

  // ---- factories; `context` owns the result
  static Attribute Unit(Context& context);              // The attribute `unit`, which has no value.
  static Attribute Bool(Context& context, bool value);  // `true` or `false`, of type i1.
  // `type` is a scalar integer type or index. The value is not checked against its range.
  static Attribute Int(Context& context, int64_t value, Type type);
  // The same, of type i64.
  static Attribute I64(Context& context, int64_t value);
  // Rounds `value` to `dtype`, which must be a float type.
  static Attribute Float(Context& context, double value, DType dtype);
  // A float of type f32.
  static Attribute F32(Context& context, float value) { return Float(context, value, DType::kF32); }
  // A float of type f64.
  static Attribute F64(Context& context, double value) {
    return Float(context, value, DType::kF64);
  }
  static Attribute Str(Context& context, std::string_view value);  // Copies `value`.
  // A list of attributes, which may differ in kind.
  static Attribute Array(Context& context, std::span<const Attribute> elements);
  // A dense array: array<i64: …>.
  static Attribute I64s(Context& context, std::span<const int64_t> values);
  static Attribute F32s(Context& context, std::span<const float> values);  // array<f32: …>
  // A dense array of `dtype`, which must be an integer type or kBool.
  static Attribute Ints(Context& context, DType dtype, std::span<const int64_t> values);
  // A dense array of `dtype`, which must be a float type. Rounds each value to it.
  static Attribute Floats(Context& context, DType dtype, std::span<const double> values);
  // An attribute that holds a type.
  static Attribute TypeAttr(Context& context, Type type);
  // A reference to a symbol. `path` has no leading "@"; "::@" joins its nested parts.
  static Attribute SymbolRef(Context& context, std::string_view path);
  // Sorts `entries` by name. The names must be distinct.
  static Attribute Dictionary(Context& context, std::span<const NamedAttribute> entries);
  // A list of dimensions, constant or symbolic.
  static Attribute Dims(Context& context, std::span<const DimExpr> dims);
  // An attribute of another dialect as text, with its leading "#".
  static Attribute Opaque(Context& context, std::string_view text);
  // The contents of a tensor of static type `type`: row-major, little-endian, one byte per bool.
  // `bytes` must have exactly the size of the tensor and are copied. If all elements are bitwise
  // equal, the result is a splat. Contents of at most kInlineBytes are interned by value.
  static Attribute Elements(Context& context, Type type, std::span<const std::byte> bytes);
  // The same, sharing `blob` without a copy. Splats and small contents are copied nevertheless.
  static Attribute Elements(Context& context, Type type, std::shared_ptr<const Blob> blob);
  // A tensor of static type `type` whose elements all have the bytes `element`.
  static Attribute Splat(Context& context, Type type, std::span<const std::byte> element);
  // Larger contents are kept in a Blob, which Context::ReleaseUnusedBlobs can free.
  static constexpr size_t kInlineBytes = 256;

  // Requires an attribute that is not null.
  Kind kind() const;
  Context& context() const;                         // its owner; requires a handle that is not null
  bool bool_value() const;                          // kBool
  int64_t int_value() const;                        // kInteger; kBool as 0 or 1
  double float_value() const;                       // kFloat
  std::string_view str() const;                     // kString, kSymbolRef (path), kOpaque
  std::span<const Attribute> elements() const;      // kArray
  std::span<const int64_t> ints() const;            // kDenseArray of integers
  std::span<const double> floats() const;           // kDenseArray of floats
  std::span<const DimExpr> dims() const;            // kDims
  std::span<const NamedAttribute> entries() const;  // kDictionary, sorted by name
  Attribute Get(std::string_view name) const;       // kDictionary; null if there is no such entry
  // kType: the type. kInteger, kFloat, kBool, kElements: its type. kDenseArray: the element type.
  // All other kinds: null.
  Type type() const;

  // ---- kElements
  // True if all elements are equal and only one is stored.
  bool is_splat() const;
  // Returns the bytes of all elements; for a splat those of its one element. Deferred contents
  // (deferred_blob.h) are made and kept by this call. The bytes of a large constant stay valid as
  // long as an operation holds the attribute.
  std::span<const std::byte> raw_bytes() const;
  // Returns the blob behind a large constant; null for small ones and splats. It keeps the bytes
  // alive.
  std::shared_ptr<const Blob> blob() const;
  // Returns the bytes of all elements, with a splat expanded: the shared blob of a large constant,
  // a new blob otherwise.
  std::shared_ptr<const Blob> DenseBlob() const;
  // Element `i` in row-major order as a number. Bools are 0 and 1. Integers beyond 2^53 are
  // rounded. Requires 0 <= i < type().num_elements(), unless the attribute is a splat.
  double ElementAsDouble(int64_t i) const;
  // The same as an integer. Floats are truncated toward zero and clamped; NaN gives 0. Values of
  // u64 above the range of int64_t wrap around.
  int64_t ElementAsInt(int64_t i) const;

  // MLIR's text. Large elements print as dense_resource<blob_HASH>, without their bytes.
  std::string text() const;

  explicit operator bool() const { return storage_ != nullptr; }  // False for a null handle.
  bool operator==(const Attribute&) const = default;
  const AttributeStorage* storage() const { return storage_; }  // Identity, for hashing.

 private:
  const AttributeStorage* storage_ = nullptr;
};

// An attribute with its name: an entry of a dictionary.
struct NamedAttribute {
  Identifier name;  // distinct within a dictionary
  Attribute value;  // of any kind
  bool operator==(const NamedAttribute&) const = default;
};

// True if both attributes are equal or are Elements of the same type with the same bytes. Compares
// large contents by content hash: the first comparison reads all their bytes.
bool SameElements(Attribute a, Attribute b);

}  // namespace tenon

#endif  // TENON_IR_CORE_ATTRIBUTE_H_
