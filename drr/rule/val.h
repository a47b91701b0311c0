// Values of a pattern: the graph that a rule matches or builds.
#ifndef TENON_DRR_RULE_VAL_H_
#define TENON_DRR_RULE_VAL_H_

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drr/rule/attr.h"
#include "ir/core/context/op_info.h"

namespace tenon::drr {

// One result of a node.
struct ValRef {
  ValPtr node;        // the node
  int result = 0;     // kOp: the result
  bool rest = false;  // kOp: that result and all behind it, however many an operation has
  bool operator==(const ValRef&) const = default;
};

// One operand in a pattern.
struct OperandPattern {
  ValRef val;          // the pattern of the operand
  bool maybe = false;  // optional; it may be absent
};

// A node of a pattern graph. Immutable once built, and shared by all graphs that refer to it.
struct ValNode {
  // The form of a node.
  enum class Kind : uint8_t {
    kVariable,  // any value
    kOp,        // the results of an operation
    kAnyOf,     // one of `alternatives`
    kSplat,     // a constant whose elements are all `splat`
    kLet,       // alternatives[0]; binds attribute variable `let_variable` to `let_value`
    kEach,      // any number of operands of a variadic group; with alternatives[0]: one or more
                // operands, each the result of that pattern, which reads an item of one plain kEach
  };
  Kind kind;              // says which members below are set
  std::string name;       // kVariable, kEach; a label for messages in other nodes
  bool constant = false;  // kVariable: it must be a constant
  std::string op;         // kOp: "ten.add"
  // kOp: by operand group; an empty group is absent.
  std::vector<std::vector<OperandPattern>> operands;
  // kOp: the attributes that the rule mentions, sorted by name.
  std::vector<std::pair<std::string, AttrRef>> attrs;
  std::vector<ValRef> alternatives;  // kAnyOf, kLet, kEach
  AttrRef splat;                     // kSplat
  AttrRef let_variable,              // kLet: the variable
      let_value;                     // kLet: its value
  int depth = 1;                     // nodes on the longest path down, with this one
};
// Returns the text notation. Texts over 64 KiB are cut off: shared nodes are written at each use.
std::string ToString(const ValRef& val);

// A handle to a node of a pattern graph. Copies denote the same node, so that a Val used twice is a
// shared sub-graph: the match must have one value there.
class Val {
 public:
  // A variable. It matches any value, and the same value wherever it occurs.
  explicit Val(const char* name);
  explicit Val(ValRef ref) : ref_(std::move(ref)) {}  // a handle to this node
  const ValRef& ref() const { return ref_; }          // the node and its result
  // The result `index` of the same operation.
  Val result(int index) const { return Val(ValRef{ref_.node, index}); }
  // The results from `index` on, none or more. As an operand of a variadic group: all of them, in
  // their order. In Match: matched values. In Replace: as many results as the matched one has, from
  // `index` on, without those that an earlier Rest of this operation stands for.
  Val Rest(int index) const { return Val(ValRef{ref_.node, index, true}); }
  // The same value with a name for messages. Use the returned Val in place of the old one.
  Val As(const char* name) const;
  // The same value. When it is matched, `variable` gets the given value.
  template <typename T>
  Val Let(const Attr<T>& variable, std::type_identity_t<AttrArg<T>> value) const {
    return Let(variable.node(), value.node());
  }

 private:
  Val Let(AttrRef variable, AttrRef value) const;
  ValRef ref_;
};

// An optional operand; absent by default.
class OptVal {
 public:
  OptVal() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  OptVal(Val val) : operands_{{val.ref(), false}} {}  // present
  // The match may lack the operand if `maybe` is true.
  OptVal(ValRef ref, bool maybe) : operands_{{std::move(ref), maybe}} {}
  // Returns one operand, or none if it is absent.
  const std::vector<OperandPattern>& operands() const { return operands_; }

 private:
  std::vector<OperandPattern> operands_;
};

// The operands of a variadic group.
class ValList {
 public:
  ValList(std::initializer_list<Val> vals);  // the operands in order
  // NOLINTNEXTLINE(google-explicit-constructor)
  ValList(Val val) : ValList({val}) {}  // one operand, or any number for Each
  const std::vector<OperandPattern>& operands() const { return operands_; }  // in order

 private:
  std::vector<OperandPattern> operands_;
};

// A variable that matches only constants.
Val Const(const char* name);
// An optional operand that may be present or absent. An absent one is absent in the result, too.
OptVal Maybe(const Val& val);
// Any number of operands of a variadic group, in order.
Val Each(const char* name);
// One or more operands of a variadic group, in order, each computed by the pattern `mapped`. The
// pattern is a chain of operations down to a list: Each(Relu(Each("xs"))). Its other parts and its
// attribute variables are the same for all operands. In a result, the operations are made once for
// each item of the list.
Val Each(const Val& mapped);
// A constant whose elements are all `value` and that broadcasts like a scalar. Numbers that every
// type holds exactly, such as 1 and 0.5, must be equal. Other numbers may differ by the rounding of
// exporters (1e-5 in f32). In a result it becomes a constant with the element type of its
// neighbors.
Val Splat(double value);
// Binds `variable` to the number; where it is bound already, the number must be the same up to one
// rounding.
Val Splat(const Attr<float>& variable);
// In a result: the computed number.
Val Splat(const Computed<double>& computed);
Val Splat(const Term& term);

// Splat for any attribute. The parser of rule texts uses this and the next two functions.
Val MakeSplat(AttrRef value);
Val MakeLet(const Val& val, AttrRef variable, AttrRef value);  // Val::Let over nodes
Val MakeAnyOf(std::vector<ValRef> alternatives);               // AnyOf over nodes
// One of several patterns, tried in order. The first that matches wins.
template <typename... Rest>
Val AnyOf(const Val& first, const Rest&... rest) {
  return MakeAnyOf({first.ref(), rest.ref()...});
}
// Applies `step`, a function from Val to Val, between `min` and `max` times to `base`. Longer
// chains are tried first.
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

// Generated pattern functions call these.
inline std::vector<OperandPattern> One(const Val& val) { return {{val.ref(), false}}; }
// An operation `op`, named with its dialect. `operands` are by operand group of the definition; an
// empty group is absent. Null attributes are not mentioned, so they must have their defaults. Use
// it for ops of other dialects.
Val MakeOp(std::string_view op, std::vector<std::vector<OperandPattern>> operands,
           const std::vector<std::pair<std::string, AttrRef>>& attrs);

// ---- pure functions over the bindings of a match ------------------------------------------------

// How a function of a rule gets its arguments: the C++ type for a part of a rule.
template <typename T>
struct ArgTraits;
// Float attributes are passed as double, so that f32 does not round the numbers of an f64 program.
// An attribute of another type gives a default-constructed T.
template <typename T>
struct ArgTraits<Attr<T>> {
  using Type = std::conditional_t<std::is_same_v<T, float>, double, T>;  // its type as an argument
  // Returns the argument of the rule.
  static ArgRef Ref(const Attr<T>& a) { return {nullptr, 0, a.node(), nullptr}; }
  // Returns its value in a match.
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
// Dimensions are passed as DimExpr.
template <>
struct ArgTraits<Dim> {
  using Type = DimExpr;  // its type as an argument
  // Returns the argument of the rule.
  static ArgRef Ref(const Dim& d) { return {nullptr, 0, nullptr, d.node()}; }
  static DimExpr Read(const BoundArg& arg) { return arg.dim; }  // its value in a match
};
// Values are passed as Value.
template <>
struct ArgTraits<Val> {
  using Type = Value;  // its type as an argument
  // Returns the argument of the rule.
  static ArgRef Ref(const Val& v) { return {v.ref().node, v.ref().result, nullptr, nullptr}; }
  static Value Read(const BoundArg& arg) { return arg.value; }  // its value in a match
};

// The type in a std::optional; every other type as it is.
template <typename T>
struct UnwrapOptional {
  using Type = T;  // the same type
};
// The type in an optional.
template <typename T>
struct UnwrapOptional<std::optional<T>> {
  using Type = T;  // the type in it
};

// Makes a function over bound arguments from one over C++ types.
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

// An attribute computed by the pure function `fn`. Its arguments are attribute variables (float
// ones as double), dimensions (as DimExpr) and values (as Value). The rule does not fire if `fn`
// returns nullopt, if an argument is absent, or if an accessor called by `fn` fails.
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

}  // namespace tenon::drr

#endif  // TENON_DRR_RULE_VAL_H_
