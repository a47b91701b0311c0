// The grammar of rules in text. Internal to drr.
#ifndef TENON_DRR_TEXT_TEXT_PARSER_H_
#define TENON_DRR_TEXT_TEXT_PARSER_H_

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drr/compile/rule_list.h"
#include "drr/rule/rule.h"
#include "drr/rule/term_kinds.h"
#include "drr/rule/words.h"
#include "drr/text/text.h"
#include "drr/text/text_lexer.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"
#include "ir/dialect/declared_op.h"

namespace tenon::drr {

// The parser of rules in text. Messages begin with the position. For one use.
class RuleTextParser {
 public:
  RuleTextParser(std::string_view text, const std::string& file, Context& context,
                 std::span<const Word> facts)
      : file_(file), context_(context), facts_(facts), lexer_(text) {
    Next();
  }

  absl::StatusOr<std::vector<Rule>> Run() {
    std::vector<Rule> rules;
    while (token_.kind != Token::Kind::kEnd) {
      if (Take("pattern")) {
        TENON_RETURN_IF_ERROR(ParsePattern());
        continue;
      }
      if (Take("op")) {
        TENON_RETURN_IF_ERROR(ParseOpDeclaration());
        continue;
      }
      TENON_ASSIGN_OR_RETURN(Rule rule, ParseRule());
      rules.push_back(std::move(rule));
    }
    return rules;
  }

  // One declaration of an op, without the word `op`, and nothing behind it.
  absl::StatusOr<const OpInfo*> RunOp(DeclaredResult result);

 private:
  // ---- tokens
  void Next() { token_ = lexer_.Next(); }
  absl::Status Error(const std::string& message) const {
    return absl::InvalidArgumentError(
        fmt::format("{}:{}:{}: {}", file_, token_.line, token_.column, message));
  }
  absl::Status Expected(std::string_view what) const {
    if (token_.too_long) {
      return Error(fmt::format("the word '{}...' is too long (expected at most {} bytes)",
                               token_.text, kMaxTokenLength));
    }
    if (Is("\"")) return Error("the text is not closed in its line (expected '\"')");
    return Error(token_.kind == Token::Kind::kEnd
                     ? fmt::format("expected {} before the end", what)
                     : fmt::format("expected {}, got '{}'", what, token_.text));
  }
  // The same with the nearest of these words.
  absl::Status ExpectedWord(std::string_view what, const std::vector<std::string>& words) const;
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
  absl::StatusOr<Measure> ParseMeasure();
  absl::StatusOr<MeasuredOp> ParseMeasuredOp();
  absl::StatusOr<MeasuredOp> ParseWeighedOp();
  absl::StatusOr<MeasuredOp> ParseOperandOfOp();
  absl::Status AttrsInside(const OpInfo& info) const;
  absl::StatusOr<Val> ParseOp(const std::string& name, Token at);
  absl::StatusOr<OperandPattern> ParseOperand();
  absl::Status CheckResults(const ValRef& val, const Token& at) const;
  absl::StatusOr<AttrRef> ParseAttr(AttrType type);
  absl::StatusOr<AttrRef> AsAttr(const Term& term, AttrType type, const Token& at);
  absl::Status CheckKind(Kinds given, AttrType type, const Token& at) const;
  absl::StatusOr<Condition> ParseConditions();

  // ---- expressions: conditions and terms
  // In a list of conditions a term may become a condition, where another sign asks for one.
  struct Expr {
    std::optional<Condition> condition;
    std::optional<Term> term;
  };
  // What binds as strongly as `level` or stronger: 1 ||, 2 &&, 3 comparisons, 4 + -, 5 * / %.
  absl::StatusOr<Expr> ParseExpr(int level);
  absl::StatusOr<Expr> ParseJunction(int level);
  absl::StatusOr<Expr> ParseUnary();
  absl::StatusOr<Expr> ParsePrimary();
  absl::StatusOr<Expr> ParseNested(int level);  // one level deeper
  absl::StatusOr<Expr> ParseHints(Expr expr, const Token& at);
  absl::StatusOr<Term> ParseTerm();  // outside of conditions
  absl::StatusOr<Term> ParseList();
  absl::StatusOr<Term> ParseNumber();
  absl::StatusOr<Term> ParseCall(const std::string& name, const Token& at);
  absl::StatusOr<Term> ParseArgument(TermKind kind);
  Term TermNamed(const std::string& name, const Token& at);
  // Refuses operands of kinds that the operator never takes.
  absl::Status CheckOperands(std::string_view sign, const Term& a, const Token& at, const Term& b,
                             const Token& right_at) const;
  // Refuses names that the match does not bind, where they stand.
  absl::Status CheckNames(const Rule& rule) const;
  absl::StatusOr<Condition> AsCondition(const Expr& expr, const Token& at) const;
  absl::StatusOr<Term> AsTerm(const Expr& expr, const Token& at) const;
  absl::Status CheckWhole(const Term& term, const Token& at) const;
  // What is known so far of the variables in it.
  Kinds KindsIn(const Term& term) const;
  Kinds KindsIn(const AttrNode& attr) const;
  const Word* FindWord(const std::string& name) const;
  absl::Status ErrorAt(const Token& at, const std::string& message) const {
    return absl::InvalidArgumentError(
        fmt::format("{}:{}:{}: {}", file_, at.line, at.column, message));
  }

  // ---- functions of patterns
  // What a parameter stands for: a name of the caller, a value or a literal.
  struct Binding {
    std::string name;
    std::optional<Val> val;
    AttrRef literal;
  };
  struct Scope {
    std::map<std::string, Val> vals;
    std::map<std::string, AttrRef> attrs;
    std::map<std::string, Dim> dims;
    std::map<std::string, Binding> bindings;
    Scope* caller = nullptr;
  };
  struct Function {
    std::vector<std::string> parameters;
    TextLexer lexer;
    Token token;
  };
  // ---- declarations of operations
  absl::Status ParseOpDeclaration();
  // Parts of it, in this order: name, operands and attributes; `->` and the result; traits.
  absl::Status ParseOpSignature(OpDef& def);
  absl::Status ParseOpResult(OpDef& def, DeclaredShape& shape);
  void ParseOpTraits(OpDef& def);
  absl::Status DeclareAt(const Token& at, OpDef def, DeclaredShape shape);
  absl::StatusOr<OperandDef> ParseDeclaredOperand();
  absl::StatusOr<AttrDef> ParseDeclaredAttr();
  absl::StatusOr<TypeConstraint> ParseTypes();
  absl::StatusOr<std::string> PlainName(std::string_view what);

  absl::Status ParsePattern();
  absl::StatusOr<Val> ParsePatternCall(const std::string& name, const Token& at);
  // What `repeat` applies: `function` or `op`, to the value so far and the arguments.
  struct RepeatedStep {
    Token at;
    const Function* function = nullptr;
    const OpInfo* op = nullptr;
    std::vector<Binding> arguments;
  };
  absl::StatusOr<RepeatedStep> ParseRepeatedStep();
  absl::StatusOr<Val> ApplyStep(const RepeatedStep& step, const Val& chain);
  absl::StatusOr<Val> ParseRepeat();
  absl::StatusOr<Val> ParseEach();
  Val ListNamed(const std::string& name);
  std::string ListAhead() const;
  absl::StatusOr<Val> ParseOpSet(const std::string& name);
  absl::StatusOr<Val> Apply(const Function& function, std::map<std::string, Binding> bindings,
                            const Token& at);
  absl::StatusOr<Binding> ParseBinding();
  absl::StatusOr<Rule> ParseLet(Rule rule);

  absl::StatusOr<Val> ParenthesizedVal();
  const OpInfo* FindOp(const std::string& name) const;
  std::string NearestOp(const std::string& name) const;  // for a message; empty if none is near

  Val Variable(const std::string& name, bool constant = false) {
    return VariableOf(*scope_, name, constant);
  }
  Val VariableOf(Scope& scope, const std::string& name, bool constant);
  AttrRef AttrVariable(const std::string& name) { return AttrVariableOf(*scope_, name); }
  AttrRef AttrVariableOf(Scope& scope, const std::string& name);
  Dim DimVariable(const std::string& name) { return DimVariableOf(*scope_, name); }
  Dim DimVariableOf(Scope& scope, const std::string& name);
  bool IsKnownVal(const Scope& scope, const std::string& name) const;

  std::string file_;
  Context& context_;
  std::span<const Word> facts_;
  TextLexer lexer_;
  Token token_;
  int depth_ = 0;
  static constexpr int kMaxDepth = kMostDepth;
  static constexpr size_t kMostConditions = 1000;  // of one conjunction
  static constexpr int kMaxResults = 65535, kMaxBenefit = 1000000;
  static constexpr int kMostOperators = 1000;  // of one sum or product
  static constexpr int kMostApplied = 10000;   // functions of patterns, in a file
  bool in_conditions_ = false;
  // What the rule reads, and where.
  std::vector<std::pair<ValRef, Token>> asked_vals_;
  std::vector<std::pair<AttrRef, Token>> asked_attrs_;
  std::vector<std::pair<DimRef, Token>> asked_dims_;
  // Of the attribute variables of the rule, which are kept alive.
  std::map<const AttrNode*, std::pair<AttrRef, Kinds>> attr_kinds_;
  int applied_ = 0;
  std::map<std::string, Function> functions_;
  Scope rule_scope_;
  Scope* scope_ = &rule_scope_;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_TEXT_TEXT_PARSER_H_
