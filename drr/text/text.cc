#include "drr/text/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "drr/text/text_parser.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/suggest.h"

namespace tenon::drr {

namespace {

// Ops of these dialects may be named without them.
constexpr const char* kShortDialects[] = {"ten", "nn", "core"};

}  // namespace

const OpInfo* RuleTextParser::FindOp(const std::string& name) const {
  if (name.find('.') != std::string::npos) return context_.FindOp(name);
  std::string full;
  for (const char* dialect : kShortDialects) {
    full.assign(dialect).append(".").append(name);
    if (const OpInfo* info = context_.FindOp(full)) return info;
  }
  return nullptr;
}

std::string RuleTextParser::NearestOp(const std::string& name) const {
  std::vector<std::string> names;
  if (name.find('.') == std::string::npos) {
    for (const char* dialect : kShortDialects) {
      for (const OpInfo* info : context_.OpsOf(dialect))
        names.emplace_back(info->name().substr(info->name().find('.') + 1));
    }
  }
  for (const std::string& dialect : context_.DialectNames()) {
    for (const OpInfo* info : context_.OpsOf(dialect)) names.emplace_back(info->name());
  }
  return DidYouMeanOp(name, names);
}

absl::StatusOr<OperandPattern> RuleTextParser::ParseOperand() {
  if (Take("maybe")) {
    const Token at = token_;
    TENON_ASSIGN_OR_RETURN(Val val, ParenthesizedVal());
    if (val.ref().rest)
      return ErrorAt(
          at, fmt::format("{} may be empty (expected it without 'maybe')", ToString(val.ref())));
    return OperandPattern{val.ref(), true};
  }
  TENON_ASSIGN_OR_RETURN(Val val, ParseVal());
  return OperandPattern{val.ref(), false};
}

absl::StatusOr<Val> RuleTextParser::ParenthesizedVal() {
  TENON_RETURN_IF_ERROR(Require("("));
  TENON_ASSIGN_OR_RETURN(Val val, ParseVal());
  TENON_RETURN_IF_ERROR(Require(")"));
  return val;
}

absl::Status RuleTextParser::AttrsInside(const OpInfo& info) const {
  return Error(fmt::format("attributes stand behind the ')' of {}", info.name()));
}

absl::StatusOr<Val> RuleTextParser::ParseOp(const std::string& name, Token at) {
  const OpInfo* info = FindOp(name);
  if (info == nullptr) {
    token_ = at;
    return Error(fmt::format("there is no op '{}'{}", name, NearestOp(name)));
  }
  const OpDef& def = info->def();
  std::vector<std::vector<OperandPattern>> groups(def.operands.size());
  TENON_RETURN_IF_ERROR(Require("("));
  for (size_t g = 0; !Is(")");) {
    if (Is("{")) return AttrsInside(*info);
    if (g >= groups.size()) {
      return Error(fmt::format("{} has only {} operand{}", info->name(), groups.size(),
                               groups.size() == 1 ? "" : "s"));
    }
    if (!Take("none")) {
      const Token operand_at = token_;
      TENON_ASSIGN_OR_RETURN(OperandPattern operand, ParseOperand());
      if (operand.val.rest && def.operands[g].arity != Arity::kVariadic) {
        return ErrorAt(operand_at,
                       fmt::format("{} stands for several results, and operand '{}' of "
                                   "{} is one value",
                                   ToString(operand.val), def.operands[g].name, info->name()));
      }
      groups[g].push_back(std::move(operand));
    }
    if (def.operands[g].arity != Arity::kVariadic) ++g;
    if (Is("{")) return AttrsInside(*info);
    if (!Is(")") && !Take(",")) return Expected("',' or ')'");
  }
  Next();
  for (size_t g = 0; g < groups.size(); ++g) {
    if (def.operands[g].arity == Arity::kSingle && groups[g].empty()) {
      token_ = at;
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
        std::vector<std::string> names;
        for (const AttrDef& known : def.attrs) names.push_back(known.name);
        return Error(
            fmt::format("{} has no attribute '{}'{}", info->name(), attr, DidYouMean(attr, names)));
      }
      for (const auto& [name_before, value_before] : attrs) {
        if (name_before != attr) continue;
        token_ = attr_at;
        return Error(fmt::format("attribute '{}' is given twice", attr));
      }
      TENON_RETURN_IF_ERROR(Require("="));
      TENON_ASSIGN_OR_RETURN(AttrRef value, ParseAttr(def.attrs[static_cast<size_t>(slot)].type));
      attrs.emplace_back(attr, std::move(value));
    }
    Next();
  }
  return MakeOp(info->name(), std::move(groups), attrs);
}

absl::StatusOr<Val> RuleTextParser::ParseVal() {
  if (depth_ >= kMaxDepth) return TooDeep();
  ++depth_;
  absl::StatusOr<Val> val = ParseValHere();
  --depth_;
  // Of parts with names each may be flat.
  if (val.ok() && val->ref().node->depth > kMaxDepth) return TooDeep();
  return val;
}

absl::StatusOr<Val> RuleTextParser::ParseValHere() {
  const Token at = token_;
  if (Take("(")) {
    TENON_ASSIGN_OR_RETURN(Val inner, ParseVal());
    while (Take("let")) {
      TENON_ASSIGN_OR_RETURN(std::string name, Name("an attribute variable"));
      TENON_RETURN_IF_ERROR(Require("="));
      TENON_ASSIGN_OR_RETURN(AttrRef value, ParseAttr(AttrType::kAny));
      const AttrRef variable = AttrVariable(name);
      std::pair<AttrRef, Kinds>& kinds =
          attr_kinds_.emplace(variable.get(), std::pair(variable, Kinds{0})).first->second;
      kinds.second |= KindsIn(*value);  // alternatives may differ
      inner = MakeLet(inner, variable, std::move(value));
    }
    TENON_RETURN_IF_ERROR(Require(")"));
    return inner;
  }
  TENON_ASSIGN_OR_RETURN(std::string name, Name("a value"));
  if (name == "each") return ParseEach();
  if (name == "const") {
    TENON_ASSIGN_OR_RETURN(std::string variable, Name("a name"));
    return Variable(variable, true);
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
  if (name == "repeat" && Is("(")) return ParseRepeat();
  if (Is("in")) return ParseOpSet(name);
  absl::StatusOr<Val> val = !Is("(")                    ? Variable(name)
                            : functions_.contains(name) ? ParsePatternCall(name, at)
                                                        : ParseOp(name, at);
  if (!val.ok() || !Take("#")) return val;
  const Token index_at = token_;
  TENON_ASSIGN_OR_RETURN(const int index, IntegerWithin(0, kMaxResults));
  const Val chosen = Take("...") ? val->Rest(index) : val->result(index);
  TENON_RETURN_IF_ERROR(CheckResults(chosen.ref(), index_at));
  return chosen;
}

// Refuses results that the operation of a part never has.
absl::Status RuleTextParser::CheckResults(const ValRef& val, const Token& at) const {
  if (val.node->kind != ValNode::Kind::kOp) return absl::OkStatus();
  const OpInfo* info = FindOp(val.node->op);
  if (info == nullptr || info->def().results.empty()) return absl::OkStatus();
  const std::vector<OperandDef>& results = info->def().results;
  if (val.rest && results.back().arity != Arity::kVariadic) {
    return ErrorAt(at, fmt::format("{} stands for a list of results, and {} has exactly {} "
                                   "(expected one of them, such as '#0')",
                                   ToString(val), info->name(), results.size()));
  }
  if (results.back().arity == Arity::kSingle && static_cast<size_t>(val.result) >= results.size()) {
    return ErrorAt(at, fmt::format("{} has {} result{} (expected a number below {})", info->name(),
                                   results.size(), results.size() == 1 ? "" : "s", results.size()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Rule> RuleTextParser::Coinciding(Rule rule) {
  std::vector<Val> ops;
  if (Take("(")) {
    do {
      TENON_ASSIGN_OR_RETURN(Val op, ParseVal());
      ops.push_back(std::move(op));
    } while (Take(","));
    TENON_RETURN_IF_ERROR(Require(")"));
  }
  return std::move(rule).MayCoincide(ops);
}

absl::StatusOr<Rule> RuleTextParser::Assuming(Rule rule, Assumption assumption) {
  Condition unless;
  if (Take("unless")) {
    TENON_ASSIGN_OR_RETURN(unless, ParseConditions());
  }
  return std::move(rule).Where(Proof(assumption, unless));
}

// A name for messages, too, unless it begins with '_'.
absl::StatusOr<Rule> RuleTextParser::ParseLet(Rule rule) {
  TENON_ASSIGN_OR_RETURN(const std::string part, Name("a name"));
  std::string label = part[0] == '_' ? "" : part;
  if (token_.kind == Token::Kind::kString) {
    label = std::string(token_.text);
    Next();
  }
  TENON_RETURN_IF_ERROR(Require("="));
  TENON_ASSIGN_OR_RETURN(Val val, ParseVal());
  const ValNode& node = *val.ref().node;
  const bool is_part = node.kind != ValNode::Kind::kVariable && node.kind != ValNode::Kind::kEach;
  const bool is_new =
      std::none_of(scope_->vals.begin(), scope_->vals.end(),
                   [&](const auto& known) { return known.second.ref().node == val.ref().node; });
  if (is_part && is_new && val.ref().result == 0 && node.name.empty() && !label.empty())
    val = val.As(label.c_str());
  if (!scope_->vals.emplace(part, val).second)
    return Error(fmt::format("'{}' is already defined", part));
  return rule;
}

absl::StatusOr<Rule> RuleTextParser::ParseRule() {
  rule_scope_ = Scope();
  attr_kinds_.clear();
  asked_vals_.clear();
  asked_attrs_.clear();
  asked_dims_.clear();
  if (!Is("rule")) return ExpectedWord("'rule', 'pattern' or 'op'", {"rule", "pattern", "op"});
  Next();
  const int line = token_.line;
  TENON_ASSIGN_OR_RETURN(std::string name, Name("the name of the rule"));
  Rule rule(name);
  rule.set_place(file_, line);
  TENON_RETURN_IF_ERROR(Require("{"));
  std::set<std::string> said;
  while (!Take("}")) {
    for (const char* once : {"summary", "lowers", "benefit", "stage"}) {
      if (Is(once) && !said.insert(once).second)
        return Error(fmt::format("rule '{}' has a second '{}'", name, once));
    }
    if (Take("let")) {
      TENON_ASSIGN_OR_RETURN(rule, ParseLet(std::move(rule)));
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
    } else if (Take("may")) {
      if (Take("overflow")) {
        TENON_ASSIGN_OR_RETURN(rule, Assuming(std::move(rule), Assumption::kNoOverflow));
        continue;
      }
      if (!Take("coincide"))
        return ExpectedWord("'coincide' or 'overflow'", {"coincide", "overflow"});
      TENON_ASSIGN_OR_RETURN(rule, Coinciding(std::move(rule)));
    } else if (Take("ignores")) {
      const bool infinity = Take("infinity");
      if (!infinity) {
        if (!Take("sign"))
          return ExpectedWord("'infinity' or 'sign of zero'", {"infinity", "sign"});
        TENON_RETURN_IF_ERROR(Require("of"));
        TENON_RETURN_IF_ERROR(Require("zero"));
      }
      TENON_ASSIGN_OR_RETURN(
          rule, Assuming(std::move(rule),
                         infinity ? Assumption::kNoInfinity : Assumption::kNoNegativeZero));
    } else if (Take("where")) {
      TENON_ASSIGN_OR_RETURN(Condition condition, ParseConditions());
      rule = std::move(rule).Where(condition);
    } else if (Take("benefit")) {
      TENON_ASSIGN_OR_RETURN(const int benefit, IntegerWithin(-kMaxBenefit, kMaxBenefit));
      rule = std::move(rule).Benefit(benefit);
    } else if (Take("stage")) {
      const bool final = Is("final");
      if (!final && !Is("fusion")) return ExpectedWord("'fusion' or 'final'", {"fusion", "final"});
      Next();
      rule = std::move(rule).Stage(final ? RuleStage::kFinal : RuleStage::kFusion);
    } else if (Take("summary")) {
      if (token_.kind != Token::Kind::kString) return Expected("a text in quotes");
      rule = std::move(rule).Summary(token_.text);
      Next();
    } else if (Take("lowers")) {
      TENON_ASSIGN_OR_RETURN(Measure measure, ParseMeasure());
      rule = std::move(rule).Lowers(std::move(measure));
    } else if (Take("requires")) {
      TENON_RETURN_IF_ERROR(Require("kernel"));
      rule = std::move(rule).RequireKernel();
    } else {
      return ExpectedWord(
          "let, match, where, keep, may, ignores, replace, benefit, stage, summary, "
          "lowers, requires or '}'",
          {"let", "match", "where", "keep", "may", "ignores", "replace", "benefit", "stage",
           "summary", "lowers", "requires"});
    }
  }
  TENON_RETURN_IF_ERROR(CheckNames(rule));
  return rule;
}

absl::StatusOr<std::vector<Rule>> ParseRules(std::string_view text, const std::string& file,
                                             Context& context, std::span<const Word> facts) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return RuleTextParser(text, file, context, facts).Run();
}

absl::StatusOr<const OpInfo*> ParseOp(std::string_view text, const std::string& file,
                                      Context& context, DeclaredResult result) {
  return RuleTextParser(text, file, context, {}).RunOp(result);
}

}  // namespace tenon::drr
