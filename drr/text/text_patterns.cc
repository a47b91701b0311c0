// Functions of patterns in the text of rules, and the names that they see.
#include "drr/text/text_parser.h"
#include "fmt/format.h"

namespace tenon::drr {

Val RuleTextParser::VariableOf(Scope& scope, const std::string& name, bool constant) {
  if (const auto bound = scope.bindings.find(name); bound != scope.bindings.end()) {
    if (bound->second.val) return *bound->second.val;
    if (!bound->second.name.empty()) return VariableOf(*scope.caller, bound->second.name, constant);
  }
  const auto it = scope.vals.find(name);
  if (it != scope.vals.end()) return it->second;
  const Val val = constant ? Const(name.c_str()) : Val(name.c_str());
  return scope.vals.emplace(name, val).first->second;
}

AttrRef RuleTextParser::AttrVariableOf(Scope& scope, const std::string& name) {
  if (const auto bound = scope.bindings.find(name); bound != scope.bindings.end()) {
    if (bound->second.literal != nullptr) return bound->second.literal;
    if (!bound->second.name.empty()) return AttrVariableOf(*scope.caller, bound->second.name);
  }
  AttrRef& attr = scope.attrs[name];
  if (attr == nullptr) attr = Attr<double>(name.c_str()).node();
  return attr;
}

Dim RuleTextParser::DimVariableOf(Scope& scope, const std::string& name) {
  if (const auto bound = scope.bindings.find(name); bound != scope.bindings.end()) {
    if (!bound->second.name.empty()) return DimVariableOf(*scope.caller, bound->second.name);
  }
  return scope.dims.try_emplace(name, name.c_str()).first->second;
}

bool RuleTextParser::IsKnownVal(const Scope& scope, const std::string& name) const {
  if (const auto bound = scope.bindings.find(name); bound != scope.bindings.end()) {
    if (bound->second.val) return true;
    if (!bound->second.name.empty()) return IsKnownVal(*scope.caller, bound->second.name);
  }
  return scope.vals.count(name) > 0 && scope.attrs.count(name) == 0;
}

absl::Status RuleTextParser::ParsePattern() {
  const Token at = token_;
  TENON_ASSIGN_OR_RETURN(const std::string name, Name("the name of the pattern"));
  if (FindOp(name) != nullptr) return ErrorAt(at, fmt::format("'{}' is an operation", name));
  for (const char* word : {"any", "each", "const", "splat", "repeat", "maybe", "none"})
    if (name == word) return ErrorAt(at, fmt::format("'{}' is a word of the language", name));
  if (functions_.count(name) > 0)
    return ErrorAt(at, fmt::format("there is a second pattern '{}'", name));
  Function function{{}, lexer_, token_};
  TENON_RETURN_IF_ERROR(Require("("));
  while (!Is(")")) {
    if (!function.parameters.empty()) TENON_RETURN_IF_ERROR(Require(","));
    TENON_ASSIGN_OR_RETURN(std::string parameter, Name("a name"));
    function.parameters.push_back(std::move(parameter));
  }
  Next();
  if (!Is("=")) return Expected("'='");
  Next();
  function.lexer = lexer_;
  function.token = token_;
  // Read once for its mistakes, with the parameters as variables.
  Scope scope;
  scope_ = &scope;
  const absl::Status status = ParseVal().status();
  scope_ = &rule_scope_;
  TENON_RETURN_IF_ERROR(status);
  functions_.emplace(name, std::move(function));
  return absl::OkStatus();
}

absl::StatusOr<RuleTextParser::Binding> RuleTextParser::ParseBinding() {
  if (token_.kind == Token::Kind::kNumber || token_.kind == Token::Kind::kString || Is("true") ||
      Is("false")) {
    TENON_ASSIGN_OR_RETURN(AttrRef literal, ParseAttr(AttrType::kAny));
    return Binding{"", std::nullopt, std::move(literal)};
  }
  TextLexer ahead = lexer_;
  const Token after = ahead.Next();
  if (token_.kind == Token::Kind::kName && after.kind == Token::Kind::kSign &&
      (after.text == "," || after.text == ")")) {
    std::string name(token_.text);
    Next();
    return Binding{std::move(name), std::nullopt, nullptr};
  }
  TENON_ASSIGN_OR_RETURN(Val val, ParseVal());
  return Binding{"", std::move(val), nullptr};
}

absl::StatusOr<Val> RuleTextParser::Apply(const Function& function,
                                          std::map<std::string, Binding> bindings,
                                          const Token& at) {
  if (++applied_ > kMostApplied)
    return ErrorAt(at, fmt::format("patterns are applied more than {} times", kMostApplied));
  Scope scope;
  scope.bindings = std::move(bindings);
  scope.caller = scope_;
  const Token token = std::exchange(token_, function.token);
  const TextLexer lexer = std::exchange(lexer_, function.lexer);
  scope_ = &scope;
  absl::StatusOr<Val> val = ParseVal();
  scope_ = scope.caller;
  if (val.ok()) {
    token_ = token;
    lexer_ = lexer;
  }
  return val;
}

absl::StatusOr<Val> RuleTextParser::ParsePatternCall(const std::string& name, const Token& at) {
  const Function& function = functions_.at(name);
  TENON_RETURN_IF_ERROR(Require("("));
  std::map<std::string, Binding> bindings;
  size_t count = 0;
  while (!Is(")")) {
    if (count > 0) TENON_RETURN_IF_ERROR(Require(","));
    TENON_ASSIGN_OR_RETURN(Binding binding, ParseBinding());
    if (count < function.parameters.size())
      bindings[function.parameters[count]] = std::move(binding);
    ++count;
  }
  Next();
  if (count != function.parameters.size()) {
    return ErrorAt(at, fmt::format("{} has {} argument{} (expected {})", name, count,
                                   count == 1 ? "" : "s", function.parameters.size()));
  }
  return Apply(function, std::move(bindings), at);
}

// One step of a chain: a pattern or an operation whose first argument is the chain so far. The
// others are read once, so that they are the same values in each step.
absl::StatusOr<RuleTextParser::RepeatedStep> RuleTextParser::ParseRepeatedStep() {
  RepeatedStep step{token_, nullptr, nullptr, {}};
  TENON_ASSIGN_OR_RETURN(const std::string name, Name("the name of a pattern or an operation"));
  const auto function = functions_.find(name);
  step.function = function == functions_.end() ? nullptr : &function->second;
  step.op = step.function == nullptr ? FindOp(name) : nullptr;
  if (step.function == nullptr && step.op == nullptr) {
    return ErrorAt(step.at, fmt::format("there is no pattern or operation '{}' to repeat{}", name,
                                        NearestOp(name)));
  }
  if (Take("(")) {
    do {
      TENON_ASSIGN_OR_RETURN(Binding argument, ParseBinding());
      step.arguments.push_back(std::move(argument));
    } while (Take(","));
    TENON_RETURN_IF_ERROR(Require(")"));
  }
  const size_t count = step.arguments.size() + 1;
  size_t least = 0, most = 0;
  if (step.function != nullptr) {
    least = most = step.function->parameters.size();
  } else {
    for (const OperandDef& operand : step.op->def().operands) {
      if (operand.arity == Arity::kVariadic)
        return ErrorAt(step.at, fmt::format("{} takes a list: repeat a pattern of it", name));
      ++most;
      if (operand.arity == Arity::kSingle) least = most;
    }
  }
  if (count >= least && count <= most) return step;
  return ErrorAt(
      step.at,
      fmt::format("{} takes {} argument{}, and each step gives {}: the value so far{}", name, least,
                  least == 1 ? "" : "s", count, count == 1 ? "" : " and those in parentheses"));
}

absl::StatusOr<Val> RuleTextParser::ApplyStep(const RepeatedStep& step, const Val& chain) {
  if (step.function != nullptr) {
    std::map<std::string, Binding> bindings{
        {step.function->parameters[0], Binding{"", chain, nullptr}}};
    for (size_t i = 0; i < step.arguments.size(); ++i)
      bindings[step.function->parameters[i + 1]] = step.arguments[i];
    return Apply(*step.function, std::move(bindings), step.at);
  }
  if (++applied_ > kMostApplied)
    return ErrorAt(step.at, fmt::format("patterns are applied more than {} times", kMostApplied));
  std::vector<std::vector<OperandPattern>> operands{One(chain)};
  for (const Binding& argument : step.arguments) {
    if (argument.literal != nullptr)
      return ErrorAt(step.at, fmt::format("operands of {} are values", step.op->name()));
    operands.push_back(One(argument.val ? *argument.val : Variable(argument.name)));
  }
  operands.resize(step.op->def().operands.size());
  return MakeOp(step.op->name(), std::move(operands), {});
}

// repeat(neg, x, 0, 3)   repeat(add(y), x, 1, 6) as n
absl::StatusOr<Val> RuleTextParser::ParseRepeat() {
  constexpr int kMostRepeated = 64;
  TENON_RETURN_IF_ERROR(Require("("));
  TENON_ASSIGN_OR_RETURN(const RepeatedStep step, ParseRepeatedStep());
  TENON_RETURN_IF_ERROR(Require(","));
  TENON_ASSIGN_OR_RETURN(const Val base, ParseVal());
  TENON_RETURN_IF_ERROR(Require(","));
  TENON_ASSIGN_OR_RETURN(const int least, IntegerWithin(0, kMostRepeated));
  TENON_RETURN_IF_ERROR(Require(","));
  TENON_ASSIGN_OR_RETURN(const int most, IntegerWithin(least, kMostRepeated));
  TENON_RETURN_IF_ERROR(Require(")"));
  AttrRef count;
  if (Take("as")) {
    TENON_ASSIGN_OR_RETURN(const std::string name, Name("a name for the count"));
    count = AttrVariable(name);
  }
  // Longer chains are tried first.
  std::vector<ValRef> chains;
  Val chain = base;
  for (int i = 0; i <= most; ++i) {
    if (i > 0) {
      TENON_ASSIGN_OR_RETURN(chain, ApplyStep(step, chain));
    }
    if (i < least) continue;
    const Val one = count == nullptr ? chain : MakeLet(chain, count, MakeLiteral(int64_t{i}));
    chains.insert(chains.begin(), one.ref());
  }
  const Val repeated = MakeAnyOf(std::move(chains));
  if (repeated.ref().node->depth > kMaxDepth) return TooDeep();
  return repeated;
}

Val RuleTextParser::ListNamed(const std::string& name) {
  const auto it = scope_->vals.find(name);
  if (it != scope_->vals.end()) return it->second;
  return scope_->vals.emplace(name, Each(name.c_str())).first->second;
}

// The list of a pattern that begins with an operation: the name behind another `each`, or a list
// that is known already, or else the name at the end of first operands.
std::string RuleTextParser::ListAhead() const {
  TextLexer lexer = lexer_;
  Token token = lexer.Next();
  std::string first;
  for (int depth = 0; token.kind != Token::Kind::kEnd;) {
    const Token next = lexer.Next();
    const bool sign = token.kind == Token::Kind::kSign;
    if (sign && (token.text == "(" || token.text == "{")) ++depth;
    if (sign && (token.text == ")" || token.text == "}") && --depth == 0) break;
    if (token.kind == Token::Kind::kName && token.text == "each") return std::string(next.text);
    if (token.kind == Token::Kind::kName && next.text != "(" && next.text != "=") {
      const auto known = scope_->vals.find(std::string(token.text));
      if (known != scope_->vals.end() && known->second.ref().node->kind == ValNode::Kind::kEach)
        return known->first;
      if (first.empty()) first = std::string(token.text);
    }
    token = next;
  }
  return first;
}

// each xs   each relu(xs)   each matmul(a, each xs)
absl::StatusOr<Val> RuleTextParser::ParseEach() {
  TextLexer ahead = lexer_;
  const Token after = ahead.Next();
  if (token_.kind == Token::Kind::kName && after.text != "(") {
    const Token at = token_;
    TENON_ASSIGN_OR_RETURN(const std::string name, Name("a name"));
    const Val list = ListNamed(name);
    if (list.ref().node->kind == ValNode::Kind::kEach) return list;
    if (list.ref().node->kind == ValNode::Kind::kOp) {
      TENON_RETURN_IF_ERROR(CheckResults(list.Rest(0).ref(), at));
      return list.Rest(0);
    }
    return ErrorAt(at, fmt::format("'{}' is one value (expected a list)", name));
  }
  if (const std::string list = ListAhead(); !list.empty()) ListNamed(list);
  TENON_ASSIGN_OR_RETURN(const Val mapped, ParseVal());
  return Each(mapped);
}

// name in {relu, tanh}(x): one of these operations, whose name is that of the attribute variable.
absl::StatusOr<Val> RuleTextParser::ParseOpSet(const std::string& name) {
  Next();
  TENON_RETURN_IF_ERROR(Require("{"));
  std::vector<std::pair<std::string, Token>> ops;
  while (!Is("}")) {
    if (!ops.empty()) TENON_RETURN_IF_ERROR(Require(","));
    const Token at = token_;
    TENON_ASSIGN_OR_RETURN(std::string op, Name("an operation"));
    ops.emplace_back(std::move(op), at);
  }
  if (ops.empty()) return Expected("an operation");
  Next();
  TENON_ASSIGN_OR_RETURN(const Val first, ParseOp(ops[0].first, ops[0].second));
  const ValNode& pattern = *first.ref().node;
  std::vector<ValRef> alternatives;
  for (const auto& [op, at] : ops) {
    const OpInfo* info = FindOp(op);
    if (info == nullptr)
      return ErrorAt(at, fmt::format("there is no op '{}'{}", op, NearestOp(op)));
    if (info->def().operands.size() != pattern.operands.size())
      return ErrorAt(at, fmt::format("{} has other operands than {}", op, ops[0].first));
    for (const auto& [attr, value] : pattern.attrs)
      if (info->FindSlot(attr) < 0)
        return ErrorAt(at, fmt::format("{} has no attribute '{}'", op, attr));
    const Val one = MakeOp(info->name(), pattern.operands, pattern.attrs);
    alternatives.push_back(MakeLet(one, AttrVariable(name), MakeLiteral(std::string(op))).ref());
  }
  return MakeAnyOf(std::move(alternatives));
}

}  // namespace tenon::drr
