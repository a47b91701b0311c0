// Values of a pattern: the graph that a rule matches or builds.
#ifndef TENON_DRR_VAL_H_
#define TENON_DRR_VAL_H_

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drr/attr.h"
#include "ir/core/op_info.h"

namespace tenon::drr {

struct ValRef {
  ValPtr node;
  int result = 0;  // kOp: which result
  bool operator==(const ValRef&) const = default;
};

struct OperandPattern {
  ValRef val;
  bool maybe = false;  // an optional operand that may be absent
};

// A node of a pattern graph; immutable once built, shared by all who refer to it.
struct ValNode {
  enum class Kind : uint8_t {
    kVariable,  // any value
    kOp,        // the results of an operation
    kAnyOf,     // one of `alternatives`
    kSplat,     // a constant whose elements are all `splat`
    kLet,       // alternatives[0]; binds attribute variable `let_variable` to `let_value`
    kEach,      // any number of operands of a variadic group
  };
  Kind kind;
  std::string name;       // kVariable, kEach; others: for messages, may be empty
  bool constant = false;  // kVariable: must be a constant
  std::string op;         // kOp: "ten.add"
  std::vector<std::vector<OperandPattern>> operands;   // kOp: by operand group; empty: absent
  std::vector<std::pair<std::string, AttrRef>> attrs;  // kOp: the mentioned ones, sorted by name
  std::vector<ValRef> alternatives;                    // kAnyOf, kLet
  AttrRef splat;                                       // kSplat
  AttrRef let_variable, let_value;                     // kLet
  int depth = 1;  // nodes on the longest way down, this one included
};
// For messages: what is shared stands there as often as it is used, so that long texts are cut.
std::string ToString(const ValRef& val);

// A handle to a node of a pattern graph. Copies denote the same node: a Val used twice is a shared
// sub-graph.
class Val {
 public:
  // A variable: matches any value; wherever it occurs again, the same one.
  explicit Val(const char* name);
  explicit Val(ValRef ref) : ref_(std::move(ref)) {}
  const ValRef& ref() const { return ref_; }
  // Another result of the operation.
  Val result(int index) const { return Val(ValRef{ref_.node, index}); }
  // The same value under a name of its own, for messages.
  Val As(const char* name) const;
  // The same value; when it is matched, `variable` takes the given value.
  template <typename T>
  Val Let(const Attr<T>& variable, std::type_identity_t<AttrArg<T>> value) const {
    return Let(variable.node(), value.node());
  }

 private:
  Val Let(AttrRef variable, AttrRef value) const;
  ValRef ref_;
};

// An operand declared optional: absent by default.
class OptVal {
 public:
  OptVal() = default;
  OptVal(Val val) : operands_{{val.ref(), false}} {}  // NOLINT
  OptVal(ValRef ref, bool maybe) : operands_{{std::move(ref), maybe}} {}
  const std::vector<OperandPattern>& operands() const { return operands_; }

 private:
  std::vector<OperandPattern> operands_;
};

// The operands of a variadic group.
class ValList {
 public:
  ValList(std::initializer_list<Val> vals);
  ValList(Val val) : ValList({val}) {}  // NOLINT
  const std::vector<OperandPattern>& operands() const { return operands_; }

 private:
  std::vector<OperandPattern> operands_;
};

// A variable that must be a constant.
Val Const(const char* name);
// An optional operand that may be present or absent.
OptVal Maybe(const Val& val);
// Any number of operands of a variadic group, kept in order.
Val Each(const char* name);
// A constant whose elements are all `value` and which broadcasts like a scalar; in a result, such a
// constant of its neighbours' element type. Numbers that every type holds exactly (1, 0.5) must be
// equal; others match up to how exporters round them in the constant's type.
Val Splat(double value);
Val Splat(const Attr<float>& variable);
Val Splat(const Computed<double>& computed);

Val MakeSplat(AttrRef value);
Val MakeLet(const Val& val, AttrRef variable, AttrRef value);
Val MakeAnyOf(std::vector<ValRef> alternatives);
// One of several patterns, tried in order.
template <typename... Rest>
Val AnyOf(const Val& first, const Rest&... rest) {
  return MakeAnyOf({first.ref(), rest.ref()...});
}
// `step` applied between `min` and `max` times to `base`; longer chains are tried first.
template <typename Step>
Val Repeat(const Val& base, int min, int max, const Step& step) {
  std::vector<ValRef> chains;
  Val chain = base;
  for (int i = 0; i <= max; ++i) {
    if (i >= min) chains.insert(chains.begin(), chain.ref());
    if (i < max) chain = step(chain);
  }
  return MakeAnyOf(std::move(chains));
}

// Called by generated pattern functions.
inline std::vector<OperandPattern> One(const Val& val) { return {{val.ref(), false}}; }
Val MakeOp(std::string_view op, std::vector<std::vector<OperandPattern>> operands,
           const std::vector<std::pair<std::string, AttrRef>>& attrs);

// ---- pure functions over what a match binds -----------------------------------------------------

template <typename T>
struct ArgTraits;
// Numbers with a point are read as double: attributes of f32 must not round what a program in f64
// says.
template <typename T>
struct ArgTraits<Attr<T>> {
  using Type = std::conditional_t<std::is_same_v<T, float>, double, T>;
  static ArgRef Ref(const Attr<T>& a) { return {nullptr, 0, a.node(), nullptr}; }
  static Type Read(const BoundArg& arg) {
    if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<Type>(ToNumber(arg));
    } else {
      AttrValue value = ToAttrValue(arg);
      const T* typed = std::get_if<T>(&value);
      return typed != nullptr ? *typed : T();
    }
  }
};
template <>
struct ArgTraits<Dim> {
  using Type = DimExpr;
  static ArgRef Ref(const Dim& d) { return {nullptr, 0, nullptr, d.node()}; }
  static DimExpr Read(const BoundArg& arg) { return arg.dim; }
};
template <>
struct ArgTraits<Val> {
  using Type = Value;
  static ArgRef Ref(const Val& v) { return {v.ref().node, v.ref().result, nullptr, nullptr}; }
  static Value Read(const BoundArg& arg) { return arg.value; }
};

template <typename T>
struct UnwrapOptional {
  using Type = T;
};
template <typename T>
struct UnwrapOptional<std::optional<T>> {
  using Type = T;
};

// A std::function over bound arguments from a function over their C++ types.
template <typename R, typename F, typename... Args, size_t... I>
std::function<R(std::span<const BoundArg>)> Adapt(F fn, std::index_sequence<I...>) {
  return [fn](std::span<const BoundArg> args) -> R {
    (void)args;
    auto result = fn(ArgTraits<Args>::Read(args[I])...);
    using Result = decltype(result);
    if constexpr (std::is_same_v<R, bool>) {
      return result;
    } else if constexpr (std::is_same_v<typename UnwrapOptional<Result>::Type, Result>) {
      return WrapValue(std::move(result));
    } else {
      return result ? WrapValue(*std::move(result)) : AttrValue();
    }
  };
}

// An attribute computed by a pure function from attribute variables, dimensions (as DimExpr) and
// values (as Value). A function that returns std::optional refuses the match with nullopt.
template <typename F, typename... Args>
auto Compute(F fn, const Args&... args) {
  using Result = std::invoke_result_t<F, typename ArgTraits<Args>::Type...>;
  using T = typename UnwrapOptional<Result>::Type;
  auto node = std::make_shared<AttrNode>();
  node->kind = AttrNode::Kind::kCompute;
  node->args = {ArgTraits<Args>::Ref(args)...};
  node->compute = Adapt<AttrValue, F, Args...>(fn, std::index_sequence_for<Args...>());
  return Computed<T>(std::move(node));
}

// The dimensions of a matched value.
Computed<Dims> ShapeOf(const Val& val);

}  // namespace tenon::drr

#endif  // TENON_DRR_VAL_H_
