// Expressions in the text of rules: conditions and terms.
#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

#include "drr/text/text_parser.h"
#include "fmt/format.h"
#include "ir/base/limits.h"
#include "ir/base/suggest.h"

namespace tenon::drr {
namespace {

// What no program can have, of the operands of a comparison; empty if it may be.
std::string Impossible(const TermNode& asked, const TermNode& number) {
  if (asked.kind != TermNode::Kind::kCall || number.kind == TermNode::Kind::kCall ||
      number.kind == TermNode::Kind::kList)
    return "";
  const std::string_view word = asked.word->name;
  if (word == "dtype" && !std::holds_alternative<DType>(number.literal))
    return "expected an element type such as f32, i64 or i1";
  if (number.kind != TermNode::Kind::kLiteral) return "";
  const int64_t* integer = std::get_if<int64_t>(&number.literal);
  if (word == "rank" && (integer == nullptr || *integer < 0 || *integer > kMaxRank))
    return fmt::format("expected a number from 0 to {}", kMaxRank);
  return "";
}

// How strongly an operator between two operands binds; 0 for all else.
int BindingOfSign(const Token& token) {
  if (token.kind == Token::Kind::kString) return 0;
  const std::string_view sign = token.text;
  if (sign == "||") return 1;
  if (sign == "&&") return 2;
  for (const char* comparison : {"==", "!=", "<", "<=", ">", ">=", "in"})
    if (sign == comparison) return 3;
  if (sign == "+" || sign == "-") return 4;
  return sign == "*" || sign == "/" || sign == "%" ? 5 : 0;
}

// A list of ones and others stands only on the right of ==, and '?' only in shapes.
bool IsWhole(const TermNode& node, bool compared) {
  if (node.kind == TermNode::Kind::kArgument)
    return !node.argument.dim || node.argument.dim->kind != DimNode::Kind::kAny;
  if (node.kind == TermNode::Kind::kOnes || node.kind == TermNode::Kind::kRest) return false;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const TermNode& operand = *node.operands[i];
    if (compared && i == 0 && operand.kind == TermNode::Kind::kOnes) continue;
    const bool right_side = node.kind == TermNode::Kind::kCall && node.word->name == "==" &&
                            i == 1 && operand.kind == TermNode::Kind::kList;
    if (!IsWhole(operand, right_side)) return false;
  }
  return true;
}

// kAny if it is no literal.
TermKind KindOfLiteral(const TermNode& node) {
  if (node.kind != TermNode::Kind::kLiteral) return TermKind::kAny;
  if (std::holds_alternative<bool>(node.literal)) return TermKind::kFlag;
  if (std::holds_alternative<int64_t>(node.literal)) return TermKind::kInteger;
  if (std::holds_alternative<double>(node.literal)) return TermKind::kNumber;
  if (std::holds_alternative<std::string>(node.literal)) return TermKind::kText;
  return std::holds_alternative<DType>(node.literal) ? TermKind::kType : TermKind::kAny;
}

bool IsFlag(const TermNode& node) {
  return node.kind == TermNode::Kind::kCall && node.word->result == TermKind::kFlag;
}

bool MayBeFlag(const TermNode& node) {
  switch (node.kind) {
    case TermNode::Kind::kLiteral:
      return false;
    case TermNode::Kind::kArgument:
      return node.argument.attr != nullptr;
    case TermNode::Kind::kCall:
      return IsFlag(node) || (node.word->result == TermKind::kAny &&
                              (!IsOperator(*node.word) || node.word->name == "if"));
    default:
      return false;
  }
}

}  // namespace

const Word* RuleTextParser::FindWord(const std::string& name) const {
  if (name == "if") return FindOperator(name, 2);
  if (name == "exists") return FindOperator(name, 1);
  for (const std::span<const Word> words : {BaseWords(), facts_}) {
    for (const Word& word : words)
      if (word.name == name) return &word;
  }
  return nullptr;
}

absl::Status RuleTextParser::CheckWhole(const Term& term, const Token& at) const {
  if (AsDims(*term.node()) || IsWhole(*term.node(), false)) return absl::OkStatus();
  return ErrorAt(
      at,
      "'?', '...' and '1...' stand only in the shape that a shape is compared with, '...' "
      "once");
}

absl::StatusOr<Condition> RuleTextParser::AsCondition(const Expr& expr, const Token& at) const {
  if (expr.condition) return *expr.condition;
  const TermNode& node = *expr.term->node();
  if (!MayBeFlag(node) || (KindsIn(*expr.term) & kFlagKind) == 0)
    return ErrorAt(at, "expected a condition, such as rank(x) == 2, got a value");
  const Condition condition(*expr.term);
  // Shapes may have unnamed dimensions.
  if (condition.nodes()[0]->kind != ConditionNode::Kind::kShape)
    TENON_RETURN_IF_ERROR(CheckWhole(*expr.term, at));
  if (condition.nodes()[0]->args.empty())
    return ErrorAt(at, "the condition asks about nothing that is matched");
  return condition;
}

absl::StatusOr<Term> RuleTextParser::AsTerm(const Expr& expr, const Token& at) const {
  if (expr.term) return *expr.term;
  return ErrorAt(at, "expected a value, got a condition");
}

absl::StatusOr<Condition> RuleTextParser::ParseConditions() {
  const Token at = token_;
  const bool before = std::exchange(in_conditions_, true);
  absl::StatusOr<Expr> expr = ParseExpr(1);
  in_conditions_ = before;
  TENON_RETURN_IF_ERROR(expr.status());
  return AsCondition(*expr, at);
}

absl::StatusOr<Term> RuleTextParser::ParseTerm() {
  const Token at = token_;
  const bool before = std::exchange(in_conditions_, false);
  absl::StatusOr<Expr> expr = ParseNested(1);
  in_conditions_ = before;
  TENON_RETURN_IF_ERROR(expr.status());
  return AsTerm(*expr, at);
}

absl::StatusOr<RuleTextParser::Expr> RuleTextParser::ParseNested(int level) {
  if (depth_ >= kMaxDepth) return TooDeep();
  ++depth_;
  absl::StatusOr<Expr> expr = ParseExpr(level);
  --depth_;
  return expr;
}

// The words of a condition, and what the check of rules makes of its first value.
absl::StatusOr<RuleTextParser::Expr> RuleTextParser::ParseHints(Expr expr, const Token& at) {
  if (!in_conditions_) return expr;
  const bool on_constants = Take("on");
  if (on_constants) TENON_RETURN_IF_ERROR(Require("constants"));
  const bool has_words = token_.kind == Token::Kind::kString;
  if (!on_constants && !has_words) return expr;
  TENON_ASSIGN_OR_RETURN(Condition condition, AsCondition(expr, at));
  if (has_words) {
    condition = If(std::string(token_.text), condition);
    Next();
  }
  return Expr{on_constants ? OnConstants(condition) : condition, std::nullopt};
}

absl::StatusOr<RuleTextParser::Expr> RuleTextParser::ParseJunction(int level) {
  const Token at = token_;
  const auto operand = [&]() -> absl::StatusOr<Expr> {
    if (level == 1) return ParseExpr(2);
    const Token here = token_;
    TENON_ASSIGN_OR_RETURN(Expr expr, ParseExpr(3));
    return ParseHints(std::move(expr), here);
  };
  TENON_ASSIGN_OR_RETURN(Expr left, operand());
  for (int count = 1; BindingOfSign(token_) == level; ++count) {
    if (level == 1 && count == kMaxDepth) return TooDeep();
    Next();
    const Token right_at = token_;
    TENON_ASSIGN_OR_RETURN(const Expr right, operand());
    if (in_conditions_) {
      TENON_ASSIGN_OR_RETURN(const Condition a, AsCondition(left, at));
      TENON_ASSIGN_OR_RETURN(const Condition b, AsCondition(right, right_at));
      left = {level == 1 ? a || b : a && b, std::nullopt};
      if (left.condition->nodes().size() > kMostConditions)
        return Error(fmt::format("the rule has more than {} conditions", kMostConditions));
    } else {
      if (count > kMostOperators) return TooDeep();
      TENON_ASSIGN_OR_RETURN(const Term a, AsTerm(left, at));
      TENON_ASSIGN_OR_RETURN(const Term b, AsTerm(right, right_at));
      left = {std::nullopt, level == 1 ? Or(a, b) : And(a, b)};
    }
  }
  return left;
}

absl::StatusOr<RuleTextParser::Expr> RuleTextParser::ParseExpr(int level) {
  if (level <= 2) return ParseJunction(level);
  const Token at = token_;
  TENON_ASSIGN_OR_RETURN(Expr left, ParseUnary());
  for (int count = 0;; ++count) {
    const int binding = BindingOfSign(token_);
    if (binding < level) return left;
    if (count >= kMostOperators) return TooDeep();
    const std::string sign(token_.text);
    TENON_ASSIGN_OR_RETURN(const Term a, AsTerm(left, at));
    Next();
    const Token right_at = token_;
    absl::StatusOr<Term> b = Term(0);
    if (sign == "in") {
      b = ParseList();
    } else {
      const bool before = std::exchange(in_conditions_, false);
      absl::StatusOr<Expr> right = ParseExpr(binding + 1);
      in_conditions_ = before;
      TENON_RETURN_IF_ERROR(right.status());
      b = AsTerm(*right, right_at);
    }
    TENON_RETURN_IF_ERROR(b.status());
    if (sign != "==" && sign != "!=" && sign != "in") {
      if (IsFlag(*a.node())) return ErrorAt(at, "expected a value, got a condition");
      if (IsFlag(*b->node())) return ErrorAt(right_at, "expected a value, got a condition");
    }
    if (binding == 3) {
      const std::string why = Impossible(*a.node(), *b->node());
      if (!why.empty()) return ErrorAt(right_at, fmt::format("{}, got '{}'", why, right_at.text));
    }
    TENON_RETURN_IF_ERROR(CheckOperands(sign, a, at, *b, right_at));
    left = {std::nullopt, MakeCall(*FindOperator(sign, 2), {a.node(), b->node()})};
    if (binding == 3 && BindingOfSign(token_) == 3)
      return Error("a comparison is compared (expected &&, || or parentheses)");
  }
}

absl::StatusOr<RuleTextParser::Expr> RuleTextParser::ParseUnary() {
  const Token at = token_;
  if (Take("!")) {
    if (Is("!")) return Error("a condition is negated twice (expected one '!')");
    TENON_ASSIGN_OR_RETURN(const Expr negated, ParseNested(3));
    if (!in_conditions_) {
      TENON_ASSIGN_OR_RETURN(const Term flag, AsTerm(negated, at));
      return Expr{std::nullopt, !flag};
    }
    TENON_ASSIGN_OR_RETURN(const Condition condition, AsCondition(negated, at));
    return Expr{!condition, std::nullopt};
  }
  if (Take("-")) {
    TENON_ASSIGN_OR_RETURN(const Expr negated, ParseNested(6));
    TENON_ASSIGN_OR_RETURN(const Term term, AsTerm(negated, at));
    return Expr{std::nullopt, -term};
  }
  TENON_ASSIGN_OR_RETURN(Expr expr, ParsePrimary());
  for (int count = 0; Take("["); ++count) {
    if (count >= kMaxDepth) return TooDeep();
    TENON_ASSIGN_OR_RETURN(const Term list, AsTerm(expr, at));
    TENON_ASSIGN_OR_RETURN(const Term index, ParseTerm());
    TENON_RETURN_IF_ERROR(Require("]"));
    expr = {std::nullopt, list[index]};
  }
  return expr;
}

absl::StatusOr<Term> RuleTextParser::ParseNumber() {
  const bool whole = token_.text.find_first_of(".ein") == std::string_view::npos;
  if (whole) {
    TENON_ASSIGN_OR_RETURN(const int64_t value, Integer());
    return Term(value);
  }
  TENON_ASSIGN_OR_RETURN(const double value, Number());
  return Term(value);
}

absl::StatusOr<Term> RuleTextParser::ParseList() {
  TENON_RETURN_IF_ERROR(Require("{"));
  std::vector<TermRef> operands;
  while (!Is("}")) {
    if (!operands.empty()) TENON_RETURN_IF_ERROR(Require(","));
    if (Take("...")) {
      operands.push_back(RestOfShape().node());
      continue;
    }
    TENON_ASSIGN_OR_RETURN(Term element, ParseTerm());
    if (Take("...")) {
      const int64_t* one = element.node()->kind == TermNode::Kind::kLiteral
                               ? std::get_if<int64_t>(&element.node()->literal)
                               : nullptr;
      element = one != nullptr && *one == 1 ? OnesBefore() : Spread(element);
    }
    operands.push_back(element.node());
  }
  Next();
  auto list = std::make_shared<TermNode>(*ListOf({}).node());
  list->operands = std::move(operands);
  return Term(std::move(list));
}

absl::StatusOr<RuleTextParser::Expr> RuleTextParser::ParsePrimary() {
  const Token at = token_;
  const auto term = [](const Term& made) { return Expr{std::nullopt, made}; };
  if (token_.kind == Token::Kind::kString) {
    Next();
    return term(Term(std::string(at.text).c_str()));
  }
  if (token_.kind == Token::Kind::kNumber) {
    TENON_ASSIGN_OR_RETURN(const Term number, ParseNumber());
    return term(number);
  }
  if (Is("(")) {
    Next();
    TENON_ASSIGN_OR_RETURN(Expr expr, ParseNested(1));
    TENON_RETURN_IF_ERROR(Require(")"));
    return expr;
  }
  if (Is("{")) {
    TENON_ASSIGN_OR_RETURN(const Term list, ParseList());
    return term(list);
  }
  if (Take("?")) return term(AnyDim());
  if (Take("inf")) return term(std::numeric_limits<double>::infinity());
  if (Take("true")) return term(true);
  if (Take("false")) return term(false);
  TENON_ASSIGN_OR_RETURN(const std::string name, Name(in_conditions_ ? "a condition" : "a value"));
  for (int d = 1; d < kNumDTypes; ++d)
    if (name == tenon::Name(static_cast<DType>(d))) return term(static_cast<DType>(d));
  if (!Is("(")) {
    if (name.find('-') != std::string::npos)
      return ErrorAt(at, fmt::format("'{}' is one name (expected blanks around '-')", name));
    return term(TermNamed(name, at));
  }
  TENON_ASSIGN_OR_RETURN(const Term call, ParseCall(name, at));
  return term(call);
}

Term RuleTextParser::TermNamed(const std::string& name, const Token& at) {
  if (std::isupper(static_cast<unsigned char>(name[0])) != 0) {
    const Dim dim = DimVariable(name);
    asked_dims_.emplace_back(dim.node(), at);
    return dim;
  }
  if (IsKnownVal(*scope_, name)) return Variable(name);
  const AttrRef attr = AttrVariable(name);
  if (attr->kind == AttrNode::Kind::kVariable) {
    auto node = std::make_shared<TermNode>();
    node->kind = TermNode::Kind::kArgument;
    node->argument.attr = attr;
    asked_attrs_.emplace_back(attr, at);
    return Term(std::move(node));
  }
  auto node = std::make_shared<TermNode>();
  node->literal = attr->literal;
  return Term(std::move(node));
}

absl::StatusOr<Term> RuleTextParser::ParseArgument(TermKind kind) {
  if (kind != TermKind::kValue) return ParseTerm();
  const Word* word =
      token_.kind == Token::Kind::kName ? FindWord(std::string(token_.text)) : nullptr;
  if (word != nullptr && word->result == TermKind::kValue) return ParseTerm();
  const Token at = token_;
  TENON_ASSIGN_OR_RETURN(const Val val, ParseVal());
  if (val.ref().rest)
    return ErrorAt(
        at, fmt::format("{} stands for several results (expected one value)", ToString(val.ref())));
  asked_vals_.emplace_back(val.ref(), at);
  return Term(val);
}

absl::StatusOr<Term> RuleTextParser::ParseCall(const std::string& name, const Token& at) {
  const Word* word = FindWord(name);
  if (word == nullptr) {
    std::vector<std::string> names = {"if", "exists"};
    for (const std::span<const Word> words : {BaseWords(), facts_})
      for (const Word& known : words) names.emplace_back(known.name);
    return ErrorAt(
        at, fmt::format("there is no {} '{}'{}", in_conditions_ ? "condition" : "function", name,
                        DidYouMean(name, names)));
  }
  Next();
  std::vector<TermRef> operands;
  const bool any_number = name == "same_type";
  while (!Is(")")) {
    if (!operands.empty()) TENON_RETURN_IF_ERROR(Require(","));
    const size_t i = any_number ? 0 : std::min<size_t>(operands.size(), Word::kMostParameters - 1);
    const Token operand_at = token_;
    TENON_ASSIGN_OR_RETURN(const Term operand, ParseArgument(word->parameters[i]));
    operands.push_back(operand.node());
    const TermKind wanted = word->parameters[i], given = KindOfLiteral(*operand.node());
    if (given != TermKind::kAny && wanted != TermKind::kAny && given != wanted &&
        !(given == TermKind::kInteger && wanted == TermKind::kNumber)) {
      return ErrorAt(operand_at, fmt::format("argument {} of {} is {} (expected {})",
                                             operands.size(), name, NameOf(given), NameOf(wanted)));
    }
  }
  Next();
  const auto count = static_cast<int>(operands.size());
  if (name == "if" && count == 3) word = FindOperator(name, 3);
  if (any_number ? count < 2 : count < word->least || count > word->most) {
    const std::string wanted = any_number ? "two values or more"
                               : word->least == word->most
                                   ? fmt::format("{}", word->least)
                                   : fmt::format("{} to {}", word->least, word->most);
    return ErrorAt(at, fmt::format("{} has {} argument{} (expected {})", name, count,
                                   count == 1 ? "" : "s", wanted));
  }
  return MakeCall(*word, std::move(operands));
}

}  // namespace tenon::drr
