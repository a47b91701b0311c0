// Attributes and dimensions as rules speak of them: literals, variables, computed values.
#ifndef TENON_DRR_ATTR_H_
#define TENON_DRR_ATTR_H_

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

// What an attribute of any kind holds. Floats of all widths are doubles; monostate: no value.
using AttrValue = std::variant<std::monostate, bool, int64_t, double, std::string, I64s, F32s, Dims,
                               DType, Attribute>;

struct DimNode;
struct AttrNode;
struct ValNode;
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

class Dim {
 public:
  explicit Dim(const char* name);
  // Numbers stand for themselves.
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
// In a shape: a dimension that is not looked at.
Dim AnyDim();
std::string ToString(const DimNode& dim);

// ---- arguments of conditions and computed attributes --------------------------------------------

// What a pure function of a rule reads: a value of the program, an attribute or a dimension.
struct ArgRef {
  ValPtr val;
  int result = 0;  // which result of `val`
  AttrRef attr;
  DimRef dim;
};

// The bound counterpart. Holds no memory of its own. An attribute is `attr` when it was read off an
// op, `number` when it came from a Splat, `value` when the rule itself gave it.
struct BoundArg {
  Value value;
  DimExpr dim;
  Attribute attr;
  double number = 0;
  const AttrValue* literal = nullptr;
};

AttrValue ToAttrValue(const BoundArg& arg);
AttrValue ToAttrValue(Attribute attr);
double ToNumber(const BoundArg& arg);  // integers, floats, bools
// The attribute of a slot of kind `type`; null when the value does not fit the kind.
Attribute ToAttribute(Context& context, AttrType type, const AttrValue& value);
std::string ToString(const AttrValue& value);

// ---- attributes ---------------------------------------------------------------------------------

struct AttrNode {
  enum class Kind : uint8_t { kLiteral, kVariable, kCompute, kAny, kDim, kDims };
  Kind kind;
  std::string name;          // kVariable; kCompute: what it computes, if named
  AttrValue literal;         // kLiteral
  std::vector<DimRef> dims;  // kDims; kDim: one
  std::vector<ArgRef> args;  // kCompute
  // kCompute: monostate means that there is no such value, and the match is refused.
  std::function<AttrValue(std::span<const BoundArg>)> compute;
};
std::string ToString(const AttrNode& attr);

// An attribute variable. A repeated variable must agree wherever it occurs.
template <typename T>
class Attr {
 public:
  explicit Attr(const char* name)
      : node_(
            std::make_shared<AttrNode>(AttrNode{AttrNode::Kind::kVariable, name, {}, {}, {}, {}})) {
  }
  const AttrRef& node() const { return node_; }

 private:
  AttrRef node_;
};

// An attribute computed from bound ones; made by Compute.
template <typename T>
class Computed {
 public:
  explicit Computed(AttrRef node) : node_(std::move(node)) {}
  const AttrRef& node() const { return node_; }

 private:
  AttrRef node_;
};

struct AnyAttr {};
// Any value of this attribute will do.
inline constexpr AnyAttr kAny{};

AttrRef MakeLiteral(AttrValue value);
AttrRef MakeAnyAttr();
AttrRef MakeDimAttr(const Dim& dim);
AttrRef MakeDimsAttr(std::span<const Dim> dims);

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

// One attribute of a pattern function: unset (must be the default), a value, a variable, computed,
// or kAny.
template <typename T>
class AttrArg {
 public:
  AttrArg() = default;
  // NOLINTBEGIN(google-explicit-constructor): braced lists of values are the notation of rules
  AttrArg(const Attr<T>& variable) : node_(variable.node()) {}
  AttrArg(const Computed<T>& computed) : node_(computed.node()) {}
  AttrArg(const Computed<double>& computed) requires(std::is_same_v<T, float>)
      : node_(computed.node()) {}
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

#endif  // TENON_DRR_ATTR_H_
