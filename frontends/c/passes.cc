#include "frontends/c/passes.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drr/compile/compiled.h"
#include "drr/rewrite/driver.h"
#include "drr/text/text.h"
#include "executor/evaluator.h"
#include "executor/passes.h"
#include "frontends/c/convert.h"
#include "frontends/c/errors.h"
#include "frontends/c/objects.h"
#include "frontends/cpp/passes.h"
#include "pass/rewrite_step.h"
#include "patterns/facts/facts.h"
#include "transforms/rules/rule_cache.h"

namespace c = tenon::c;

namespace tenon::c {
namespace {

using RuleCounts = std::map<std::string, int64_t, std::less<>>;

void TellRules(const RuleCounts& counts, TenonRuleFn on_rule, void* state) {
  if (on_rule == nullptr) return;
  for (const auto& [rule, hits] : counts) on_rule(ToC(std::string_view(rule)), hits, state);
}

// Tells a callback of the passes that begin.
class Progress : public RewriteObserver {
 public:
  Progress(TenonProgressFn on_pass, void* state) : on_pass_(on_pass), state_(state) {}
  void PassBegins(std::string_view text, Operation* /*op*/) override {
    on_pass_(ToC(text), state_);
  }

 private:
  TenonProgressFn on_pass_;
  void* state_;
};

absl::Status ReadOptimizeOptions(const TenonOptimizeOptions& given, OptimizeOptions& options) {
  if (given.level < TENON_LEVEL_DEFAULT || given.level > TENON_O3)
    return Wrong("there is no level {} (expected TENON_O0 to TENON_O3)",
                 static_cast<int>(given.level));
  if (given.level != TENON_LEVEL_DEFAULT) options.level = given.level - TENON_O0;
  if (given.precision < TENON_PRECISION_FP32 || given.precision > TENON_PRECISION_INT8)
    return Wrong("there is no precision {}", static_cast<int>(given.precision));
  options.precision = static_cast<Precision>(given.precision);
  if (given.threads < TENON_ALL_CORES) return Wrong("there are no {} threads", given.threads);
  options.threads = given.threads == 0 ? 1 : given.threads == TENON_ALL_CORES ? 0 : given.threads;
  std::string_view pipeline;
  TENON_RETURN_IF_ERROR(ReadText(given.pipeline, "pipeline", pipeline));
  options.pipeline = pipeline;
  options.fast_math = given.fast_math;
  options.verify_each = given.verify_each;
  TENON_RETURN_IF_ERROR(
      ReadTexts(given.rule_files, given.num_rule_files, "rule_files", options.rule_files));
  return ReadTexts(given.disabled_rules, given.num_disabled_rules, "disabled_rules",
                   options.disabled_rules);
}

absl::Status OptimizeModel(TenonModel& model, const TenonOptimizeOptions& given) {
  OptimizeOptions options;
  TENON_RETURN_IF_ERROR(ReadOptimizeOptions(given, options));
  std::unique_ptr<Progress> progress;
  if (given.on_pass != nullptr) {
    progress = std::make_unique<Progress>(given.on_pass, given.state);
    options.observer = progress.get();
  }
  const CancelToken* const token = given.cancel == nullptr ? nullptr : &given.cancel->token;
  if (token != nullptr) {
    if (token->cancelled()) return absl::CancelledError("optimizing was cancelled");
    options.allow_rewrite = [token](const RewriteStep&) { return !token->cancelled(); };
  }
  OptimizeReport report;
  const absl::Status status = Optimize(model.model, options, &report);
  // Some passes fail where changes before them were left out.
  if (token != nullptr && token->cancelled())
    return absl::CancelledError("optimizing was cancelled");
  TENON_RETURN_IF_ERROR(status);
  TellRules(report.rules, given.on_rule, given.state);
  return absl::OkStatus();
}

// The options of a pass. `choices` keeps their lists of texts.
std::vector<TenonPassOption> OptionsOf(const PassInfo& pass,
                                       std::vector<std::vector<TenonString>>& choices) {
  std::vector<TenonPassOption> options;
  choices.reserve(pass.options.size());
  for (const PassOption& option : pass.options) {
    std::vector<TenonString>& texts = choices.emplace_back();
    for (const std::string& choice : option.choices) texts.push_back(ToC(std::string_view(choice)));
    options.push_back(
        {ToC(std::string_view(option.name)), static_cast<TenonPassOptionType>(option.type),
         ToC(std::string_view(option.default_text)), ToC(std::string_view(option.help)),
         texts.empty() ? nullptr : texts.data(), texts.size(), option.required});
  }
  return options;
}

// The kernels of the extension are there, too.
std::shared_ptr<const kernels::KernelRegistry> KernelsOf(const Model& model) {
  if (model.extension() == nullptr) return MakeKernelRegistry();
  return MakeKernelRegistry(model.extension()->kernels);
}

absl::Status ApplyTextRules(const Model& model, std::string_view text, const std::string& name,
                            RuleCounts& counts) {
  TENON_ASSIGN_OR_RETURN(std::vector<drr::Rule> rules,
                         drr::ParseRules(text, name, model.context(), pattern::Facts()));
  TENON_RETURN_IF_ERROR(CheckRuleNames(rules));
  TENON_ASSIGN_OR_RETURN(const drr::CompiledRules compiled,
                         drr::CompiledRules::Create(std::move(rules), model.context()));
  const std::shared_ptr<const kernels::KernelRegistry> kernels = KernelsOf(model);
  ReferenceEvaluator evaluator(kernels, {.all = ReferenceEvaluator::kCompilingSteps});
  KernelTarget target(kernels);
  PassContext context;
  context.evaluator = &evaluator;
  context.target = &target;
  context.rule_counts = &counts;
  return drr::ApplyRules(compiled, model.module(), context).status();
}

}  // namespace
}  // namespace tenon::c

TenonStatus* tenonModelOptimize(TenonModel* model, const TenonOptimizeOptions* options) {
  if (model == nullptr) return c::ToC(c::NotNull(model, "model"));
  return c::AnswerIn(model->model.context(), "optimizing", [&]() -> absl::Status {
    TenonOptimizeOptions given;
    TENON_RETURN_IF_ERROR(c::ReadOptions(options, "options", given));
    TENON_RETURN_IF_ERROR(c::CheckModel(model));
    return c::OptimizeModel(*model, given);
  });
}

TenonStatus* tenonModelApplyRules(TenonModel* model, TenonString rules, TenonString name,
                                  TenonRuleFn on_rule, void* state) {
  if (model == nullptr) return c::ToC(c::NotNull(model, "model"));
  TenonStatus* const answer =
      c::AnswerIn(model->model.context(), "applying rules", [&]() -> absl::Status {
        TENON_RETURN_IF_ERROR(c::CheckModel(model));
        std::string_view text, called;
        TENON_RETURN_IF_ERROR(c::ReadText(rules, "rules", text));
        TENON_RETURN_IF_ERROR(c::ReadText(name, "name", called));
        c::RuleCounts counts;
        TENON_RETURN_IF_ERROR(c::ApplyTextRules(model->model, text, std::string(called), counts));
        c::TellRules(counts, on_rule, state);
        return absl::OkStatus();
      });
  return c::WithPlaceInText(answer, c::FromC(name));
}

TenonStatus* tenonListPasses(const TenonExtension* extension, TenonPassInfoFn visit, void* state) {
  return c::Answer("listing passes", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(visit, "visit"));
    tenon::PassRegistry registry;
    TENON_RETURN_IF_ERROR(
        tenon::RegisterAllPasses(registry, extension == nullptr ? nullptr : &extension->extension));
    for (const auto& [name, pass] : registry.passes()) {
      std::vector<std::vector<TenonString>> choices;
      const std::vector<TenonPassOption> options = c::OptionsOf(pass, choices);
      const TenonPassInfo info = {c::ToC(std::string_view(name)),
                                  c::ToC(std::string_view(pass.summary)),
                                  c::ToC(std::string_view(pass.anchor)),
                                  {nullptr, 0},
                                  options.data(),
                                  options.size()};
      visit(&info, state);
    }
    for (const auto& [name, pipeline] : registry.pipelines()) {
      const TenonPassInfo info = {c::ToC(std::string_view(name)),
                                  c::ToC(std::string_view(pipeline.summary)),
                                  {nullptr, 0},
                                  c::ToC(std::string_view(pipeline.text)),
                                  nullptr,
                                  0};
      visit(&info, state);
    }
    return absl::OkStatus();
  });
}
