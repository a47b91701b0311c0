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
#include "ir/core/dim_expr.h"
#include "ir/core/op_info.h"
#include "ir/core/value.h"

namespace tenon::drr {

using I64s = std::vector<int64_t>;
using F32s = std::vector<float>;
using Dims = std::vector<DimExpr>;

// The value of an attribute of any kind. Floats of all widths are double; monostate means no value.
// Terms also have extents, which no attribute holds.
using AttrValue = std::variant<std::monostate, bool, int64_t, double, std::string, I64s, F32s, Dims,
                               DType, Attribute, DimExpr>;

struct DimNode;
struct AttrNode;
struct ValNode;
struct TermNode;
class Term;
using DimRef = std::shared_ptr<const DimNode>;
using AttrRef = std::shared_ptr<const AttrNode>;
using ValPtr = std::shared_ptr<const ValNode>;

// ---- dimensions ---------------------------------------------------------------------------------

// A named dimension, a number, or an expression over them.
struct DimNode {
  enum class Kind : uint8_t { kVariable, kConstant, kAny, kAdd, kSub, kMul };
  Kind kind;
  std::string name;   // kVariable
  int64_t value = 0;  // kConstant
  DimRef a, b;        // kAdd, kSub, kMul
};

// A dimension in a rule: a named variable, a number, or an expression. Variables are solved over
// the whole match.
class Dim {
 public:
  // A variable.
  explicit Dim(const char* name);
  // A number.
  Dim(int64_t value);                      // NOLINT(google-explicit-constructor)
  Dim(int value) : Dim(int64_t{value}) {}  // NOLINT(google-explicit-constructor)
  explicit Dim(DimRef node) : node_(std::move(node)) {}
  const DimRef& node() const { return node_; }

 private:
  DimRef node_;
};

Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
// In a shape: any dimension, without a name.
Dim AnyDim();
std::string ToString(const DimNode& dim);

// ---- arguments of conditions and computed attributes --------------------------------------------

// An argument of a pure function of a rule: a value, an attribute or a dimension.
struct ArgRef {
  ValPtr val;
  int result = 0;  // the result of `val`
  AttrRef attr;
  DimRef dim;
};

// An argument after matching. It owns no memory. An attribute is `attr` if an op has it, `number`
// if a Splat has it, and `literal` if the rule gives it.
struct BoundArg {
  Value value;
  DimExpr dim;
  Attribute attr;
  double number = 0;
  const AttrValue* literal = nullptr;
};

// Returns the value of an argument or an attribute; monostate if it has none.
AttrValue ToAttrValue(const BoundArg& arg);
AttrValue ToAttrValue(Attribute attr);
// Returns integers, floats and bools as a number, and NaN for all else.
double ToNumber(const BoundArg& arg);
// Returns an attribute of kind `type`. Null if the value does not fit the kind.
Attribute ToAttribute(Context& context, AttrType type, const AttrValue& value);
std::string ToString(const AttrValue& value);

// ---- attributes ---------------------------------------------------------------------------------

// An attribute in a rule.
struct AttrNode {
  enum class Kind : uint8_t { kLiteral, kVariable, kCompute, kAny, kDim, kDims };
  Kind kind;
  std::string name;          // kVariable; kCompute: a name for messages
  AttrValue literal;         // kLiteral
  std::vector<DimRef> dims;  // kDims; kDim: one
  std::vector<ArgRef> args;  // kCompute
  // kCompute: returns monostate if there is no value; the match is then refused.
  std::function<AttrValue(std::span<const BoundArg>)> compute;
  std::shared_ptr<const TermNode> term;  // kCompute: what is computed; null for a C++ function
};
std::string ToString(const AttrNode& attr);

// An attribute variable. It has one value in a match: where it occurs again, the value must be
// equal.
template <typename T>
class Attr {
 public:
  explicit Attr(const char* name)
      : node_(std::make_shared<AttrNode>(
            AttrNode{AttrNode::Kind::kVariable, name, {}, {}, {}, {}, {}})) {}
  const AttrRef& node() const { return node_; }

 private:
  AttrRef node_;
};

// An attribute computed from bound arguments; Compute (val.h) makes it.
template <typename T>
class Computed {
 public:
  explicit Computed(AttrRef node) : node_(std::move(node)) {}
  const AttrRef& node() const { return node_; }

 private:
  AttrRef node_;
};

struct AnyAttr {};
// Matches any value of an attribute.
inline constexpr AnyAttr kAny{};

// Nodes for literals, kAny, a dimension, and a list of dimensions.
AttrRef MakeLiteral(AttrValue value);
AttrRef MakeAnyAttr();
AttrRef MakeDimAttr(const Dim& dim);
AttrRef MakeDimsAttr(std::span<const Dim> dims);
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
  AttrArg(const Attr<T>& variable) : node_(variable.node()) {}
  AttrArg(const Computed<T>& computed) : node_(computed.node()) {}
  AttrArg(const Computed<double>& computed) requires(std::is_same_v<T, float>)
      : node_(computed.node()) {}
  AttrArg(const Term& term);
  AttrArg(AnyAttr) : node_(MakeAnyAttr()) {}
  template <typename U>
  requires(std::is_arithmetic_v<T>&& std::is_arithmetic_v<U> &&
           (std::is_same_v<T, bool> == std::is_same_v<U, bool>)) AttrArg(U value)
      : node_(MakeLiteral(WrapValue<T>(static_cast<T>(value)))) {}
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
  const AttrRef& node() const { return node_; }

 private:
  AttrRef node_;  // null: unset
};

}  // namespace tenon::drr

#endif  // TENON_DRR_RULE_ATTR_H_
