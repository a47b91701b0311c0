#include "drr/rule/term.h"

#include <algorithm>
#include <cmath>

#include "absl/container/inlined_vector.h"
#include "drr/rule/term_values.h"
#include "ir/base/guarded_read.h"

namespace tenon::drr {
namespace {

TermRef MakeList(TermNode::Kind kind, std::vector<TermRef> operands) {
  auto node = std::make_shared<TermNode>();
  node->kind = kind;
  node->operands = std::move(operands);
  return node;
}

Term Operator(std::string_view sign, std::vector<TermRef> operands) {
  const Word& word = *FindOperator(sign, operands.size());
  return MakeCall(word, std::move(operands));
}

TermValue FromArgument(const BoundArg& arg) {
  if (arg.absent) return {};
  if (arg.value) return {{}, arg.value};
  if (arg.dim) return {SimpleExtent(arg.dim), {}};
  return {ToAttrValue(arg), {}};
}

bool SameArgument(const ArgRef& a, const ArgRef& b) {
  return a.val == b.val && a.result == b.result && a.attr == b.attr && a.dim == b.dim;
}

// Nullopt if it is no flag, or has no value.
Truth Flag(const TermValue& value) {
  const bool* flag = std::get_if<bool>(&value.data);
  return flag != nullptr ? std::optional(*flag) : std::nullopt;
}

TermValue FromFlag(Truth flag) { return flag ? TermValue{*flag, {}} : TermValue(); }

}  // namespace

Term::Term(ArgRef argument) {
  auto node = std::make_shared<TermNode>();
  node->kind = TermNode::Kind::kArgument;
  node->argument = std::move(argument);
  node_ = std::move(node);
}

Term::Term(AttrValue literal, int) {
  auto node = std::make_shared<TermNode>();
  node->literal = std::move(literal);
  node_ = std::move(node);
}

// Expressions of dimensions become expressions of terms.
Term::Term(const Dim& dim) {
  const DimNode& node = *dim.node();
  const auto both = [&](std::string_view sign) {
    return Operator(sign, {Term(Dim(node.a)).node(), Term(Dim(node.b)).node()}).node();
  };
  switch (node.kind) {
    case DimNode::Kind::kConstant:
      node_ = Term(node.value).node();
      return;
    case DimNode::Kind::kAdd:
      node_ = both("+");
      return;
    case DimNode::Kind::kSub:
      node_ = both("-");
      return;
    case DimNode::Kind::kMul:
      node_ = both("*");
      return;
    case DimNode::Kind::kVariable:
    case DimNode::Kind::kAny:
      node_ = Term(ArgTraits<Dim>::Ref(dim)).node();
  }
}

std::optional<Dim> AsDim(const TermNode& term) {
  if (term.kind == TermNode::Kind::kLiteral) {
    const int64_t* number = std::get_if<int64_t>(&term.literal);
    return number != nullptr ? std::optional<Dim>(*number) : std::nullopt;
  }
  if (term.kind == TermNode::Kind::kArgument)
    return term.argument.dim ? std::optional<Dim>(Dim(term.argument.dim)) : std::nullopt;
  if (term.kind != TermNode::Kind::kCall || term.operands.size() != 2) return std::nullopt;
  const std::string_view sign = term.word->name;
  if (sign != "+" && sign != "-" && sign != "*") return std::nullopt;
  const std::optional<Dim> a = AsDim(*term.operands[0]), b = AsDim(*term.operands[1]);
  if (!a || !b) return std::nullopt;
  return sign == "+" ? *a + *b : sign == "-" ? *a - *b : *a * *b;
}

std::optional<std::vector<Dim>> AsDims(const TermNode& term) {
  if (term.kind != TermNode::Kind::kList) return std::nullopt;
  std::vector<Dim> dims;
  for (const TermRef& operand : term.operands) {
    const std::optional<Dim> dim = AsDim(*operand);
    if (!dim) return std::nullopt;
    dims.push_back(*dim);
  }
  return dims;
}

Term Term::operator[](const Term& index) const { return Operator("[]", {node_, index.node()}); }

Term MakeCall(const Word& word, std::vector<TermRef> operands) {
  auto node = std::make_shared<TermNode>();
  node->kind = TermNode::Kind::kCall;
  node->word = &word;
  node->operands = std::move(operands);
  return Term(std::move(node));
}

Term operator+(const Term& a, const Term& b) { return Operator("+", {a.node(), b.node()}); }
Term operator-(const Term& a, const Term& b) { return Operator("-", {a.node(), b.node()}); }
Term operator*(const Term& a, const Term& b) { return Operator("*", {a.node(), b.node()}); }
Term operator/(const Term& a, const Term& b) { return Operator("/", {a.node(), b.node()}); }
Term operator%(const Term& a, const Term& b) { return Operator("%", {a.node(), b.node()}); }
Term operator-(const Term& a) { return Operator("-", {a.node()}); }
Term operator!(const Term& flag) { return Operator("!", {flag.node()}); }

Term ListOf(std::initializer_list<Term> terms) {
  std::vector<TermRef> operands;
  for (const Term& term : terms) operands.push_back(term.node());
  return Term(MakeList(TermNode::Kind::kList, std::move(operands)));
}
Term Spread(const Term& list) { return Term(MakeList(TermNode::Kind::kSpread, {list.node()})); }
Term OnesBefore() { return Term(MakeList(TermNode::Kind::kOnes, {})); }
Term RestOfShape() { return Term(MakeList(TermNode::Kind::kRest, {})); }

Term Choose(const Term& flag, const Term& a, const Term& b) {
  return Operator("if", {flag.node(), a.node(), b.node()});
}
Term Choose(const Term& flag, const Term& a) { return Operator("if", {flag.node(), a.node()}); }
Term Compare(const Term& a, std::string_view sign, const Term& b) {
  return Operator(sign, {a.node(), b.node()});
}
Term And(const Term& a, const Term& b) { return Operator("&&", {a.node(), b.node()}); }
Term Or(const Term& a, const Term& b) { return Operator("||", {a.node(), b.node()}); }
Term IsIn(const Term& a, std::initializer_list<Term> elements) {
  return Operator("in", {a.node(), ListOf(elements).node()});
}

BoundTerm::BoundTerm(TermRef term) : term_(std::move(term)) { root_ = Add(term_); }

BoundTerm::Step BoundTerm::Add(const TermRef& node) {
  Step step{node.get(), 0, LazinessOf(*node), {}};
  if (node->kind == TermNode::Kind::kArgument) {
    const auto at = std::find_if(args_.begin(), args_.end(), [&](const ArgRef& arg) {
      return SameArgument(arg, node->argument);
    });
    step.argument = static_cast<size_t>(at - args_.begin());
    if (at == args_.end()) args_.push_back(node->argument);
  }
  for (const TermRef& operand : node->operands) step.operands.push_back(Add(operand));
  return step;
}

TermValue BoundTerm::EvaluateList(const Step& step, std::span<const BoundArg> bound) const {
  std::vector<AttrValue> elements;
  for (const Step& operand : step.operands) {
    if (operand.node->kind == TermNode::Kind::kOnes) continue;
    if (operand.node->kind == TermNode::Kind::kSpread) {
      const std::optional<std::vector<AttrValue>> spread =
          ElementsOf(Evaluate(operand.operands[0], bound));
      if (!spread) return {};
      elements.insert(elements.end(), spread->begin(), spread->end());
    } else {
      TermValue element = Evaluate(operand, bound);
      if (element.value || !element.has_value()) return {};
      elements.push_back(std::move(element.data));
    }
  }
  return ListOfElements(elements);
}

TermValue BoundTerm::Evaluate(const Step& step, std::span<const BoundArg> bound) const {
  const TermNode& node = *step.node;
  switch (node.kind) {
    case TermNode::Kind::kLiteral:
      return {node.literal, {}};
    case TermNode::Kind::kArgument:
      return FromArgument(bound[step.argument]);
    case TermNode::Kind::kList:
      return EvaluateList(step, bound);
    case TermNode::Kind::kSpread:
    case TermNode::Kind::kOnes:
    case TermNode::Kind::kRest:
      return {};
    case TermNode::Kind::kCall:
      break;
  }
  if (step.lazy != Lazy::kNo) return EvaluateLazily(step, bound);
  absl::InlinedVector<TermValue, Word::kMostParameters> args;
  for (const Step& operand : step.operands) {
    args.push_back(Evaluate(operand, bound));
    if (!args.back().has_value()) return {};
  }
  return GuardedRead([&] { return node.word->compute(args); }).value_or(TermValue());
}

BoundTerm::Lazy BoundTerm::LazinessOf(const TermNode& node) {
  if (node.kind != TermNode::Kind::kCall || !IsOperator(*node.word)) return Lazy::kNo;
  const std::string_view name = node.word->name;
  if (name == "if") return Lazy::kIf;
  if (name == "&&") return Lazy::kAnd;
  if (name == "||") return Lazy::kOr;
  if (name == "in") return Lazy::kIn;
  if (name == "exists") return Lazy::kExists;
  if (name != "==" || node.operands[1]->kind != TermNode::Kind::kList) return Lazy::kNo;
  const auto& elements = node.operands[1]->operands;
  const bool ones = !elements.empty() && elements[0]->kind == TermNode::Kind::kOnes;
  return ones ? Lazy::kEqualBehindOnes : Lazy::kNo;
}

TermValue BoundTerm::EvaluateLazily(const Step& step, std::span<const BoundArg> bound) const {
  TermValue first = Evaluate(step.operands[0], bound);
  if (step.lazy == Lazy::kExists) return {first.has_value(), {}};
  if (step.lazy == Lazy::kAnd || step.lazy == Lazy::kOr) {
    const Truth flag = Flag(first);
    if (first.has_value() && !flag) return {};
    if (flag && *flag == (step.lazy == Lazy::kOr)) return first;
    const Truth second = Flag(Evaluate(step.operands[1], bound));
    return FromFlag(step.lazy == Lazy::kAnd ? Both(flag, second) : Either(flag, second));
  }
  if (!first.has_value()) return {};
  if (step.lazy == Lazy::kIn) {
    Truth found = false;
    for (const Step& element : step.operands[1].operands)
      found = Either(found, Equal(first, Evaluate(element, bound)));
    return FromFlag(found);
  }
  if (step.lazy == Lazy::kEqualBehindOnes)
    return FromFlag(EqualBehindOnes(first, Evaluate(step.operands[1], bound)));
  const Truth flag = Flag(first);
  if (!flag) return {};
  const size_t chosen = *flag ? 1 : 2;
  return chosen < step.operands.size() ? Evaluate(step.operands[chosen], bound) : TermValue();
}

bool AsksPresence(const TermNode& term) {
  const bool asks = term.kind == TermNode::Kind::kCall && term.word->name == "exists";
  return asks || std::any_of(term.operands.begin(), term.operands.end(),
                             [](const TermRef& operand) { return AsksPresence(*operand); });
}

// What the other kinds of attributes say, they say.
AttrRef MakeTermAttr(const Term& term) {
  const TermNode& made = *term.node();
  if (made.kind == TermNode::Kind::kLiteral) return MakeLiteral(made.literal);
  if (made.kind == TermNode::Kind::kArgument && made.argument.attr) return made.argument.attr;
  if (const std::optional<Dim> dim = AsDim(made)) return MakeDimAttr(*dim);
  if (const auto dims = AsDims(made)) {
    const bool named = std::any_of(dims->begin(), dims->end(), [](const Dim& dim) {
      return dim.node()->kind != DimNode::Kind::kConstant;
    });
    if (named) return MakeDimsAttr(*dims);
    I64s numbers;
    for (const Dim& dim : *dims) numbers.push_back(dim.node()->value);
    return MakeLiteral(std::move(numbers));
  }
  auto bound = std::make_shared<BoundTerm>(term.node());
  auto node = std::make_shared<AttrNode>();
  node->kind = AttrNode::Kind::kCompute;
  node->term = term.node();
  node->asks_presence = AsksPresence(made);
  node->args = bound->args();
  node->compute = [bound](std::span<const BoundArg> args) -> AttrValue {
    TermValue value = bound->Evaluate(args);
    // No attribute has the extent of a symbol alone.
    if (value.value || std::holds_alternative<DimExpr>(value.data)) return {};
    return std::move(value.data);
  };
  return node;
}

const char* NameOf(TermKind kind) {
  switch (kind) {
    case TermKind::kAny:
      return "anything";
    case TermKind::kValue:
      return "a value of the graph";
    case TermKind::kFlag:
      return "true or false";
    case TermKind::kInteger:
      return "an integer";
    case TermKind::kNumber:
      return "a number";
    case TermKind::kExtent:
      return "an extent";
    case TermKind::kText:
      return "a text";
    case TermKind::kType:
      return "an element type";
    case TermKind::kIntegers:
      return "a list of integers";
    case TermKind::kExtents:
      return "a list of extents";
  }
  return "";
}

bool Read(const TermValue& from, Value& to) {
  to = from.value;
  return static_cast<bool>(to);
}
namespace {
template <typename T>
bool ReadData(const TermValue& from, T& to) {
  const T* data = std::get_if<T>(&from.data);
  if (data != nullptr) to = *data;
  return data != nullptr;
}
}  // namespace
bool Read(const TermValue& from, bool& to) { return ReadData(from, to); }
bool Read(const TermValue& from, int64_t& to) { return ReadData(from, to); }
bool Read(const TermValue& from, double& to) {
  if (ReadData(from, to)) return true;
  const int64_t* integer = std::get_if<int64_t>(&from.data);
  if (integer != nullptr) to = static_cast<double>(*integer);
  return integer != nullptr;
}
bool Read(const TermValue& from, DimExpr& to) { return ReadData(from, to); }
bool Read(const TermValue& from, std::string& to) { return ReadData(from, to); }
bool Read(const TermValue& from, DType& to) { return ReadData(from, to); }
bool Read(const TermValue& from, I64s& to) { return ReadData(from, to); }
bool Read(const TermValue& from, Dims& to) { return ReadData(from, to); }
bool Read(const TermValue& from, TermValue& to) {
  to = from;
  return true;
}

}  // namespace tenon::drr
