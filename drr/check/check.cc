#include "drr/check/check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/status/statusor.h"
#include "drr/check/edges.h"
#include "drr/check/instance.h"
#include "drr/check/plain_results.h"
#include "drr/check/run.h"
#include "drr/match/matcher.h"
#include "drr/rewrite/rewriter.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/text/printer.h"

namespace tenon::drr {
namespace {

class Checker {
 public:
  Checker(const CompiledRule& rule, Context& context, Evaluator& evaluator,
          const CheckOptions& options)
      : rule_(rule),
        facts_(rule),
        context_(context),
        evaluator_(evaluator),
        options_(options),
        matcher_(context),
        random_(options.seed),
        asks_about_numbers_(AsksAboutNumbers(rule)) {
    report_.rule = rule.rule->name();
  }

  CheckReport Run() {
    for (uint16_t n = 0, end = static_cast<uint16_t>(rule_.nodes.size()); n < end; ++n) {
      const Node& node = rule_.nodes[n];
      if (node.kind != ValNode::Kind::kAnyOf || !node.in_source) continue;
      for (size_t i = 0; i < node.alternatives.size(); ++i)
        targets_.push_back({n, static_cast<int>(i)});
    }
    if (targets_.empty()) targets_.push_back({kNone, 0});
    std::vector<int> least(targets_.size(), -1), least_of_integers = least;
    std::vector<std::string> whys(targets_.size()), whys_of_integers = whys;
    for (DType dtype : DTypes()) {
      std::vector<int> matches = Matches(dtype, IsFloat(dtype) ? whys : whys_of_integers);
      if (!IsFloat(dtype)) {
        for (size_t t = 0; t < targets_.size(); ++t)
          least_of_integers[t] = std::max(least_of_integers[t], matches[t]);
        continue;
      }
      if (std::all_of(matches.begin(), matches.end(), [](int m) { return m == 0; })) {
        report_.skipped.push_back(dtype);
        continue;
      }
      for (size_t t = 0; t < targets_.size(); ++t) {
        if (matches[t] == 0) continue;  // a spelling that this element type does not have
        least[t] = least[t] < 0 ? matches[t] : std::min(least[t], matches[t]);
      }
    }
    // A rule that takes no floats is checked with what it takes.
    if (std::all_of(least.begin(), least.end(), [](int matches) { return matches < 0; }) &&
        std::any_of(least_of_integers.begin(), least_of_integers.end(),
                    [](int matches) { return matches > 0; })) {
      least = least_of_integers;
      whys = whys_of_integers;
    }
    if (!no_kernel_.empty() && report_.failures.empty() &&
        std::all_of(least.begin(), least.end(), [](int matches) { return matches <= 0; })) {
      report_.no_kernel = true;
      report_.failures.push_back(no_kernel_ + ", so that no program of the rule can be run");
      return std::move(report_);
    }
    for (size_t t = 0; t < targets_.size(); ++t) {
      auto [n, alternative] = targets_[t];
      std::string text =
          n == kNone
              ? ToString(rule_.rule->roots()[0])
              : ToString(rule_.nodes[n].source->alternatives[static_cast<size_t>(alternative)]);
      least[t] = std::max(least[t], 0);
      if (least[t] < options_.matches && report_.failures.empty()) {
        report_.failures.push_back(fmt::format("only {} of {} instances match with {}{}{}",
                                               least[t], options_.matches, text,
                                               whys[t].empty() ? "" : ": ", whys[t]));
      }
      report_.alternatives.push_back({std::move(text), least[t]});
    }
    if (report_.failures.empty()) CheckEdges();
    if (report_.failures.empty()) report_.verdict = CheckReport::Verdict::kRight;
    return std::move(report_);
  }

 private:
  // Those of the options, and what conditions ask for.
  std::vector<DType> DTypes() const {
    std::vector<DType> dtypes = options_.dtypes;
    for (const ConditionCode& condition : rule_.conditions) {
      for (const DType asked : TypesIn(*condition.source))
        if (std::find(dtypes.begin(), dtypes.end(), asked) == dtypes.end()) dtypes.push_back(asked);
    }
    return dtypes;
  }

  // The element types that a condition names.
  static std::vector<DType> TypesIn(const ConditionNode& condition) {
    std::vector<DType> types;
    if (condition.dtype != DType::kInvalid) types.push_back(condition.dtype);
    if (condition.term != nullptr) AddTypes(*condition.term, types);
    for (const auto& conjunction : condition.parts) {
      for (const auto& part : conjunction) {
        const std::vector<DType> more = TypesIn(*part);
        types.insert(types.end(), more.begin(), more.end());
      }
    }
    return types;
  }

  static void AddTypes(const TermNode& term, std::vector<DType>& types) {
    if (const DType* type = std::get_if<DType>(&term.literal)) types.push_back(*type);
    for (const TermRef& operand : term.operands) AddTypes(*operand, types);
  }

  // Matches of each target in one element type, and what stood in the way of the last instance that
  // was no match. Stops at the first wrong result.
  std::vector<int> Matches(DType dtype, std::vector<std::string>& whys) {
    std::vector<int> counts(targets_.size(), 0);
    std::vector<InstancePlan> fired;
    // Plain numbers are what rules may assume.
    matcher_.set_fast_math(true);
    const int attempts = IsFloat(dtype) ? options_.attempts : options_.attempts / 10;
    // Few decisions depend on the type. One in which the rule fires on none of the programs on
    // which it fired in another type, and on none of some new ones, is one that it does not take.
    constexpr int kSome = 100;
    const bool is_taken = fired_.empty() || FiresOnAny(fired_, dtype);
    const int vain = is_taken ? attempts / 4 : std::min(kSome, attempts / 4);
    for (size_t t = 0; t < targets_.size(); ++t) {
      auto [n, alternative] = targets_[t];
      // Whether ops take a type does not depend on shapes and numbers.
      constexpr int kRefusals = 300;
      int built = 0, refused = 0;
      for (int i = 0; i < attempts && counts[t] < options_.matches && report_.failures.empty();
           ++i) {
        if (i == vain && counts[t] == 0) break;
        // As many as are asked for will not be drawn.
        const bool is_rare = (i == 2 * kSome && counts[t] == 0) ||
                             (i == attempts / 10 && counts[t] < options_.matches / 10);
        if (fired_.empty() && is_rare) facts_.seeks = true;
        if (built == 0 && refused >= kRefusals) {
          whys[t] = kRefused;
          break;
        }
        std::optional<InstancePlan> plan =
            InstancePlan::Make(facts_, context_, random_, n, alternative, &why_);
        if (plan && asks_about_numbers_ && i % 2 == 1) plan->Guard(random_, dtype, true);
        const bool fires = plan && Try(*plan, dtype);
        if (plan) ++(built_ ? built : refused);
        if (!fires) {
          whys[t] = why_;
          continue;
        }
        if (report_.wrong()) Shrink(n, alternative, dtype);
        if (n != kNone && taken_[n] != alternative)
          whys[t] = "an alternative in front of it matches instead";
        for (size_t u = 0; u < targets_.size(); ++u) {
          if (targets_[u].first == kNone || taken_[targets_[u].first] == targets_[u].second)
            ++counts[u];
        }
        if (fired_.empty()) fired.push_back(*std::move(plan));
      }
    }
    if (fired_.empty() && *std::min_element(counts.begin(), counts.end()) >= options_.matches)
      fired_ = std::move(fired);
    return counts;
  }

  // True if the rule fires on one of the programs. Notes a failure as Try does.
  bool FiresOnAny(const std::vector<InstancePlan>& programs, DType dtype) {
    for (const InstancePlan& program : programs) {
      if (!Try(program, dtype) && report_.failures.empty()) continue;
      if (report_.wrong()) Shrink(targets_[0].first, targets_[0].second, dtype);
      return true;
    }
    return false;
  }

  // True if the rule fired. Notes a failure if the result is wrong.
  bool Try(const InstancePlan& plan, DType dtype) {
    std::optional<Instance> instance = plan.Build(dtype);
    built_ = instance.has_value();
    if (!built_) {
      why_ = kRefused;
      return false;
    }
    // Made anew for who asks: the program is rewritten in place.
    const auto text = [&] {
      const std::optional<Instance> same = plan.Build(dtype);
      return InputsText(ArgumentsOf(*same)) + Print(*same->function);
    };
    const DType made = instance->anchor->result().type().dtype();
    NearMiss miss;
    if (!matcher_.Match(rule_, instance->anchor, &miss)) {
      why_ = matcher_.exhausted() ? matcher_.ExhaustedText() : miss.reason;
      // Others would take as long: what is not known is no answer.
      if (matcher_.exhausted())
        report_.failures.push_back(fmt::format("{}, in {}:\n{}", why_, Name(dtype), text()));
      return false;
    }
    taken_.clear();
    for (uint16_t n = 0, end = static_cast<uint16_t>(rule_.nodes.size()); n < end; ++n)
      taken_.push_back(matcher_.AlternativeOf(n));
    auto before = EvaluatePlain(*instance, evaluator_);
    if (!before.ok()) {
      NoteKernel(before.status());
      why_ = std::string(before.status().message());
      return false;
    }
    RewriteListener listener;
    const Refusal refused =
        Apply(matcher_, {.target = nullptr, .evaluator = &evaluator_, .measure = true}, listener);
    if (!refused.not_lowered.empty()) {
      report_.verdict = CheckReport::Verdict::kWrong;
      report_.failures.push_back(
          fmt::format("{} in {}:\n{}", refused.not_lowered, Name(dtype), text()));
      return true;
    }
    if (!refused.empty()) {
      why_ = refused.why;
      if (refused.for_shapes) {
        report_.verdict = CheckReport::Verdict::kWrong;
        report_.failures.push_back(
            fmt::format("the result cannot replace what is matched ({}) in {}:\n{}", refused.why,
                        Name(dtype), text()));
        return true;
      }
      // Nor do rules say that an operation computes with floats only.
      const bool reads_empty =
          std::any_of(instance->arguments.begin(), instance->arguments.end(),
                      [](const Numbers& numbers) { return numbers.values.empty(); });
      if (refused.for_operands && IsFloat(dtype) && !reads_empty) {
        report_.verdict = CheckReport::Verdict::kWrong;
        report_.failures.push_back(
            fmt::format("the result cannot be made, so a condition is missing ({}) in {}:\n{}",
                        refused.why, Name(dtype), text()));
        return true;
      }
      return false;
    }
    auto after = EvaluatePlain(*instance, evaluator_);
    if (!after.ok()) {
      NoteKernel(after.status());
      why_ = std::string(after.status().message());
      if (after.status().code() == absl::StatusCode::kUnimplemented) return false;
      report_.verdict = CheckReport::Verdict::kWrong;
      report_.failures.push_back(
          fmt::format("the result cannot be evaluated ({}) in {}:\n{}\n"
                      "becomes\n{}",
                      why_, Name(dtype), text(), Print(*instance->function)));
      return true;
    }
    absl::StatusOr<PlainResults> exact = *before;
    if (IsFloat(dtype) && dtype != DType::kF64) {
      // There is none of a rule with an element type of its own, as that of a conversion.
      std::optional<Instance> precise = plan.Build(DType::kF64);
      if (precise) exact = EvaluatePlain(*precise, evaluator_);
    }
    if (!exact.ok()) {
      why_ = std::string(exact.status().message());
      return false;
    }
    // A wider type of the result holds what a narrower one has rounded.
    const bool is_wider = IsFloat(dtype) && IsFloat(made) && EpsilonOf(dtype) > EpsilonOf(made);
    std::string wrong =
        ComparePlain(*exact, *before, *after, LargestArgument(*instance),
                     IsFloat(made) && !is_wider ? made : dtype, HasNumbersAsAttributes());
    if (!wrong.empty()) {
      report_.verdict = CheckReport::Verdict::kWrong;
      report_.failures.push_back(fmt::format("{} in {}:\n{}\nbecomes\n{}", wrong, Name(dtype),
                                             text(), Print(*instance->function)));
    }
    if (std::all_of(exact->values.begin(), exact->values.end(),
                    [](const auto& r) { return r.empty(); })) {
      why_ = "the results have no elements";
      return false;
    }
    if (report_.failures.empty() && !Ends(*instance)) {
      report_.verdict = CheckReport::Verdict::kWrong;
      report_.failures.push_back(
          fmt::format("it does not end: after {} more applications it still matches what it makes, "
                      "in {}:\n{}",
                      kMostApplications, Name(dtype), text()));
    }
    return true;
  }

  // Keeps the reason why a program cannot be run.
  void NoteKernel(const absl::Status& status) {
    if (status.code() == absl::StatusCode::kUnimplemented)
      no_kernel_ = std::string(status.message());
  }

  // Looks for a smaller program that shows a mistake too.
  void Shrink(uint16_t node, int alternative, DType dtype) {
    std::vector<std::string> smallest = std::move(report_.failures);
    for (int i = 0; i < kMostShrinks; ++i) {
      report_.failures.clear();
      std::optional<InstancePlan> plan =
          InstancePlan::Make(facts_, context_, random_, node, alternative, &why_);
      if (plan && Try(*plan, dtype) && !report_.failures.empty() &&
          report_.failures[0].size() < smallest[0].size())
        smallest = std::move(report_.failures);
    }
    report_.failures = std::move(smallest);
  }

  // Numbers at the edges of their types, extents that the program does not know, values that
  // coincide. Of the programs that show a mistake the smallest is told.
  void CheckEdges() {
    matcher_.set_fast_math(false);
    facts_.extremes = true;
    EdgeJudge judge(rule_, evaluator_, matcher_, random_);
    const bool writes_numbers = !NumbersBeside(rule_).empty();
    std::vector<DType> dtypes = DTypes();
    for (DType dtype : {DType::kBF16, DType::kI32})
      if (std::find(dtypes.begin(), dtypes.end(), dtype) == dtypes.end()) dtypes.push_back(dtype);
    // A proof holds for few programs, and is wrong for fewer.
    const int edges = judge.assumes() ? 3 * options_.edges : options_.edges;
    const int attempts = std::clamp(edges / std::max(rule_.num_ops, 1), edges / 24, edges);
    std::vector<Tries> tries(dtypes.size());
    std::optional<EdgeJudge::Outcome> smallest;
    DType in = DType::kInvalid;
    // Behind these, factors and what they take out of the type; then integers without a sign.
    const int hidden = attempts + attempts / 12;
    const int bytes = hidden + (ScalesNumbers() ? attempts / 2 : 0);
    Tries tried_bytes;
    int end = bytes + attempts / 12;
    for (int i = 0; i < end; ++i) {
      const auto [n, alternative] = targets_[static_cast<size_t>(i) % targets_.size()];
      std::optional<InstancePlan> plan =
          InstancePlan::Make(facts_, context_, random_, n, alternative, &why_);
      if (!plan) continue;
      const auto chance = [&](int of) {
        return std::uniform_int_distribution<int>(1, of)(random_) == 1;
      };
      const Extents extents = !chance(3)  ? Extents::kKnown
                              : chance(3) ? Extents::kUnranked
                              : chance(2) ? Extents::kNamed
                                          : Extents::kUnknown;
      if (chance(6)) plan->Coincide(random_);
      if (i >= attempts && i < hidden) plan->MixTypes(random_);
      size_t at = PickType(tries, dtypes);
      const bool is_hidden = i >= hidden && i < bytes;
      for (int draw = 0; is_hidden && draw < 8 && !IsNarrowFloat(dtypes[at]); ++draw)
        at = PickType(tries, dtypes);
      const DType dtype = i >= bytes ? DType::kU8 : dtypes[at];
      Tries& tried = i >= bytes ? tried_bytes : tries[at];
      if (i >= bytes && tried.fired == 0 && tried.made >= kEnough) break;
      EdgeJudge::How how;
      const int round = i / static_cast<int>(targets_.size()) % 4;
      if (is_hidden) {
        how.mode = EdgeMode::kHidden;
      } else if (round == 0) {
        how.mode = EdgeMode::kPlain;
        how.change = random_() | 1;
        // Attributes of axes would change unseen where the rank is unknown.
        how.extents = extents == Extents::kUnranked ? Extents::kKnown : extents;
      } else {
        how.mode = chance(2) ? EdgeMode::kWide : EdgeMode::kSpecial;
        if (round == 1 && chance(2)) {
          if (writes_numbers) how.mode = EdgeMode::kBetween;
        } else if (round == 1 && IsFloat(dtype) && dtype != DType::kF64) {
          how.mode = EdgeMode::kFine;  // f64 has nothing better that judges its rounding
        }
        how.extents = extents;
        how.unproven = judge.assumes() && chance(3);
      }
      if (asks_about_numbers_ && !how.unproven && !chance(judge.assumes() ? 4 : 2))
        plan->Guard(random_, dtype, how.mode == EdgeMode::kFine || how.mode == EdgeMode::kPlain);
      EdgeJudge::Outcome outcome = judge.Try(*std::move(plan), dtype, how);
      ++tried.made;
      if (outcome.fired) ++tried.fired;
      if (outcome.wrong.empty() || (smallest && smallest->size <= outcome.size)) continue;
      if (!smallest) end = std::min(end, i + std::max(attempts / 8, 1));
      smallest = std::move(outcome);
      in = dtype;
    }
    if (!smallest) return;
    report_.verdict = CheckReport::Verdict::kWrong;
    report_.failures.push_back(fmt::format("{} in {}:\n{}\nbecomes\n{}", smallest->wrong, Name(in),
                                           smallest->program, smallest->becomes));
  }

  // In a type in which a rule does not fire on so many programs it never does.
  static constexpr int kEnough = 40;
  // How many programs of one element type were made, and on how many the rule fired.
  struct Tries {
    int made = 0, fired = 0;
  };
  // Draws a type, by its number. One in which the rule never fires is left out after some tries.
  size_t PickType(const std::vector<Tries>& tries, const std::vector<DType>& dtypes) {
    std::vector<size_t> open;
    for (size_t t = 0; t < tries.size(); ++t)
      if (tries[t].fired > 0 || tries[t].made < kEnough) {
        open.push_back(t);
        // Its range is the narrowest: what leaves another type leaves it too.
        if (dtypes[t] == DType::kF16) open.push_back(t);
      }
    const size_t last = open.empty() ? tries.size() - 1 : open.size() - 1;
    const size_t drawn = std::uniform_int_distribution<size_t>(0, last)(random_);
    return open.empty() ? drawn : open[drawn];
  }

  // Is there an end to applying the rule to what it has made?
  bool Ends(Instance& instance) {
    for (int i = 0; i < kMostApplications; ++i) {
      bool applied = false;
      for (Operation& op : instance.function->region().front()) {
        RewriteListener listener;
        if (!matcher_.Match(rule_, &op) ||
            !Apply(matcher_, {nullptr, &evaluator_}, listener).empty())
          continue;
        applied = true;
        break;  // what was the next operation may be gone
      }
      if (!applied) return true;
    }
    return false;
  }

  // A float type that f64 judges.
  static bool IsNarrowFloat(DType dtype) { return IsFloat(dtype) && dtype != DType::kF64; }

  // Does the result graph multiply or divide?
  bool ScalesNumbers() const {
    return std::any_of(rule_.nodes.begin(), rule_.nodes.end(), [](const Node& node) {
      if (node.in_source || node.kind != ValNode::Kind::kOp) return false;
      const std::string_view op = node.info->name();
      return op == "ten.mul" || op == "ten.div" || op == "ten.reciprocal";
    });
  }

  // Does the result graph hold numbers as attributes of operations?
  bool HasNumbersAsAttributes() const {
    return std::any_of(rule_.nodes.begin(), rule_.nodes.end(), [](const Node& node) {
      return !node.in_source && std::any_of(node.attrs.begin(), node.attrs.end(),
                                            [](const auto& a) { return a.type == AttrType::kF32; });
    });
  }

  static constexpr int kMostApplications = 64, kMostShrinks = 100;
  static constexpr const char* kRefused = "the ops refuse the operands made for them";

  const CompiledRule& rule_;
  PlanFacts facts_;
  Context& context_;
  Evaluator& evaluator_;
  const CheckOptions& options_;
  Matcher matcher_;
  std::mt19937_64 random_;
  const bool asks_about_numbers_;
  std::vector<std::pair<uint16_t, int>>
      targets_;  // AnyOf node and alternative; kNone: the whole graph
  // Programs on which the rule fired in the first type in which it fired often enough.
  std::vector<InstancePlan> fired_;
  std::vector<int> taken_;  // by node, in the last match
  bool built_ = false;      // the last program that was tried: no op refused its operands
  std::string why_;
  std::string no_kernel_;  // which op has no reference kernel, in words
  CheckReport report_;
};

}  // namespace

absl::Status CheckReport::status() const {
  const std::string message =
      fmt::format("rule '{}': {}", rule,
                  failures.empty() ? "not checked" : fmt::format("{}", fmt::join(failures, "\n")));
  switch (verdict) {
    case Verdict::kRight:
      return absl::OkStatus();
    case Verdict::kInvalid:
      return absl::InvalidArgumentError(message);
    case Verdict::kWrong:
      return absl::FailedPreconditionError(message);
    case Verdict::kUnchecked:
      break;
  }
  return absl::NotFoundError(message);
}

CheckReport CheckRule(const Rule& rule, Context& context, Evaluator& evaluator,
                      const CheckOptions& options) {
  const absl::StatusOr<CompiledRule> compiled = CompileRule(rule, context);
  if (compiled.ok()) return Checker(*compiled, context, evaluator, options).Run();
  CheckReport report;
  report.rule = rule.name();
  report.verdict = CheckReport::Verdict::kInvalid;
  report.failures.emplace_back(compiled.status().message());
  return report;
}

}  // namespace tenon::drr
