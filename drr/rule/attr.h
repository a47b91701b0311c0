// Attributes and dimensions in rules: literals, variables and computed values. Nodes are immutable
// and belong to no Context.
#ifndef TENON_DRR_RULE_ATTR_H_
#define TENON_DRR_RULE_ATTR_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ir/core/attribute.h"
#include "ir/core/context/op_info.h"
#include "ir/core/dims/dim_expr.h"
#include "ir/core/value.h"

namespace tenon::drr {

using I64s = std::vector<int64_t>;  // a list of integers
using F32s = std::vector<float>;    // a list of f32 numbers
using Dims = std::vector<DimExpr>;  // a list of dimensions, such as a shape

// The value of an attribute of any kind. Floats of all widths are double; monostate means no value.
// Terms also have extents, which no attribute holds.
using AttrValue = std::variant<std::monostate, bool, int64_t, double, std::string, I64s, F32s, Dims,
                               DType, Attribute, DimExpr>;

struct DimNode;
struct AttrNode;
struct ValNode;
struct TermNode;
class Term;
using DimRef = std::shared_ptr<const DimNode>;    // a shared dimension of a rule
using AttrRef = std::shared_ptr<const AttrNode>;  // a shared attribute of a rule
using ValPtr = std::shared_ptr<const ValNode>;    // a shared node of a pattern graph

// ---- dimensions ---------------------------------------------------------------------------------

// A named dimension, a number, or an expression over them.
struct DimNode {
  // The form of a dimension.
  enum class Kind : uint8_t {
    kVariable,  // a name
    kConstant,  // a number
    kAny,       // any dimension, without a name
    kAdd,       // a + b
    kSub,       // a - b
    kMul        // a * b
  };
  Kind kind;          // says which members below are set
  std::string name;   // kVariable
  int64_t value = 0;  // kConstant
  DimRef a,           // kAdd, kSub, kMul: the left side
      b;              // kAdd, kSub, kMul: the right side
};

// A dimension in a rule: a named variable, a number, or an expression. Variables are solved over
// the whole match.
class Dim {
 public:
  // A variable.
  explicit Dim(const char* name);
  // NOLINTBEGIN(google-explicit-constructor): numbers are dimensions
  Dim(int64_t value);                      // a number
  Dim(int value) : Dim(int64_t{value}) {}  // a number
  // NOLINTEND(google-explicit-constructor)
  explicit Dim(DimRef node) : node_(std::move(node)) {}  // takes a node
  const DimRef& node() const { return node_; }           // never null

 private:
  DimRef node_;
};

Dim operator+(const Dim& a, const Dim& b);  // the sum
Dim operator-(const Dim& a, const Dim& b);  // the difference
Dim operator*(const Dim& a, const Dim& b);  // the product
// In a shape: any dimension, without a name.
Dim AnyDim();
std::string ToString(const DimNode& dim);  // text notation: "(S + 1)"

// ---- arguments of conditions and computed attributes --------------------------------------------

// An argument of a pure function of a rule: a value, an attribute or a dimension. Exactly one of
// `val`, `attr` and `dim` is not null.
struct ArgRef {
  ValPtr val;      // the node of a value
  int result = 0;  // the result of `val`
  AttrRef attr;    // an attribute
  DimRef dim;      // a dimension
};

// An argument after matching. It owns no memory. An attribute is `attr` if an op has it, `number`
// if a Splat has it, and `literal` if the rule gives it.
struct BoundArg {
  Value value;                         // an argument that is a value
  DimExpr dim;                         // an argument that is a dimension
  Attribute attr;                      // an attribute of an op
  double number = 0;                   // the number of a Splat
  const AttrValue* literal = nullptr;  // a value of the rule; null if it gives none
  bool absent = false;                 // the match has no such operand; all else is empty
};

// Returns the value of an argument or an attribute; monostate if it has none.
AttrValue ToAttrValue(const BoundArg& arg);
AttrValue ToAttrValue(Attribute attr);
// Returns integers, floats and bools as a number, and NaN for all else.
double ToNumber(const BoundArg& arg);
// Returns an attribute of kind `type`; null if the value does not fit. Whole numbers fit integers.
Attribute ToAttribute(Context& context, AttrType type, const AttrValue& value);
std::string ToString(const AttrValue& value);  // text notation: "{0, 1}", "none"

// ---- attributes ---------------------------------------------------------------------------------

// An attribute in a rule.
struct AttrNode {
  // The form of an attribute.
  enum class Kind : uint8_t {
    kLiteral,   // a value
    kVariable,  // a variable
    kCompute,   // computed by a function
    kAny,       // any value
    kDim,       // a dimension
    kDims       // a list of dimensions
  };
  Kind kind;                 // says which members below are set
  std::string name;          // kVariable; kCompute: a name for messages
  AttrValue literal;         // kLiteral
  std::vector<DimRef> dims;  // kDims; kDim: one
  std::vector<ArgRef> args;  // kCompute
  // kCompute: returns monostate if there is no value; the match is then refused.
  std::function<AttrValue(std::span<const BoundArg>)> compute;
  std::shared_ptr<const TermNode> term;  // kCompute: what is computed; null for a C++ function
  bool asks_presence = false;  // kCompute: asks whether something exists: arguments may be absent
};
std::string ToString(const AttrNode& attr);  // text notation

// An attribute variable. It has one value in a match: where it occurs again, the value must be
// equal.
template <typename T>
class Attr {
 public:
  // `name` is for messages. Two objects are two variables, also with equal names.
  explicit Attr(const char* name)
      : node_(std::make_shared<AttrNode>(
            AttrNode{AttrNode::Kind::kVariable, name, {}, {}, {}, {}, {}})) {}
  const AttrRef& node() const { return node_; }  // never null

 private:
  AttrRef node_;
};

// An attribute computed from bound arguments; Compute (val.h) makes it.
template <typename T>
class Computed {
 public:
  explicit Computed(AttrRef node) : node_(std::move(node)) {}  // takes a kCompute node
  const AttrRef& node() const { return node_; }                // never null

 private:
  AttrRef node_;
};

struct AnyAttr {};  // the type of kAny
// Matches any value of an attribute.
inline constexpr AnyAttr kAny{};

AttrRef MakeLiteral(AttrValue value);             // a node for a value
AttrRef MakeAnyAttr();                            // a node for kAny
AttrRef MakeDimAttr(const Dim& dim);              // a node for a dimension
AttrRef MakeDimsAttr(std::span<const Dim> dims);  // a node for a list of dimensions
// An attribute that a term computes (term.h).
AttrRef MakeTermAttr(const Term& term);

// Converts a C++ value to an AttrValue.
template <typename T>
AttrValue WrapValue(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return AttrValue(value);
  } else if constexpr (std::is_integral_v<T>) {
    return AttrValue(static_cast<int64_t>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return AttrValue(static_cast<double>(value));
  } else {
    return AttrValue(std::move(value));
  }
}

// An attribute field of a pattern function. It holds a value, a variable, a computed value or kAny.
// A field that is not set means the default of the op.
template <typename T>
class AttrArg {
 public:
  AttrArg() = default;
  // NOLINTBEGIN(google-explicit-constructor): braced lists of values are the notation of rules
  // Takes a variable, a computed value or kAny.
  AttrArg(const Attr<T>& variable) : node_(variable.node()) {}
  AttrArg(const Computed<T>& computed) : node_(computed.node()) {}
  AttrArg(const Computed<double>& computed) requires(std::is_same_v<T, float>)
      : node_(computed.node()) {}
  AttrArg(const Term& term);
  AttrArg(AnyAttr) : node_(MakeAnyAttr()) {}
  // Takes a bool for a bool, and any other number for an integer or a float.
  template <typename U>
  requires(std::is_arithmetic_v<T>&& std::is_arithmetic_v<U> &&
           (std::is_same_v<T, bool> == std::is_same_v<U, bool>)) AttrArg(U value)
      : node_(MakeLiteral(WrapValue<T>(static_cast<T>(value)))) {}
  // Takes a dimension, a text, an element type or a list, each for an attribute of that kind.
  AttrArg(const Dim& dim) requires(std::is_same_v<T, int64_t>) : node_(MakeDimAttr(dim)) {}
  AttrArg(const char* text) requires(std::is_same_v<T, std::string>)
      : node_(MakeLiteral(std::string(text))) {}
  AttrArg(DType dtype) requires(std::is_same_v<T, DType>) : node_(MakeLiteral(dtype)) {}
  AttrArg(std::initializer_list<int64_t> values) requires(std::is_same_v<T, I64s>)
      : node_(MakeLiteral(I64s(values))) {}
  AttrArg(std::initializer_list<float> values) requires(std::is_same_v<T, F32s>)
      : node_(MakeLiteral(F32s(values))) {}
  AttrArg(std::initializer_list<Dim> dims) requires(std::is_same_v<T, Dims>)
      : node_(MakeDimsAttr({dims.begin(), dims.size()})) {}
  // NOLINTEND(google-explicit-constructor)
  const AttrRef& node() const { return node_; }  // null if the field is not set

 private:
  AttrRef node_;  // null: unset
};

}  // namespace tenon::drr

#endif  // TENON_DRR_RULE_ATTR_H_
