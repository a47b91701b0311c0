#include "drr/text.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "drr/text_lexer.h"
#include "fmt/format.h"
#include "ir/core/check.h"

namespace tenon::drr {
namespace {

class Parser {
 public:
  Parser(std::string_view text, const std::string& file, Context& context)
      : file_(file), context_(context), lexer_(text) {
    Next();
  }

  absl::StatusOr<std::vector<Rule>> Run() {
    std::vector<Rule> rules;
    while (token_.kind != Token::Kind::kEnd) {
      TENON_ASSIGN_OR_RETURN(Rule rule, ParseRule());
      rules.push_back(std::move(rule));
    }
    return rules;
  }

 private:
  // ---- tokens
  void Next() { token_ = lexer_.Next(); }
  absl::Status Error(const std::string& message) const {
    return absl::InvalidArgumentError(
        fmt::format("{}:{}:{}: {}", file_, token_.line, token_.column, message));
  }
  absl::Status Expected(std::string_view what) const {
    return Error(token_.kind == Token::Kind::kEnd
                     ? fmt::format("expected {} before the end", what)
                     : fmt::format("expected {}, got '{}'", what, token_.text));
  }
  bool Is(std::string_view sign) const {
    return token_.kind != Token::Kind::kString && token_.kind != Token::Kind::kEnd &&
           token_.text == sign;
  }
  bool Take(std::string_view sign) {
    if (!Is(sign)) return false;
    Next();
    return true;
  }
  absl::Status Require(std::string_view sign) {
    return Take(sign) ? absl::OkStatus() : Expected(fmt::format("'{}'", sign));
  }
  absl::StatusOr<std::string> Name(std::string_view what) {
    if (token_.kind != Token::Kind::kName) return Expected(what);
    std::string name(token_.text);
    Next();
    return name;
  }
  absl::StatusOr<double> Number();
  absl::StatusOr<int64_t> Integer();

  // ---- grammar
  absl::StatusOr<Rule> ParseRule();
  absl::StatusOr<Val> ParseVal();
  absl::StatusOr<Val> ParseValHere();
  absl::StatusOr<Val> ParseOp(const std::string& name, Token at);
  absl::StatusOr<OperandPattern> ParseOperand();
  absl::StatusOr<AttrRef> ParseAttr(AttrType type);
  absl::StatusOr<Dim> ParseDim();
  absl::StatusOr<Dim> ParseFactor();
  absl::StatusOr<std::vector<Dim>> ParseDims();
  absl::StatusOr<Condition> ParseConditions();
  absl::StatusOr<Condition> ParseCondition();
  absl::StatusOr<Val> ParenthesizedVal();
  const OpInfo* FindOp(const std::string& name) const;

  Val Variable(const std::string& name, bool constant = false) {
    auto it = vals_.find(name);
    if (it != vals_.end()) return it->second;
    return vals_.emplace(name, constant ? Const(name.c_str()) : Val(name.c_str())).first->second;
  }
  AttrRef AttrVariable(const std::string& name) {
    AttrRef& attr = attrs_[name];
    if (attr == nullptr) attr = Attr<double>(name.c_str()).node();
    return attr;
  }

  std::string file_;
  Context& context_;
  TextLexer lexer_;
  Token token_;
  int depth_ = 0;
  static constexpr int kMaxDepth = 200;
  std::map<std::string, Val> vals_;
  std::map<std::string, AttrRef> attrs_;
  std::map<std::string, Dim> dims_;
};

absl::StatusOr<double> Parser::Number() {
  double sign = 1;
  std::string_view text = token_.text;
  if (text.starts_with('-')) sign = -1, text.remove_prefix(1);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (token_.kind == Token::Kind::kString || error != std::errc() ||
      end != text.data() + text.size()) {
    return Expected("a number");
  }
  Next();
  return sign * value;
}

absl::StatusOr<int64_t> Parser::Integer() {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), value);
  if (token_.kind != Token::Kind::kNumber || error != std::errc() ||
      end != token_.text.data() + token_.text.size()) {
    return Expected("a whole number");
  }
  Next();
  return value;
}

const OpInfo* Parser::FindOp(const std::string& name) const {
  if (name.find('.') != std::string::npos) return context_.FindOp(name);
  for (const char* dialect : {"ten.", "nn.", "core."}) {
    if (const OpInfo* info = context_.FindOp(dialect + name)) return info;
  }
  return nullptr;
}

absl::StatusOr<Dim> Parser::ParseFactor() {
  if (Is("(")) {
    if (depth_ >= kMaxDepth) return Error("nested too deeply");
    Next();
    ++depth_;
    TENON_ASSIGN_OR_RETURN(Dim dim, ParseDim());
    --depth_;
    TENON_RETURN_IF_ERROR(Require(")"));
    return dim;
  }
  if (Take("?")) return AnyDim();
  if (token_.kind == Token::Kind::kNumber) {
    TENON_ASSIGN_OR_RETURN(int64_t value, Integer());
    return Dim(value);
  }
  TENON_ASSIGN_OR_RETURN(std::string name, Name("a dimension"));
  return dims_.try_emplace(name, name.c_str()).first->second;
}

absl::StatusOr<Dim> Parser::ParseDim() {
  auto product = [&]() -> absl::StatusOr<Dim> {
    TENON_ASSIGN_OR_RETURN(Dim left, ParseFactor());
    while (Take("*")) {
      TENON_ASSIGN_OR_RETURN(Dim right, ParseFactor());
      left = left * right;
    }
    return left;
  };
  TENON_ASSIGN_OR_RETURN(Dim left, product());
  while (Is("+") || Is("-")) {
    const bool plus = Is("+");
    Next();
    TENON_ASSIGN_OR_RETURN(Dim right, product());
    left = plus ? left + right : left - right;
  }
  return left;
}

absl::StatusOr<std::vector<Dim>> Parser::ParseDims() {
  std::vector<Dim> dims;
  TENON_RETURN_IF_ERROR(Require("{"));
  while (!Is("}")) {
    if (!dims.empty()) TENON_RETURN_IF_ERROR(Require(","));
    TENON_ASSIGN_OR_RETURN(Dim dim, ParseDim());
    dims.push_back(dim);
  }
  Next();
  return dims;
}

absl::StatusOr<AttrRef> Parser::ParseAttr(AttrType type) {
  if (token_.kind == Token::Kind::kString) {
    AttrRef attr = MakeLiteral(std::string(token_.text));
    Next();
    return attr;
  }
  if (Take("any")) return MakeAnyAttr();
  if (Take("true")) return MakeLiteral(true);
  if (Take("false")) return MakeLiteral(false);
  if (Is("{") && type == AttrType::kDims) {
    TENON_ASSIGN_OR_RETURN(std::vector<Dim> dims, ParseDims());
    return MakeDimsAttr(dims);
  }
  if (Take("{")) {
    I64s ints;
    F32s floats;
    while (!Is("}")) {
      if (!ints.empty() || !floats.empty()) TENON_RETURN_IF_ERROR(Require(","));
      if (type == AttrType::kF32s) {
        TENON_ASSIGN_OR_RETURN(double value, Number());
        floats.push_back(static_cast<float>(value));
      } else {
        TENON_ASSIGN_OR_RETURN(int64_t value, Integer());
        ints.push_back(value);
      }
    }
    Next();
    return type == AttrType::kF32s ? MakeLiteral(floats) : MakeLiteral(ints);
  }
  if (token_.kind == Token::Kind::kNumber || Is("inf")) {
    const bool whole = token_.text.find_first_of(".ein") == std::string_view::npos;
    if (type == AttrType::kI64 || (type == AttrType::kAny && whole)) {
      TENON_ASSIGN_OR_RETURN(int64_t value, Integer());
      return MakeLiteral(value);
    }
    TENON_ASSIGN_OR_RETURN(double value, Number());
    return MakeLiteral(value);
  }
  if (type == AttrType::kType) {
    for (int d = 1; d < kNumDTypes; ++d) {
      if (Take(tenon::Name(static_cast<DType>(d)))) return MakeLiteral(static_cast<DType>(d));
    }
  }
  TENON_ASSIGN_OR_RETURN(std::string name, Name("a value"));
  if (std::isupper(static_cast<unsigned char>(name[0]))) {
    return MakeDimAttr(dims_.try_emplace(name, name.c_str()).first->second);
  }
  return AttrVariable(name);
}

absl::StatusOr<OperandPattern> Parser::ParseOperand() {
  if (Take("maybe")) {
    TENON_ASSIGN_OR_RETURN(Val val, ParenthesizedVal());
    return OperandPattern{val.ref(), true};
  }
  TENON_ASSIGN_OR_RETURN(Val val, ParseVal());
  return OperandPattern{val.ref(), false};
}

absl::StatusOr<Val> Parser::ParenthesizedVal() {
  TENON_RETURN_IF_ERROR(Require("("));
  TENON_ASSIGN_OR_RETURN(Val val, ParseVal());
  TENON_RETURN_IF_ERROR(Require(")"));
  return val;
}

absl::StatusOr<Val> Parser::ParseOp(const std::string& name, Token at) {
  const OpInfo* info = FindOp(name);
  if (info == nullptr) {
    token_ = at;
    return Error(fmt::format("there is no op '{}'", name));
  }
  const OpDef& def = info->def();
  std::vector<std::vector<OperandPattern>> groups(def.operands.size());
  TENON_RETURN_IF_ERROR(Require("("));
  for (size_t g = 0; !Is(")");) {
    if (g >= groups.size())
      return Error(fmt::format("{} has only {} operands", info->name(), groups.size()));
    if (!Take("none")) {
      TENON_ASSIGN_OR_RETURN(OperandPattern operand, ParseOperand());
      groups[g].push_back(std::move(operand));
    }
    if (def.operands[g].arity != Arity::kVariadic) ++g;
    if (!Is(")")) TENON_RETURN_IF_ERROR(Require(","));
  }
  Next();
  for (size_t g = 0; g < groups.size(); ++g) {
    if (def.operands[g].arity == Arity::kSingle && groups[g].empty()) {
      return Error(fmt::format("{} needs its operand '{}'", info->name(), def.operands[g].name));
    }
  }
  std::vector<std::pair<std::string, AttrRef>> attrs;
  if (Take("{")) {
    while (!Is("}")) {
      if (!attrs.empty()) TENON_RETURN_IF_ERROR(Require(","));
      Token attr_at = token_;
      TENON_ASSIGN_OR_RETURN(std::string attr, Name("an attribute"));
      const int slot = info->FindSlot(attr);
      if (slot < 0 || slot == info->segment_slot()) {
        token_ = attr_at;
        return Error(fmt::format("{} has no attribute '{}'", info->name(), attr));
      }
      TENON_RETURN_IF_ERROR(Require("="));
      TENON_ASSIGN_OR_RETURN(AttrRef value, ParseAttr(def.attrs[static_cast<size_t>(slot)].type));
      attrs.emplace_back(attr, std::move(value));
    }
    Next();
  }
  return MakeOp(info->name(), std::move(groups), attrs);
}

absl::StatusOr<Val> Parser::ParseVal() {
  if (depth_ >= kMaxDepth) return Error("nested too deeply");
  ++depth_;
  absl::StatusOr<Val> val = ParseValHere();
  --depth_;
  return val;
}

absl::StatusOr<Val> Parser::ParseValHere() {
  const Token at = token_;
  if (Take("(")) {
    TENON_ASSIGN_OR_RETURN(Val inner, ParseVal());
    while (Take("let")) {
      TENON_ASSIGN_OR_RETURN(std::string name, Name("an attribute variable"));
      TENON_RETURN_IF_ERROR(Require("="));
      TENON_ASSIGN_OR_RETURN(AttrRef value, ParseAttr(AttrType::kAny));
      inner = MakeLet(inner, AttrVariable(name), std::move(value));
    }
    TENON_RETURN_IF_ERROR(Require(")"));
    return inner;
  }
  TENON_ASSIGN_OR_RETURN(std::string name, Name("a value"));
  if (name == "const" || name == "each") {
    TENON_ASSIGN_OR_RETURN(std::string variable, Name("a name"));
    if (name == "const") return Variable(variable, true);
    auto it = vals_.find(variable);
    return it != vals_.end() ? it->second
                             : vals_.emplace(variable, Each(variable.c_str())).first->second;
  }
  if (name == "splat") {
    TENON_RETURN_IF_ERROR(Require("("));
    TENON_ASSIGN_OR_RETURN(AttrRef value, ParseAttr(AttrType::kF64));
    TENON_RETURN_IF_ERROR(Require(")"));
    return MakeSplat(std::move(value));
  }
  if (name == "any" && Take("(")) {
    std::vector<ValRef> alternatives;
    do {
      TENON_ASSIGN_OR_RETURN(Val alternative, ParseVal());
      alternatives.push_back(alternative.ref());
    } while (Take("|"));
    TENON_RETURN_IF_ERROR(Require(")"));
    return MakeAnyOf(std::move(alternatives));
  }
  Val val = Is("(") ? Val("") : Variable(name);
  if (Is("(")) {
    TENON_ASSIGN_OR_RETURN(Val op, ParseOp(name, at));
    val = op;
  }
  if (Take("#")) {
    TENON_ASSIGN_OR_RETURN(int64_t index, Integer());
    val = val.result(static_cast<int>(index));
  }
  return val;
}

absl::StatusOr<Condition> Parser::ParseCondition() {
  if (Take("!")) {
    if (Is("!")) return Error("a condition is negated once");
    TENON_ASSIGN_OR_RETURN(Condition condition, ParseCondition());
    return !condition;
  }
  const Token at = token_;
  TENON_ASSIGN_OR_RETURN(std::string name, Name("a condition"));
  TENON_RETURN_IF_ERROR(Require("("));
  std::vector<Val> vals;
  int64_t axis = 0;
  do {
    if (name == "dim" && vals.size() == 1) {
      TENON_ASSIGN_OR_RETURN(axis, Integer());
      break;
    }
    TENON_ASSIGN_OR_RETURN(Val val, ParseVal());
    vals.push_back(val);
  } while (Take(","));
  TENON_RETURN_IF_ERROR(Require(")"));
  if (name == "constant") return IsConstant(vals[0]);
  if (name == "float") return IsFloat(vals[0]);
  if (name == "same_type") return SameTypes(vals);
  if (name == "rank") {
    const bool least = Is(">=");
    if (!least && !Is("==")) return Expected("'==' or '>='");
    Next();
    TENON_ASSIGN_OR_RETURN(int64_t rank, Integer());
    return least ? RankAtLeast(vals[0], static_cast<int>(rank))
                 : Rank(vals[0], static_cast<int>(rank));
  }
  if (name == "dtype") {
    TENON_RETURN_IF_ERROR(Require("=="));
    for (int d = 1; d < kNumDTypes; ++d) {
      if (Take(tenon::Name(static_cast<DType>(d)))) return DTypeIs(vals[0], static_cast<DType>(d));
    }
    return Expected("an element type");
  }
  if (name == "dim") {
    TENON_RETURN_IF_ERROR(Require("=="));
    TENON_ASSIGN_OR_RETURN(int64_t extent, Integer());
    return DimIs(vals[0], static_cast<int>(axis), extent);
  }
  if (name == "shape") {
    TENON_RETURN_IF_ERROR(Require("=="));
    if (Take("shape")) {
      TENON_ASSIGN_OR_RETURN(Val other, ParenthesizedVal());
      return SameShape(vals[0], other);
    }
    TENON_ASSIGN_OR_RETURN(std::vector<Dim> dims, ParseDims());
    return ShapeIs(vals[0], dims);
  }
  token_ = at;
  return Error(fmt::format("there is no condition '{}'", name));
}

absl::StatusOr<Condition> Parser::ParseConditions() {
  TENON_ASSIGN_OR_RETURN(Condition all, ParseCondition());
  while (Take("&&")) {
    TENON_ASSIGN_OR_RETURN(Condition one, ParseCondition());
    all = all && one;
  }
  return all;
}

absl::StatusOr<Rule> Parser::ParseRule() {
  vals_.clear();
  attrs_.clear();
  dims_.clear();
  TENON_RETURN_IF_ERROR(Require("rule"));
  const int line = token_.line;
  TENON_ASSIGN_OR_RETURN(std::string name, Name("the name of the rule"));
  Rule rule(name, file_.c_str(), line);
  TENON_RETURN_IF_ERROR(Require("{"));
  while (!Take("}")) {
    if (Take("let")) {
      TENON_ASSIGN_OR_RETURN(std::string part, Name("a name"));
      TENON_RETURN_IF_ERROR(Require("="));
      TENON_ASSIGN_OR_RETURN(Val val, ParseVal());
      if (!vals_.emplace(part, val).second)
        return Error(fmt::format("'{}' has a meaning already", part));
    } else if (Take("match")) {
      do {
        TENON_ASSIGN_OR_RETURN(Val val, ParseVal());
        rule = std::move(rule).Match({val});
      } while (Take(","));
    } else if (Take("replace")) {
      do {
        TENON_ASSIGN_OR_RETURN(Val val, ParseVal());
        rule = std::move(rule).Replace({val});
      } while (Take(","));
    } else if (Take("keep")) {
      TENON_ASSIGN_OR_RETURN(Val val, ParseVal());
      rule = std::move(rule).Keep(val);
    } else if (Take("where")) {
      TENON_ASSIGN_OR_RETURN(Condition condition, ParseConditions());
      rule = std::move(rule).Where(condition);
    } else if (Take("benefit")) {
      TENON_ASSIGN_OR_RETURN(int64_t benefit, Integer());
      rule = std::move(rule).Benefit(static_cast<int>(benefit));
    } else if (Is("summary") || Is("lowers")) {
      const bool summary = Is("summary");
      Next();
      if (token_.kind != Token::Kind::kString) return Expected("a text in quotes");
      rule = summary ? std::move(rule).Summary(token_.text) : std::move(rule).Lowers(token_.text);
      Next();
    } else if (Take("requires")) {
      TENON_RETURN_IF_ERROR(Require("kernel"));
      rule = std::move(rule).RequireKernel();
    } else {
      return Expected(
          "let, match, where, keep, replace, benefit, summary, lowers, requires or '}'");
    }
  }
  return rule;
}

}  // namespace

absl::StatusOr<std::vector<Rule>> ParseRules(std::string_view text, const std::string& file,
                                             Context& context) {
  return Parser(text, file, context).Run();
}

}  // namespace tenon::drr
