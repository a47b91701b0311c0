// Terms of rules: expressions over attributes, dimensions and values of a match. They are data, so
// that rules print and parse, and are evaluated once their arguments are bound.
#ifndef TENON_DRR_RULE_TERM_H_
#define TENON_DRR_RULE_TERM_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "drr/rule/val.h"

namespace tenon::drr {

// Whether something is true. Nullopt if that is not known, as of extents with other names, or if
// the question has no answer, as of an axis that is not there.
using Truth = std::optional<bool>;

// The value of a term: a value of the program, or data. Neither if the term has no value.
struct TermValue {
  AttrValue data;  // monostate if it is a value of the program, or none
  Value value;     // null if it is data
  // False if the term has no value.
  bool has_value() const { return value || !std::holds_alternative<std::monostate>(data); }
};

// The kind of an argument or a result of a word. kAny takes everything.
enum class TermKind : uint8_t {
  kAny,       // any of these
  kValue,     // a value of the program
  kFlag,      // true or false
  kInteger,   // a 64-bit integer
  kNumber,    // an f64
  kExtent,    // an extent, which may have a name
  kText,      // a text
  kType,      // an element type
  kIntegers,  // a list of integers
  kExtents    // a list of extents
};
// Returns the words of messages and of the reference, such as "a number".
const char* NameOf(TermKind kind);

// A word of the language: a named pure function. It has no value if an argument has none or is of
// another kind, or if an accessor that it calls fails.
struct Word {
  static constexpr int kMostParameters = 4;            // that a word may have
  std::string_view name;                               // as rules write it
  std::string_view summary;                            // for the reference: "the extent of axis i"
  TermKind result = TermKind::kAny;                    // the kind of its value
  int least = 0,                                       // the fewest arguments that it takes
      most = 0;                                        // and the most
  std::array<TermKind, kMostParameters> parameters{};  // the kind of each argument
  // Computes the value. Pure and thread-safe.
  TermValue (*compute)(std::span<const TermValue> args) = nullptr;
};

// A node of a term. Immutable.
struct TermNode {
  // What a node is.
  enum class Kind : uint8_t {
    kLiteral,   // `literal`
    kArgument,  // `argument`
    kCall,      // of `word`; operators are words
    kList,      // of the operands
    kSpread,    // in a list: the elements of the list operands[0]
    kOnes,      // at the start of a list that a shape is compared with: any number of ones
    kRest,      // in a list that a shape is compared with: any number of extents
  };
  Kind kind = Kind::kLiteral;                             // what it is
  AttrValue literal;                                      // kLiteral
  ArgRef argument;                                        // kArgument
  const Word* word = nullptr;                             // kCall
  std::vector<std::shared_ptr<const TermNode>> operands;  // kCall, kList, kSpread
};
using TermRef = std::shared_ptr<const TermNode>;  // a shared node
std::string ToString(const TermNode& term);       // text notation

// A handle to a term. Attribute variables, dimensions, numbers, texts and values of the match are
// terms.
class Term {
 public:
  // Requires a node.
  explicit Term(TermRef node) : node_(std::move(node)) {}
  // NOLINTBEGIN(google-explicit-constructor): the notation of rules
  // The value of an attribute variable.
  template <typename T>
  Term(const Attr<T>& variable) : Term(ArgRef{nullptr, 0, variable.node(), nullptr}) {}
  Term(const Dim& dim);                                     // an extent
  Term(const Val& val) : Term(ArgTraits<Val>::Ref(val)) {}  // a value of the match
  // A number, or true or false.
  template <typename T>
  requires(std::is_arithmetic_v<T>) Term(T number) : Term(WrapValue(number), 0) {}
  // A text.
  Term(const char* text) : Term(AttrValue(std::string(text)), 0) {}
  // An element type.
  Term(DType dtype) : Term(AttrValue(dtype), 0) {}
  // NOLINTEND(google-explicit-constructor)
  const TermRef& node() const { return node_; }  // never null
  // An element of a list. A negative index counts from the end. A list of indices picks elements.
  Term operator[](const Term& index) const;

 private:
  explicit Term(ArgRef argument);
  Term(AttrValue literal, int);
  TermRef node_;
};

// A call of a word. Requires as many operands as it takes.
Term MakeCall(const Word& word, std::vector<TermRef> operands);
// The same, with terms or what becomes one.
template <typename... Args>
Term Call(const Word& word, const Args&... args) {
  return MakeCall(word, {Term(args).node()...});
}

// Integers and extents overflow to no value. A quotient of integers is exact: it has no value if a
// remainder is left, and none has a value for the divisor 0. Other numbers follow f64. Lists of one
// length are combined element by element.
Term operator+(const Term& a, const Term& b);
Term operator-(const Term& a, const Term& b);  // the difference
Term operator*(const Term& a, const Term& b);  // the product
Term operator/(const Term& a, const Term& b);  // the exact quotient
Term operator%(const Term& a, const Term& b);  // the remainder
Term operator-(const Term& a);                 // the number of the other sign
Term operator!(const Term& flag);              // true for false; none for none

// A list of terms.
Term ListOf(std::initializer_list<Term> terms);
// In a list: the elements of another list.
Term Spread(const Term& list);
// The first element of a list that a shape is compared with: any number of extents of 1.
Term OnesBefore();
// One element of the list that a shape is compared with: any number of extents, `...` in text. In
// `ShapeOf(x) == ListOf({B, RestOfShape(), N})`, B is the first extent and N the last one. The
// comparison binds dimensions, as ShapeIs (condition.h) does.
Term RestOfShape();
// `a` where `flag` is true, and `b` where it is false; without `b`, and where it is not known
// which, no value.
Term Choose(const Term& flag, const Term& a, const Term& b);
Term Choose(const Term& flag, const Term& a);
// A comparison as a term; `sign` is one of == != < <= > >=. No value where it is not known.
Term Compare(const Term& a, std::string_view sign, const Term& b);
// Both hold. One that is false decides although the other one has no value.
Term And(const Term& a, const Term& b);
// One of them holds. One that is true decides although the other one has no value.
Term Or(const Term& a, const Term& b);
// `a` is one of the elements.
Term IsIn(const Term& a, std::initializer_list<Term> elements);

// True if the term asks whether something exists, so that what it reads may be absent.
bool AsksPresence(const TermNode& term);

// Returns the term as a dimension: a number, a name, or a sum, difference or product of these.
// Nothing for other terms.
std::optional<Dim> AsDim(const TermNode& term);
// Returns a list of such terms as dimensions. Nothing for other terms.
std::optional<std::vector<Dim>> AsDims(const TermNode& term);

// Returns the operator `sign`, "[]", "if" or "in"; null if there is none. `arity` tells the sign
// of a number from a difference.
const Word* FindOperator(std::string_view sign, size_t arity);
bool IsOperator(const Word& word);  // true for what FindOperator returns

// A term with its arguments one after the other, each once.
class BoundTerm {
 public:
  // Collects the arguments of `term`.
  explicit BoundTerm(TermRef term);
  const std::vector<ArgRef>& args() const { return args_; }  // in the order of their occurrence
  // Evaluates the term. `bound` has the arguments in the order of args().
  TermValue Evaluate(std::span<const BoundArg> bound) const { return Evaluate(root_, bound); }

 private:
  // Calls that do not need the values of all operands.
  enum class Lazy : uint8_t { kNo, kIf, kAnd, kOr, kIn, kExists, kEqualBehindOnes };
  struct Step {
    const TermNode* node;
    size_t argument = 0;
    Lazy lazy = Lazy::kNo;
    std::vector<Step> operands;
  };
  Step Add(const TermRef& node);
  static Lazy LazinessOf(const TermNode& node);
  TermValue Evaluate(const Step& step, std::span<const BoundArg> bound) const;
  TermValue EvaluateLazily(const Step& step, std::span<const BoundArg> bound) const;
  TermValue EvaluateList(const Step& step, std::span<const BoundArg> bound) const;

  TermRef term_;
  std::vector<ArgRef> args_;
  Step root_;
};

template <typename T>
AttrArg<T>::AttrArg(const Term& term) : node_(MakeTermAttr(term)) {}

// ---- words from C++ functions -------------------------------------------------------------------

// How a C++ type is read from the value of a term. False: the value is of another kind.
bool Read(const TermValue& from, Value& to);
bool Read(const TermValue& from, bool& to);
bool Read(const TermValue& from, int64_t& to);
bool Read(const TermValue& from, double& to);
bool Read(const TermValue& from, DimExpr& to);
bool Read(const TermValue& from, std::string& to);
bool Read(const TermValue& from, DType& to);
bool Read(const TermValue& from, I64s& to);
bool Read(const TermValue& from, Dims& to);
bool Read(const TermValue& from, TermValue& to);

// The kind of a C++ type that a word takes or returns.
template <typename T>
constexpr TermKind KindOf() {
  if constexpr (std::is_same_v<T, Value>) return TermKind::kValue;
  if constexpr (std::is_same_v<T, bool>) return TermKind::kFlag;
  if constexpr (std::is_same_v<T, int64_t>) return TermKind::kInteger;
  if constexpr (std::is_same_v<T, double>) return TermKind::kNumber;
  if constexpr (std::is_same_v<T, DimExpr>) return TermKind::kExtent;
  if constexpr (std::is_same_v<T, std::string>) return TermKind::kText;
  if constexpr (std::is_same_v<T, DType>) return TermKind::kType;
  if constexpr (std::is_same_v<T, I64s>) return TermKind::kIntegers;
  if constexpr (std::is_same_v<T, Dims>) return TermKind::kExtents;
  return TermKind::kAny;
}

// The function of a word that calls `kFunction`.
template <auto kFunction, typename R, typename... Args>
struct WordOf {
  using Result = typename UnwrapOptional<R>::Type;  // what it returns if it has a value

  // Calls the function with arguments that are read from terms.
  template <size_t... I>
  static TermValue Run(std::span<const TermValue> args, std::index_sequence<I...>) {
    std::tuple<std::remove_cvref_t<Args>...> read;
    if (!(Read(args[I], std::get<I>(read)) && ...)) return {};
    return Wrap(kFunction(std::get<I>(read)...));
  }
  // As Word::compute.
  static TermValue Compute(std::span<const TermValue> args) {
    return Run(args, std::index_sequence_for<Args...>());
  }
  // The value of a term for what the function returned.
  static TermValue Wrap(R result) {
    if constexpr (!std::is_same_v<R, Result>) {
      return result ? WrapOne(*std::move(result)) : TermValue();
    } else {
      return WrapOne(std::move(result));
    }
  }
  // The same for a result that is there.
  static TermValue WrapOne(Result result) {
    if constexpr (std::is_same_v<Result, TermValue>) {
      return result;
    } else if constexpr (std::is_same_v<Result, Value>) {
      return {{}, result};
    } else {
      return {WrapValue(std::move(result)), {}};
    }
  }
};

// A word for a C++ function, whose arguments and result say the kinds.
template <auto kFunction, typename R, typename... Args>
constexpr Word MakeWordOf(std::string_view name, std::string_view summary, R (*)(Args...)) {
  static_assert(sizeof...(Args) <= Word::kMostParameters);
  Word word{name, summary, KindOf<typename UnwrapOptional<R>::Type>()};
  word.least = word.most = static_cast<int>(sizeof...(Args));
  word.parameters = {KindOf<std::remove_cvref_t<Args>>()...};
  word.compute = &WordOf<kFunction, R, Args...>::Compute;
  return word;
}
// A word that calls a C++ function of Value, bool, int64_t, double, DimExpr, std::string, DType,
// I64s and Dims, by value or const reference. The function may return an optional.
template <auto kFunction>
constexpr Word MakeWord(std::string_view name, std::string_view summary) {
  return MakeWordOf<kFunction>(name, summary, kFunction);
}

}  // namespace tenon::drr

#endif  // TENON_DRR_RULE_TERM_H_
