#include "drr/rule/condition.h"

#include <algorithm>

#include "drr/rule/words.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "ir/core/guarded_read.h"
#include "ir/core/operation.h"

namespace tenon::drr {
namespace {

std::string NameOf(const Val& val) {
  const ValNode& node = *val.ref().node;
  if (!node.name.empty()) return node.name;
  return node.kind == ValNode::Kind::kOp ? node.op : "the matched value";
}

Condition Make(std::string text, const Val& val, const std::function<bool(Value)>& holds,
               const std::function<std::string(Value)>& why, ConditionNode::Asks asks,
               int64_t number = 0, int rank = -1, DType dtype = DType::kInvalid) {
  ConditionNode node;
  node.asks = asks;
  node.number = number;
  node.text = std::move(text);
  node.args = {ArgTraits<Val>::Ref(val)};
  node.holds = [holds](std::span<const BoundArg> args) { return holds(args[0].value); };
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

// All conjuncts of a condition as one predicate.
bool All(const std::vector<std::shared_ptr<const ConditionNode>>& nodes,
         std::span<const BoundArg> args) {
  size_t at = 0;
  for (const auto& node : nodes) {
    if (!node->holds(args.subspan(at, node->args.size()))) return false;
    at += node->args.size();
  }
  return true;
}

std::string Join(const Condition& c) {
  std::string text;
  for (const auto& node : c.nodes()) text += (text.empty() ? "" : " && ") + node->text;
  return c.nodes().size() > 1 ? "(" + text + ")" : text;
}

// Shapes bind dimensions of the rule, which is no question with an answer of its own: a predicate
// of them has no function, and is refused where the rule is compiled.
bool IsPredicate(const Condition& c) {
  return std::all_of(c.nodes().begin(), c.nodes().end(),
                     [](const auto& node) { return node->holds != nullptr; });
}

Condition ImplyConstant(const Condition& condition) {
  ConditionNode node = *condition.nodes()[0];
  node.constant = node.implies_constant = true;
  return Condition(std::move(node));
}

void AppendArgs(const Condition& c, std::vector<ArgRef>& args) {
  for (const auto& node : c.nodes()) args.insert(args.end(), node->args.begin(), node->args.end());
}

// The same for one of several: it may read what is not there where another holds.
bool AllHold(const std::vector<std::shared_ptr<const ConditionNode>>& nodes,
             std::span<const BoundArg> args) {
  return GuardedRead([&] { return All(nodes, args); }).value_or(false);
}

}  // namespace

bool Holds(const ConditionNode& predicate, std::span<const BoundArg> args) {
  return GuardedRead([&] { return predicate.holds(args); }).value_or(false);
}

Condition operator&&(const Condition& a, const Condition& b) {
  Condition both = a;
  both.nodes_.insert(both.nodes_.end(), b.nodes_.begin(), b.nodes_.end());
  return both;
}

Condition operator||(const Condition& a, const Condition& b) {
  ConditionNode node;
  node.text = fmt::format("({} || {})", Join(a), Join(b));
  AppendArgs(a, node.args);
  size_t split = node.args.size();
  AppendArgs(b, node.args);
  node.asks = ConditionNode::Asks::kEither;
  node.parts = {a.nodes(), b.nodes()};
  if (!IsPredicate(a) || !IsPredicate(b)) return Condition(std::move(node));
  node.holds = [a = a.nodes(), b = b.nodes(), split](std::span<const BoundArg> args) {
    return AllHold(a, args.first(split)) || AllHold(b, args.subspan(split));
  };
  return Condition(std::move(node));
}

Condition operator!(const Condition& a) {
  ConditionNode node;
  node.text = "!" + Join(a);
  AppendArgs(a, node.args);
  node.asks = ConditionNode::Asks::kNot;
  node.parts = {a.nodes()};
  if (!IsPredicate(a)) return Condition(std::move(node));
  node.holds = [a = a.nodes()](std::span<const BoundArg> args) { return !All(a, args); };
  return Condition(std::move(node));
}

Condition Rank(const Val& val, int rank) {
  return Make(
      fmt::format("rank({}) == {}", NameOf(val), rank), val,
      [rank](Value v) { return v.type().is_tensor() && v.type().rank() == rank; }, RankText,
      ConditionNode::Asks::kRank, rank, rank);
}

Condition RankAtLeast(const Val& val, int rank) {
  return Make(
      fmt::format("rank({}) >= {}", NameOf(val), rank), val,
      [rank](Value v) { return v.type().is_tensor() && v.type().rank() >= rank; }, RankText,
      ConditionNode::Asks::kRankAtLeast, rank, rank);
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
  node.holds = [](std::span<const BoundArg> args) {
    Type first = args[0].value.type();
    if (!first.is_tensor()) return false;
    for (const BoundArg& arg : args) {
      Type type = arg.value.type();
      if (!type.is_tensor() || type.dtype() != first.dtype() || type.rank() != first.rank())
        return false;
      for (int64_t i = 0; i < type.rank(); ++i) {
        if (!DimExpr::ProvablyEqual(type.dim(i), first.dim(i))) return false;
      }
    }
    return true;
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
  node.holds = [](std::span<const BoundArg> args) {
    Type s = args[0].value.type(), t = args[1].value.type();
    if (!s.is_tensor() || !t.is_tensor() || s.rank() != t.rank()) return false;
    for (int64_t i = 0; i < s.rank(); ++i) {
      if (!DimExpr::ProvablyEqual(s.dim(i), t.dim(i))) return false;
    }
    return true;
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
                            [axis, extent](Value v) {
                              Type type = v.type();
                              if (!type.is_tensor() || type.rank() < (axis < 0 ? -axis : axis + 1))
                                return false;
                              return type.dim(axis).is_constant(extent);
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
  never.holds = [](std::span<const BoundArg>) { return false; };
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
    AppendArgs(condition, node.args);
    node.asks = ConditionNode::Asks::kEither;
    node.parts = {condition.nodes()};
    if (IsPredicate(condition)) {
      node.holds = [all = condition.nodes()](std::span<const BoundArg> args) {
        return AllHold(all, args);
      };
    }
  }
  node.text = node.words = std::move(words);
  return Condition(std::move(node));
}

Condition MakePredicate(std::string text, std::vector<ArgRef> args,
                        std::function<bool(std::span<const BoundArg>)> holds) {
  ConditionNode node;
  node.text = std::move(text);
  node.args = std::move(args);
  node.holds = std::move(holds);
  return Condition(std::move(node));
}

}  // namespace tenon::drr
