// The grammar of rules in text. Internal to drr.
#ifndef TENON_DRR_TEXT_TEXT_PARSER_H_
#define TENON_DRR_TEXT_TEXT_PARSER_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "drr/compile/rule_list.h"
#include "drr/rule/rule.h"
#include "drr/text/text_lexer.h"
#include "fmt/format.h"
#include "ir/core/check.h"
#include "ir/core/context.h"

namespace tenon::drr {

// The parser of rules in text. Messages begin with the position. For one use.
class RuleTextParser {
 public:
  RuleTextParser(std::string_view text, const std::string& file, Context& context)
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
    if (Is("\"")) return Error("the text is not closed in its line (expected '\"')");
    return Error(token_.kind == Token::Kind::kEnd
                     ? fmt::format("expected {} before the end", what)
                     : fmt::format("expected {}, got '{}'", what, token_.text));
  }
  absl::Status TooDeep() const {
    return Error(
        fmt::format("the rule is nested too deeply (expected at most {} levels)", kMaxDepth));
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
  absl::StatusOr<int> IntegerWithin(int low, int high);

  // ---- grammar
  absl::StatusOr<Rule> ParseRule();
  absl::StatusOr<Rule> Coinciding(Rule rule);
  absl::StatusOr<Rule> Assuming(Rule rule, Assumption assumption);
  absl::StatusOr<Val> ParseVal();
  absl::StatusOr<Val> ParseValHere();
  absl::Status AttrsInside(const OpInfo& info) const;
  absl::StatusOr<Val> ParseOp(const std::string& name, Token at);
  absl::StatusOr<OperandPattern> ParseOperand();
  absl::StatusOr<AttrRef> ParseAttr(AttrType type);
  absl::StatusOr<Dim> ParseDim();
  absl::StatusOr<Dim> ParseFactor();
  absl::StatusOr<std::vector<Dim>> ParseDims();
  absl::StatusOr<Condition> ParseConditions();
  absl::StatusOr<Condition> ParseCondition();
  absl::Status CheckCondition(const std::string& name, size_t vals) const;
  absl::StatusOr<Val> ParenthesizedVal();
  const OpInfo* FindOp(const std::string& name) const;
  std::string NearestOp(const std::string& name) const;  // for a message; empty if none is near

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
  static constexpr int kMaxDepth = kMostDepth;
  static constexpr size_t kMostConditions = 1000;  // of one conjunction
  static constexpr int kMaxRank = 256, kMaxResults = 65535, kMaxBenefit = 1000000;
  std::map<std::string, Val> vals_;
  std::map<std::string, AttrRef> attrs_;
  std::map<std::string, Dim> dims_;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_TEXT_TEXT_PARSER_H_
