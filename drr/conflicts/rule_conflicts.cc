#include "drr/conflicts/rule_conflicts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "drr/automaton/automaton.h"
#include "drr/check/instance.h"
#include "drr/conflicts/comparison.h"
#include "drr/conflicts/subsumption.h"
#include "drr/match/matcher.h"
#include "drr/rewrite/driver.h"
#include "drr/rewrite/rewriter.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "ir/base/check.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/text/printer.h"

namespace tenon::drr {
namespace {

// Made of a rule in each element type: for a search, and to show what is known to exist.
constexpr size_t kSearched = 12, kWitnesses = 100;
constexpr DType kDTypes[] = {DType::kF32, DType::kI64};

bool Computes(const AttrCode& code) { return code.kind == AttrCode::Kind::kCompute; }

// Computed attributes may say when to stop, of what is matched and of what is made.
bool Computes(const CompiledRule& rule) {
  return std::any_of(rule.nodes.begin(), rule.nodes.end(), [](const Node& node) {
    return Computes(node.splat) || Computes(node.let_value) ||
           std::any_of(node.attrs.begin(), node.attrs.end(),
                       [](const AttrCode& code) { return Computes(code); });
  });
}

// Does it fire wherever its source graph and its conditions hold?
bool Fires(const CompiledRule& rule) {
  return rule.roots.size() == 1 && !rule.rule->requires_kernel() && !Computes(rule);
}

// True if each application leaves fewer operations that are no constants, whatever it matches: no
// fold adds one, so that rules which all do this come to an end. What stays in the program does not
// count: kept ops, and those of which some other result may be used.
bool Shrinks(const CompiledRule& rule) {
  if (!rule.coincide.empty()) return false;
  const auto counts = [](const Node& node) {
    return node.kind == ValNode::Kind::kOp && !node.info->Has(Trait::kConstantLike);
  };
  int removed = 0, made = 0;
  for (const uint16_t n : NodesOfEveryMatch(rule)) {
    const Node& node = rule.nodes[n];
    const bool replaced = node.inner || n == rule.roots[0].node;
    if (counts(node) && replaced && node.info->def().results.size() == 1) ++removed;
  }
  for (const uint16_t n : rule.creation_order) {
    const Node& node = rule.nodes[n];
    if (node.mapped) return false;
    made += counts(node) ? 1 : 0;
  }
  return made < removed;
}

std::string Named(const CompiledRule& rule) {
  return fmt::format("'{}' ({})", rule.rule->name(), rule.rule->place());
}

// Small programs that the rule is to match.
class Programs {
 public:
  Programs(const CompiledRule& rule, Context& context, size_t count)
      : facts_(rule), context_(context), count_(count), guards_(AsksAboutNumbers(rule)) {}

  // Nothing after the last, and where the next could not be made.
  std::optional<Instance> Next() {
    std::string why;
    const DType dtype = kDTypes[next_ % std::size(kDTypes)];
    // Conditions on numbers hold for few of those that are drawn: they are solved, and arguments
    // have known ranges.
    const bool guards = guards_ && next_ / std::size(kDTypes) % 2 == 1;
    facts_.seeks = guards_ && next_ / std::size(kDTypes) % 4 > 1;
    ++next_;
    std::optional<InstancePlan> plan =
        InstancePlan::Make(facts_, context_, random_, kNone, -1, &why);
    if (plan && guards) plan->Guard(random_, dtype, true);
    return plan ? plan->Build(dtype) : std::nullopt;
  }
  bool done() const { return next_ >= count_ * std::size(kDTypes) * (guards_ ? 4 : 1); }

 private:
  PlanFacts facts_;
  Context& context_;
  size_t count_;
  const bool guards_;
  std::mt19937_64 random_{1};
  size_t next_ = 0;
};

std::string Witness(const std::string& program) {
  return program.empty() ? "" : fmt::format(", for example in\n{}", program);
}

class Conflicts {
 public:
  Conflicts(const CompiledRules& set, const std::vector<const CompiledRule*>& rules,
            Context& context)
      : set_(set), rules_(rules), context_(context), matcher_(context) {}

  absl::Status Run() {
    for (const CompiledRule* rule : rules_) fires_.push_back(Fires(*rule));
    for (const CompiledRule* rule : rules_) TENON_RETURN_IF_ERROR(FindSelf(*rule));
    for (const CompiledRule* rule : rules_) {
      numbers_.push_back(NumbersOf(*rule));
      may_follow_.push_back(MayFollow(*rule));
      questions_.push_back(QuestionsOf(*rule));
      const std::optional<OpId> made = MadeRoot(*rule);
      if (!made) continue;
      for (const OpId op : rule->anchors) by_ends_[{op, *made}].push_back(NumberOf(*rule));
    }
    for (uint16_t i = 0; i < rules_.size(); ++i) {
      const std::vector<uint16_t> rivals = Rivals(i);
      for (const uint16_t j : rivals) {
        if (MayFollowFrom(questions_[i], questions_[j]))
          TENON_RETURN_IF_ERROR(FindShadow(*rules_[j], *rules_[i]));
        TENON_RETURN_IF_ERROR(FindUndone(*rules_[j], *rules_[i]));
      }
      TENON_RETURN_IF_ERROR(FindSharedShadow(rivals, *rules_[i]));
    }
    for (const CompiledRule* rule : InCycles()) TENON_RETURN_IF_ERROR(FindCycle(*rule));
    return absl::OkStatus();
  }

 private:
  uint16_t NumberOf(const CompiledRule& rule) const {
    return static_cast<uint16_t>(rule.rule - set_.list().rules().data());
  }

  // The numbers that the source or result of a rule writes, and those that each of its matches has.
  struct Numbers {
    std::set<uint64_t> all, needed;
  };
  static Numbers NumbersOf(const CompiledRule& rule) {
    Numbers numbers;
    const std::vector<uint16_t> always = NodesOfEveryMatch(rule);
    for (uint16_t n = 0; n < rule.nodes.size(); ++n) {
      const Node& node = rule.nodes[n];
      if (node.kind != ValNode::Kind::kSplat || node.splat.kind != AttrCode::Kind::kLiteral)
        continue;
      const uint64_t key = KeyOfNumber(node.splat.literal.float_value());
      numbers.all.insert(key);
      if (std::binary_search(always.begin(), always.end(), n)) numbers.needed.insert(key);
    }
    return numbers;
  }

  // A claim about a quantity, as text without its subjects.
  struct Claimed {
    std::string quantity;
    Claim claim;
  };
  // What the conditions of a rule ask that follows only from the same question, or from a narrower
  // claim, and what it asks in any case: terms without their subjects.
  struct Questions {
    std::set<std::string> all, needed;
    std::vector<Claimed> claims, needed_claims;
  };
  static std::string QuestionOf(const TermNode& term) {
    if (term.kind == TermNode::Kind::kArgument) return "_";
    if (term.kind == TermNode::Kind::kLiteral) return ToString(term);
    std::string text = fmt::format("{}{}(", static_cast<int>(term.kind),
                                   term.word != nullptr ? term.word->name : "");
    for (const TermRef& operand : term.operands) text += QuestionOf(*operand) + ",";
    return text + ")";
  }
  // A type, and a rank, may follow from other questions.
  static bool IsDType(const Claimed& claimed) {
    const TermNode* const term = claimed.claim.term;
    return term != nullptr && term->kind == TermNode::Kind::kCall &&
           (term->word->name == "dtype" || term->word->name == "rank");
  }
  // An extent is itself.
  static bool ComparesDims(const ConditionNode& condition) {
    const TermNode* const term = condition.term.get();
    return term != nullptr && term->kind == TermNode::Kind::kCall && term->operands.size() == 2 &&
           term->operands[0]->kind == TermNode::Kind::kArgument &&
           term->operands[1]->kind == TermNode::Kind::kArgument &&
           (term->word->name == "==" || term->word->name == ">=" || term->word->name == "<=");
  }
  // Of an extent, as the term would be; of an attribute or a dimension "_".
  static std::optional<Claimed> ClaimedIn(const ConditionNode& condition) {
    std::optional<Claim> claim = ClaimOf(condition);
    if (!claim || (claim->term == nullptr && claim->word != "dim")) return std::nullopt;
    std::string quantity =
        claim->term != nullptr
            ? QuestionOf(*claim->term)
            : fmt::format("{}dim(_,{},)", static_cast<int>(TermNode::Kind::kCall), claim->axis);
    return Claimed{std::move(quantity), *std::move(claim)};
  }
  // Does a claim follow from one of those? Of attributes that the other rule compares with nothing
  // it may write the value.
  static bool MayFollowFrom(const std::vector<Claimed>& known, const Claimed& asked) {
    bool is_compared = asked.quantity != "_";
    for (const Claimed& one : known) {
      if (one.quantity != asked.quantity) continue;
      if (Implies(one.claim, asked.claim)) return true;
      is_compared = true;
    }
    return !is_compared;
  }
  static bool MayFollowFrom(const Questions& known, const Questions& asked) {
    return std::includes(known.all.begin(), known.all.end(), asked.needed.begin(),
                         asked.needed.end()) &&
           std::all_of(asked.needed_claims.begin(), asked.needed_claims.end(),
                       [&](const Claimed& claim) { return MayFollowFrom(known.claims, claim); });
  }
  // Empty for what may follow from another question.
  static std::string QuestionOf(const ConditionNode& condition) {
    if (ClaimOf(condition) || ComparesDims(condition)) return "";
    if (condition.kind == ConditionNode::Kind::kShape) {
      std::string text;
      for (const DimRef& dim : condition.shape) {
        const bool is_number = dim->kind == DimNode::Kind::kConstant;
        text += is_number ? fmt::format("{},", dim->value) : "_,";
      }
      return text.find_first_of("0123456789") == std::string::npos ? "" : text;
    }
    return condition.term != nullptr ? QuestionOf(*condition.term) : "";
  }
  static void AddQuestions(const ConditionNode& condition, Questions& questions) {
    std::string question = QuestionOf(condition);
    if (!question.empty()) questions.all.insert(std::move(question));
    if (auto claimed = ClaimedIn(condition)) questions.claims.push_back(*std::move(claimed));
    for (const auto& part : condition.parts)
      for (const auto& node : part) AddQuestions(*node, questions);
  }
  static Questions QuestionsOf(const CompiledRule& rule) {
    Questions questions;
    for (const ConditionCode& condition : rule.conditions) {
      AddQuestions(*condition.source, questions);
      std::string question = QuestionOf(*condition.source);
      if (!question.empty()) questions.needed.insert(std::move(question));
      if (auto claimed = ClaimedIn(*condition.source); claimed && !IsDType(*claimed))
        questions.needed_claims.push_back(*std::move(claimed));
    }
    return questions;
  }

  // False if some condition follows from no other: nobody knows what a C++ function asks. Such a
  // rule need not be compared with others.
  static bool MayFollow(const CompiledRule& rule) {
    return std::all_of(rule.conditions.begin(), rule.conditions.end(),
                       [](const ConditionCode& condition) {
                         const ConditionNode& node = *condition.source;
                         return node.kind == ConditionNode::Kind::kShape ||
                                node.asks != ConditionNode::Asks::kOther || node.term != nullptr ||
                                node.assumption != Assumption::kNone;
                       });
  }

  // The op that computes the value with which the rule replaces its root, if there is one.
  static std::optional<OpId> MadeRoot(const CompiledRule& rule) {
    const Node& made = rule.nodes[rule.results[0].node];
    return made.kind == ValNode::Kind::kOp ? std::optional(made.info->id()) : std::nullopt;
  }

  // The rules before this one that may match whatever it matches, or undo it.
  std::vector<uint16_t> Rivals(uint16_t rule) const {
    std::vector<uint16_t> rivals;
    if (const Automaton* automaton = set_.AutomatonAt(rules_[rule]->anchors[0]))
      rivals = automaton->MayMatchAllOf(rule);
    const std::optional<OpId> made = MadeRoot(*rules_[rule]);
    for (const OpId op : made ? rules_[rule]->anchors : std::vector<OpId>()) {
      const auto undoing = by_ends_.find({*made, op});
      if (undoing == by_ends_.end()) continue;
      rivals.insert(rivals.end(), undoing->second.begin(), undoing->second.end());
    }
    std::erase_if(rivals, [&](uint16_t other) {
      if (other >= rule || !may_follow_[other]) return true;
      const Numbers &general = numbers_[other], &specific = numbers_[rule];
      return !std::includes(specific.all.begin(), specific.all.end(), general.needed.begin(),
                            general.needed.end());
    });
    std::sort(rivals.begin(), rivals.end());
    rivals.erase(std::unique(rivals.begin(), rivals.end()), rivals.end());
    return rivals;
  }

  bool MatchesResult(const CompiledRule& general, const CompiledRule& made) const {
    return fires_[NumberOf(general)] && general.conditions.empty() && made.results.size() == 1 &&
           Subsumption(general, made, true).Holds(general.roots[0], made.results[0]);
  }

  bool FiresAt(const CompiledRule& rule, const Instance& instance) {
    return matcher_.Match(rule, instance.anchor) && WhyRefused(matcher_, {}).empty();
  }

  absl::Status FindSelf(const CompiledRule& rule) {
    if (!MatchesResult(rule, rule)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        fmt::format("rule {} matches what it makes, and would never "
                    "end{}",
                    Named(rule), Witness(Any(rule))));
  }

  absl::Status FindUndone(const CompiledRule& first, const CompiledRule& second) {
    if (!second.conditions.empty() || !first.conditions.empty() || !MatchesResult(first, second) ||
        !MatchesResult(second, first))
      return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format("rules {} and {} undo each other{}", Named(first),
                                                  Named(second), Witness(Any(first))));
  }

  // Does the first come before the second wherever both match?
  bool IsTriedFirst(const CompiledRule& first, const CompiledRule& second) const {
    // What waits for the end is no obstacle before.
    const bool always =
        first.rule->stage() == RuleStage::kFusion || second.rule->stage() == RuleStage::kFinal;
    const bool distinct = second.coincide.empty() || !first.coincide.empty();
    return always && distinct && fires_[NumberOf(first)] && second.roots.size() == 1;
  }

  absl::Status FindShadow(const CompiledRule& first, const CompiledRule& second) {
    if (!IsTriedFirst(first, second)) return absl::OkStatus();
    Subsumption subsumption(first, second, false);
    if (!subsumption.Holds(first.roots[0], second.roots[0]) || !subsumption.ConditionsFollow())
      return absl::OkStatus();
    // The rule before may still be refused where it is applied, for the type of what it makes.
    std::string program;
    bool fires = true;
    const bool assumes = std::any_of(second.conditions.begin(), second.conditions.end(),
                                     [](const ConditionCode& condition) {
                                       return condition.source->assumption != Assumption::kNone;
                                     });
    // What has no proof fires with fast math only.
    for (const bool fast_math : {false, true}) {
      if (!program.empty() || !fires || (fast_math && !assumes)) continue;
      matcher_.set_fast_math(fast_math);
      for (Programs programs(second, context_, kWitnesses);
           !programs.done() && program.empty() && fires;) {
        const std::optional<Instance> instance = programs.Next();
        if (!instance || !FiresAt(second, *instance)) continue;
        fires = FiresAt(first, *instance);
        if (fires) program = Print(*instance->module);
      }
    }
    matcher_.set_fast_math(false);
    if (!fires) return absl::OkStatus();
    return absl::InvalidArgumentError(
        fmt::format("rule {} is never reached: {} matches whatever it matches and is tried first{}",
                    Named(second), Named(first), Witness(program)));
  }

  // A rule that matches the structure of another one, and its conditions on that.
  struct Partial {
    const CompiledRule* rule;
    Subsumption subsumption;
  };

  // True if one of the rules matches wherever `facts` hold. `group` receives the rules that this
  // takes: at most `most` in a row, each of them where a condition of the one before fails.
  static bool Covers(std::vector<Partial>& rules, const std::vector<Subsumption::Fact>& facts,
                     int most, std::vector<const CompiledRule*>& group) {
    for (Partial& partial : rules) {
      if (std::find(group.begin(), group.end(), partial.rule) != group.end()) continue;
      const auto unproved = partial.subsumption.Unproved(facts);
      if (!unproved || (!unproved->empty() && most == 1)) continue;
      const size_t before = group.size();
      group.push_back(partial.rule);
      const bool covers =
          std::all_of(unproved->begin(), unproved->end(), [&](const Subsumption::Fact& fact) {
            std::vector<Subsumption::Fact> known = facts;
            Subsumption::AddNegation(fact, known);
            return Covers(rules, known, most - 1, group);
          });
      if (covers) return true;
      group.resize(before);
    }
    return false;
  }

  // Rules that together match whatever the second one matches, though none does alone: one asks for
  // what the other one rules out.
  absl::Status FindSharedShadow(const std::vector<uint16_t>& rivals, const CompiledRule& second) {
    constexpr int kMostTogether = 3;
    constexpr size_t kMostRivals = 8;
    if (rivals.size() < 2) return absl::OkStatus();
    std::vector<Partial> rules;
    std::vector<Subsumption::Fact> facts;
    for (const uint16_t rival : rivals) {
      const CompiledRule& first = *rules_[rival];
      if (!IsTriedFirst(first, second) || first.conditions.empty()) continue;
      Subsumption subsumption(first, second, false);
      if (!subsumption.Holds(first.roots[0], second.roots[0])) continue;
      facts = subsumption.Facts();
      rules.push_back({&first, std::move(subsumption)});
      if (rules.size() == kMostRivals) break;
    }
    std::vector<const CompiledRule*> group;
    if (rules.size() < 2 || !Covers(rules, facts, kMostTogether, group) || group.size() < 2)
      return absl::OkStatus();
    // As for one rule: some may be refused where they are applied.
    std::string program;
    size_t seen = 0;
    for (Programs programs(second, context_, kWitnesses); !programs.done() && seen < kSearched;) {
      const std::optional<Instance> instance = programs.Next();
      if (!instance || !FiresAt(second, *instance)) continue;
      if (std::none_of(group.begin(), group.end(),
                       [&](const CompiledRule* rule) { return FiresAt(*rule, *instance); }))
        return absl::OkStatus();
      if (seen++ == 0) program = Print(*instance->module);
    }
    std::vector<std::string> names;
    for (const CompiledRule* rule : group) names.push_back(Named(*rule));
    return absl::InvalidArgumentError(fmt::format(
        "rule {} is never reached: {} together match whatever it matches and are tried first{}",
        Named(second), fmt::join(names, " and "), Witness(program)));
  }

  // Rules of which one is applied again and again if a rewrite never ends. Each application takes
  // its root away, so that some of them must make roots for each. Those that only shrink the
  // program cannot go on without another one.
  std::vector<const CompiledRule*> InCycles() const {
    std::vector<const CompiledRule*> left = rules_;
    const auto makes = [](const CompiledRule& rule, const std::set<OpId>& ops) {
      return std::any_of(rule.creation_order.begin(), rule.creation_order.end(), [&](uint16_t n) {
        const Node& node = rule.nodes[n];
        return node.kind == ValNode::Kind::kOp && ops.count(node.info->id()) > 0;
      });
    };
    for (size_t before = left.size() + 1; before != left.size();) {
      before = left.size();
      std::set<OpId> made, roots;
      for (const CompiledRule* rule : left) {
        roots.insert(rule->anchors.begin(), rule->anchors.end());
        for (uint16_t n : rule->creation_order) {
          const Node& node = rule->nodes[n];
          if (node.kind == ValNode::Kind::kOp) made.insert(node.info->id());
        }
      }
      std::erase_if(left, [&](const CompiledRule* rule) {
        return !makes(*rule, roots) || std::none_of(rule->anchors.begin(), rule->anchors.end(),
                                                    [&](OpId op) { return made.count(op) > 0; });
      });
    }
    std::erase_if(left, [](const CompiledRule* rule) { return Shrinks(*rule); });
    return left;
  }

  // Rewrites programs of the rule with all of them.
  absl::Status FindCycle(const CompiledRule& rule) {
    if (rule.rule->requires_kernel()) return absl::OkStatus();
    DriverOptions options;
    options.emit = false;
    options.labels = &labels_;
    for (Programs programs(rule, context_, kSearched); !programs.done();) {
      const std::optional<Instance> instance = programs.Next();
      if (!instance || !FiresAt(rule, *instance)) continue;
      const std::string program = Print(*instance->module);
      PassContext pass;
      std::map<std::string, int64_t, std::less<>> counts;
      pass.rule_counts = &counts;
      const auto applied = ApplyRules(set_, instance->module.get(), pass, options);
      if (applied.ok()) continue;
      if (absl::IsResourceExhausted(applied.status()))
        return absl::InvalidArgumentError(
            fmt::format("{}{}", std::string(applied.status().message()), Witness(program)));
      const bool alone = counts.size() == 1 && counts.begin()->first == rule.rule->name();
      return absl::InvalidArgumentError(
          fmt::format("rule {} {}: {}{}", Named(rule),
                      alone ? "matches what it makes, and would never end"
                            : "starts a rewrite that would never end, together with other rules",
                      std::string(applied.status().message()), Witness(program)));
    }
    return absl::OkStatus();
  }

  // A program of the rule as text; empty if none can be made.
  std::string Any(const CompiledRule& rule) {
    for (Programs programs(rule, context_, kWitnesses); !programs.done();) {
      const std::optional<Instance> instance = programs.Next();
      if (instance && FiresAt(rule, *instance)) return Print(*instance->module);
    }
    return "";
  }

  const CompiledRules& set_;
  const std::vector<const CompiledRule*>& rules_;
  Context& context_;
  Matcher matcher_;
  std::vector<Numbers> numbers_;      // by rule
  std::vector<Questions> questions_;  // by rule
  std::vector<bool> may_follow_;      // by rule: MayFollow
  std::vector<bool> fires_;           // by rule: Fires
  std::shared_ptr<Labels> labels_;    // of the searches for cycles
  // Rules by an op that they replace and the op that they put in its place.
  std::map<std::pair<OpId, OpId>, std::vector<uint16_t>> by_ends_;
};

}  // namespace

absl::Status FindConflicts(const CompiledRules& set, const std::vector<const CompiledRule*>& rules,
                           Context& context) {
  return Conflicts(set, rules, context).Run();
}

}  // namespace tenon::drr
