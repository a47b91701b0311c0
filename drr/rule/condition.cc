#include "drr/rule/condition.h"

#include <algorithm>

#include "drr/rule/term_values.h"
#include "drr/rule/words.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "ir/base/guarded_read.h"
#include "ir/core/operation.h"

namespace tenon::drr {
namespace {

std::string NameOf(const Val& val) {
  const ValNode& node = *val.ref().node;
  if (!node.name.empty()) return node.name;
  return node.kind == ValNode::Kind::kOp ? node.op : "the matched value";
}

Condition Make(std::string text, const Val& val, const std::function<Truth(Value)>& answer,
               const std::function<std::string(Value)>& why, ConditionNode::Asks asks,
               int64_t number = 0, int rank = -1, DType dtype = DType::kInvalid) {
  ConditionNode node;
  node.asks = asks;
  node.number = number;
  node.text = std::move(text);
  node.args = {ArgTraits<Val>::Ref(val)};
  node.answer = [answer](std::span<const BoundArg> args) { return answer(args[0].value); };
  node.why = [why](std::span<const BoundArg> args) { return why(args[0].value); };
  node.rank = rank;
  node.dtype = dtype;
  return Condition(std::move(node));
}

std::string TypeText(Value value) { return "it is " + value.type().text(); }

std::string RankText(Value value) {
  return value.type().is_tensor() ? fmt::format("it has rank {}", value.type().rank())
                                  : "its rank is unknown";
}

using Conjuncts = std::vector<std::shared_ptr<const ConditionNode>>;

// All conjuncts of a condition. Their arguments lie one after the other.
Truth AllOf(const Conjuncts& nodes, std::span<const BoundArg> args) {
  Truth all = true;
  size_t at = 0;
  for (const auto& node : nodes) {
    const Truth one = AnswerOf(*node, args.subspan(at, node->args.size()));
    if (one == Truth(false)) return false;
    if (!one) all = std::nullopt;
    at += node->args.size();
  }
  return all;
}

// One of several conjunctions, of which the arguments lie one after the other.
Truth OneOf(const std::vector<Conjuncts>& parts, std::span<const BoundArg> args) {
  Truth any = false;
  size_t at = 0;
  for (const Conjuncts& part : parts) {
    size_t size = 0;
    for (const auto& node : part) size += node->args.size();
    const Truth one = AllOf(part, args.subspan(at, size));
    if (one == Truth(true)) return true;
    if (!one) any = std::nullopt;
    at += size;
  }
  return any;
}

Truth Negated(Truth truth) { return truth ? Truth(!*truth) : truth; }

std::string Join(const Condition& c) {
  std::string text;
  for (const auto& node : c.nodes()) text += (text.empty() ? "" : " && ") + node->text;
  return c.nodes().size() > 1 ? "(" + text + ")" : text;
}

// Shapes bind dimensions of the rule, which is no question with an answer of its own: a predicate
// of them has no function, and is refused where the rule is compiled.
bool IsPredicate(const Condition& c) {
  return std::all_of(c.nodes().begin(), c.nodes().end(),
                     [](const auto& node) { return node->answer != nullptr; });
}

Condition ImplyConstant(const Condition& condition) {
  ConditionNode node = *condition.nodes()[0];
  node.constant = node.implies_constant = true;
  return Condition(std::move(node));
}

void AppendArgs(const Condition& c, std::vector<ArgRef>& args) {
  for (const auto& node : c.nodes()) args.insert(args.end(), node->args.begin(), node->args.end());
}

bool AskPresence(const Conjuncts& nodes) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const auto& node) { return node->asks_presence; });
}

// A condition of parts: of one with kNot, of any number with kEither.
ConditionNode MakeParts(ConditionNode::Asks asks, std::initializer_list<Condition> parts) {
  ConditionNode node;
  node.asks = asks;
  bool predicates = true;
  for (const Condition& part : parts) {
    AppendArgs(part, node.args);
    node.parts.push_back(part.nodes());
    node.asks_presence = node.asks_presence || AskPresence(part.nodes());
    predicates = predicates && IsPredicate(part);
  }
  if (!predicates) return node;
  const bool negate = asks == ConditionNode::Asks::kNot;
  node.answer = [negate, parts = node.parts](std::span<const BoundArg> args) {
    const Truth one = OneOf(parts, args);
    return negate ? Negated(one) : one;
  };
  return node;
}

}  // namespace

Truth AnswerOf(const ConditionNode& predicate, std::span<const BoundArg> args) {
  const bool whole =
      predicate.asks_presence || predicate.answer == nullptr ||
      std::none_of(args.begin(), args.end(), [](const BoundArg& arg) { return arg.absent; });
  if (!whole) return std::nullopt;
  return GuardedRead([&] { return predicate.answer(args); }).value_or(std::nullopt);
}

Condition operator&&(const Condition& a, const Condition& b) {
  Condition both = a;
  both.nodes_.insert(both.nodes_.end(), b.nodes_.begin(), b.nodes_.end());
  return both;
}

Condition operator||(const Condition& a, const Condition& b) {
  ConditionNode node = MakeParts(ConditionNode::Asks::kEither, {a, b});
  node.text = fmt::format("({} || {})", Join(a), Join(b));
  return Condition(std::move(node));
}

Condition operator!(const Condition& a) {
  ConditionNode node = MakeParts(ConditionNode::Asks::kNot, {a});
  const std::string text = Join(a);
  const bool is_plain = text[0] == '(' || text.find(' ') == std::string::npos || a.nodes().empty();
  node.text = is_plain ? "!" + text : fmt::format("!({})", text);
  return Condition(std::move(node));
}

Condition Rank(const Val& val, int rank) {
  return Make(
      fmt::format("rank({}) == {}", NameOf(val), rank), val,
      [rank](Value v) {
        return v.type().is_tensor() ? Truth(v.type().rank() == rank) : std::nullopt;
      },
      RankText, ConditionNode::Asks::kRank, rank, rank);
}

Condition RankAtLeast(const Val& val, int rank) {
  return Make(
      fmt::format("rank({}) >= {}", NameOf(val), rank), val,
      [rank](Value v) {
        return v.type().is_tensor() ? Truth(v.type().rank() >= rank) : std::nullopt;
      },
      RankText, ConditionNode::Asks::kRankAtLeast, rank, rank);
}

Condition IsConstant(const Val& val) {
  return ImplyConstant(Make(
      fmt::format("constant({})", NameOf(val)), val,
      [](Value v) {
        return v.defining_op() != nullptr && v.defining_op()->Has(Trait::kConstantLike);
      },
      [](Value v) {
        return v.defining_op() != nullptr
                   ? fmt::format("it is computed by {}", v.defining_op()->name())
                   : std::string("it is an argument");
      },
      ConditionNode::Asks::kConstant));
}

Condition DTypeIs(const Val& val, DType dtype) {
  return Make(
      fmt::format("dtype({}) == {}", NameOf(val), Name(dtype)), val,
      [dtype](Value v) { return v.type().is_any_tensor() && v.type().dtype() == dtype; }, TypeText,
      ConditionNode::Asks::kDType, 0, -1, dtype);
}

Condition IsFloat(const Val& val) {
  return Make(
      fmt::format("float({})", NameOf(val)), val,
      [](Value v) { return v.type().is_any_tensor() && tenon::IsFloat(v.type().dtype()); },
      TypeText, ConditionNode::Asks::kFloat);
}

Condition SameTypes(const std::vector<Val>& vals) {
  ConditionNode node;
  node.text = "same_type(";
  for (const Val& val : vals) {
    node.text += (node.args.empty() ? "" : ", ") + NameOf(val);
    node.args.push_back(ArgTraits<Val>::Ref(val));
  }
  node.text += ")";
  node.answer = [](std::span<const BoundArg> args) {
    Truth all = true;
    for (const BoundArg& arg : args) {
      const Truth one = SameTypes(arg.value.type(), args[0].value.type());
      if (one == Truth(false)) return one;
      if (!one) all = one;
    }
    return all;
  };
  node.why = [](std::span<const BoundArg> args) {
    std::string text = "they are";
    for (const BoundArg& arg : args) text += " " + arg.value.type().text();
    return text;
  };
  node.same_type = true;
  node.asks = ConditionNode::Asks::kSameType;
  return Condition(std::move(node));
}

Condition SameShape(const Val& a, const Val& b) {
  ConditionNode node;
  node.text = fmt::format("shape({}) == shape({})", NameOf(a), NameOf(b));
  node.args = {ArgTraits<Val>::Ref(a), ArgTraits<Val>::Ref(b)};
  node.asks = ConditionNode::Asks::kSameShape;
  node.answer = [](std::span<const BoundArg> args) {
    return EqualShapes(args[0].value.type(), args[1].value.type());
  };
  node.why = [](std::span<const BoundArg> args) {
    return fmt::format("they are {} and {}", args[0].value.type().text(),
                       args[1].value.type().text());
  };
  return Condition(std::move(node));
}

Condition ShapeIs(const Val& val, std::span<const Dim> dims, int rest) {
  ConditionNode node;
  node.kind = ConditionNode::Kind::kShape;
  node.args = {ArgTraits<Val>::Ref(val)};
  std::vector<std::string> parts;
  for (const Dim& dim : dims) {
    parts.push_back(ToString(*dim.node()));
    node.shape.push_back(dim.node());
  }
  if (rest >= 0) parts.insert(parts.begin() + rest, "...");
  node.text = fmt::format("shape({}) == {{{}}}", NameOf(val), fmt::join(parts, ", "));
  node.rest = rest;
  node.rank = rest < 0 ? static_cast<int>(dims.size()) : -1;
  return Condition(std::move(node));
}

Condition DimIs(const Val& val, int axis, int64_t extent) {
  ConditionNode node = *Make(
                            fmt::format("dim({}, {}) == {}", NameOf(val), axis, extent), val,
                            [axis, extent](Value v) -> Truth {
                              Type type = v.type();
                              if (!type.is_tensor() || type.rank() < (axis < 0 ? -axis : axis + 1))
                                return std::nullopt;
                              const DimExpr dim = type.dim(axis);
                              if (dim.is_constant()) return dim.constant() == extent;
                              return Equal({SimpleExtent(dim), {}}, {extent, {}});
                            },
                            TypeText, ConditionNode::Asks::kDim, extent)
                            .nodes()[0];
  node.axis = axis;
  return Condition(std::move(node));
}

namespace {

bool IsOfConstants(Value value, int& steps) {
  const Operation* op = value.defining_op();
  if (op == nullptr || --steps < 0) return false;
  if (op->Has(Trait::kConstantLike)) return true;
  if (op->num_operands() == 0 || op->num_regions() > 0 || !EffectsOf(*op).pure()) return false;
  for (unsigned i = 0; i < op->num_operands(); ++i)
    if (!IsOfConstants(op->operand(i), steps)) return false;
  return true;
}

}  // namespace

bool IsComputedFromConstants(Value value) {
  int steps = 64;
  return IsOfConstants(value, steps);
}

Condition FollowsFromConstants(const Val& val) {
  Condition made = ImplyConstant(Make(
      fmt::format("{} follows from constants", NameOf(val)), val,
      [](Value value) { return IsComputedFromConstants(value); },
      [](Value) { return std::string("the program computes it when it runs"); },
      ConditionNode::Asks::kOther));
  ConditionNode node = *made.nodes()[0];
  node.term = Call(BaseWord("of_constants"), val).node();
  return Condition(std::move(node));
}

const char* WordsOf(Assumption assumption) {
  switch (assumption) {
    case Assumption::kNoOverflow:
      return "may overflow";
    case Assumption::kNoInfinity:
      return "ignores infinity";
    case Assumption::kNoNegativeZero:
      return "ignores sign of zero";
    case Assumption::kNone:
      break;
  }
  return "";
}

Condition Proof(Assumption assumption, const Condition& condition) {
  Condition proof;
  for (const auto& node : condition.nodes()) {
    ConditionNode made = *node;
    made.assumption = assumption;
    proof = proof && Condition(std::move(made));
  }
  if (!condition.nodes().empty()) return proof;
  ConditionNode never;
  never.text = "nothing proves it";
  never.answer = [](std::span<const BoundArg>) { return false; };
  never.assumption = assumption;
  return Condition(std::move(never));
}

Condition OnConstants(const Condition& condition) {
  Condition all;
  for (const auto& conjunct : condition.nodes()) {
    ConditionNode node = *conjunct;
    node.constant = true;
    all = all && Condition(std::move(node));
  }
  return all;
}

Condition If(std::string words, const Condition& condition) {
  ConditionNode node;
  if (condition.nodes().size() == 1) {
    node = *condition.nodes()[0];
    node.why = nullptr;
  } else {
    node = MakeParts(ConditionNode::Asks::kEither, {condition});
  }
  node.text = node.words = std::move(words);
  return Condition(std::move(node));
}

Condition MakePredicate(std::string text, std::vector<ArgRef> args,
                        std::function<bool(std::span<const BoundArg>)> holds) {
  ConditionNode node;
  node.text = std::move(text);
  node.args = std::move(args);
  node.answer = std::move(holds);
  return Condition(std::move(node));
}

}  // namespace tenon::drr
