#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <exception>
#include <optional>
#include <string_view>
#include <tuple>

#include "absl/cleanup/cleanup.h"
#include "fmt/format.h"
#include "frontends/cpp/extension.h"
#include "frontends/cpp/passes.h"
#include "frontends/cpp/rules/given_rules.h"
#include "frontends/python/bindings/extend/passes.h"
#include "frontends/python/bindings/model.h"
#include "frontends/python/bindings/pictures.h"
#include "frontends/python/bindings/rules.h"
#include "ir/core/clone.h"
#include "pass/pass_manager.h"
#include "pass/rewrite_step.h"
#include "pass/rule_log.h"

namespace tenon::python {
namespace {

using Clock = std::chrono::steady_clock;

// What a pass did, in the order in which passes begin.
struct PassRecord {
  std::string text,      // its entry of the pipeline
      op;                // the name of the op that it ran on
  double seconds = 0;    // with the passes inside
  int depth = 0;         // of the pipelines around it
  bool changed = false;  // what it reported
};

// Measures passes, counts steps, and tells a function of Python of each pass. An exception of that
// function is kept; further steps are then not allowed, so that the run ends soon.
class Progress : public RewriteObserver {
 public:
  explicit Progress(nb::object callback) : callback_(std::move(callback)) {}

  void PassBegins(std::string_view text, Operation* op) override {
    open_.emplace_back(passes_.size(), Clock::now());
    passes_.push_back(
        {std::string(text), std::string(op->name()), 0, static_cast<int>(open_.size()) - 1, false});
    Tell(text);
  }
  void PassEnds(Operation* /*op*/, bool changed) override {
    if (open_.empty()) return;
    const auto [index, start] = open_.back();
    open_.pop_back();
    passes_[index].seconds = std::chrono::duration<double>(Clock::now() - start).count();
    passes_[index].changed = changed;
  }
  void StepBegins(const RewriteStep& /*step*/) override { ++steps_; }

  // Whether the function has not failed.
  bool going() const { return !failure_.has_value(); }
  // Raises what the function has raised.
  void Rethrow() {
    if (failure_.has_value()) std::rethrow_exception(*failure_);
  }
  const std::vector<PassRecord>& passes() const { return passes_; }
  int64_t steps() const { return steps_; }

 private:
  void Tell(std::string_view text) {
    if (callback_.is_none() || failure_.has_value()) return;
    const nb::gil_scoped_acquire locked;
    try {
      callback_(nb::str(text.data(), text.size()), steps_);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  nb::object callback_;
  std::vector<PassRecord> passes_;
  std::vector<std::pair<size_t, Clock::time_point>> open_;
  int64_t steps_ = 0;
  std::optional<std::exception_ptr> failure_;
};

// Records what a picture of both programs shows.
struct Viewing {
  view::OriginRecorder origins;
  RuleLog log;
  view::Comparison shown;

  void Begin(const Model& model, std::string pipeline) {
    log.wanted = [](std::string_view) { return true; };
    log.only_near = true;
    shown.input = NameOfModel(model.files());
    shown.pipeline = std::move(pipeline);
    shown.before = view::ReadProgram(*model.module());
  }
  void End(const Operation& module) {
    shown.after = view::ReadProgram(module);
    view::Compare(origins, shown);
    view::AddMisses(log, shown);
  }
};

using RuleTexts = std::vector<std::pair<std::string, std::string>>;  // name of the text, text

// A model with a copy of the module of `model`, which gets the rules of `texts` and `passes` too.
absl::StatusOr<Model> WithAdded(const Model& model, const RuleTexts& texts,
                                const std::vector<PassInfo>& passes, const std::string& pipeline) {
  Model copy = model.Clone();
  if (texts.empty() && passes.empty()) return copy;
  auto extension = model.extension() == nullptr ? std::make_shared<Extension>()
                                                : std::make_shared<Extension>(*model.extension());
  extension->passes.insert(extension->passes.end(), passes.begin(), passes.end());
  for (const auto& [name, text] : texts) {
    absl::StatusOr<std::vector<drr::Rule>> rules = TextRules(text, name, model.context());
    if (!rules.ok()) return rules.status();
    extension->rules.insert(extension->rules.end(), rules->begin(), rules->end());
  }
  PassRegistry registry;
  if (absl::Status status = RegisterAllPasses(registry, extension.get()); !status.ok())
    return status;
  PassManager manager(registry);
  if (absl::Status status = manager.AddPipeline(pipeline); !status.ok()) return status;
  if (!texts.empty()) {
    absl::StatusOr<GivenRuleReport> report =
        CheckGivenRules(extension->rules, {}, manager, model.context());
    if (!report.ok()) return report.status();
    for (const std::string& warning : report->warnings)
      EmitWarning(model.context(), copy.module()->location(), warning);
  }
  OwnedOp module(Clone(*copy.module()));
  return Model(copy.shared_context(), std::move(module), copy.files(), std::move(extension),
               copy.info());
}

// The optimized model without what WithAdded gave to it, which holds for one call.
std::shared_ptr<const Model> WithoutAdded(Model model, const Model& before, bool has_added) {
  if (!has_added) return std::make_shared<const Model>(std::move(model));
  OwnedOp module(Clone(*model.module()));
  return std::make_shared<const Model>(model.shared_context(), std::move(module), model.files(),
                                       before.extension(), model.info());
}

nb::dict OptimizeHandle(ModelHandle& handle, int level, const std::string& pipeline,
                        const std::string& precision, std::vector<std::string> rule_files,
                        const RuleTexts& rule_texts, std::vector<std::string> disabled_rules,
                        bool fast_math, bool verify_each, int threads, std::string explain,
                        nb::object progress, bool view) {
  OptimizeOptions options;
  options.level = level;
  options.pipeline = pipeline;
  options.rule_files = std::move(rule_files);
  options.disabled_rules = std::move(disabled_rules);
  options.fast_math = fast_math;
  options.verify_each = verify_each;
  options.threads = threads;
  options.explain_rule = std::move(explain);
  std::string explained;
  options.report = [&explained](std::string_view line) {
    explained.append(line);
    if (!explained.ends_with('\n')) explained.push_back('\n');
  };
  bool known = false;
  for (const Precision each : kPrecisions) {
    if (Name(each) != precision) continue;
    options.precision = each;
    known = true;
  }
  if (!known) {
    Raise(absl::InvalidArgumentError(
        fmt::format("there is no precision '{}' (expected fp32, bf16 or int8)", precision)));
  }
  if (handle.optimizing().exchange(true)) {
    Raise(absl::FailedPreconditionError(
        "the model is being optimized, by another thread or by the caller of this function"));
  }
  const absl::Cleanup done = [&handle] { handle.optimizing() = false; };
  const bool asked = !progress.is_none();
  Progress observer(std::move(progress));
  Viewing viewing;
  RewriteObservers observers;
  observers.Add(&observer);
  if (view) observers.Add(&viewing.origins);
  // An observer makes one thread do everything.
  if (threads == 1 || asked || view) options.observer = &observers;
  if (view) options.rule_log = &viewing.log;
  if (asked) options.allow_rewrite = [&observer](const RewriteStep&) { return observer.going(); };
  OptimizeReport report;
  absl::Status status;
  const std::shared_ptr<const Model> before = handle.Get();
  const auto counts = std::make_shared<PassCounts>();
  // Levels name no passes of Python.
  std::vector<PassInfo> added_passes;
  if (!pipeline.empty()) added_passes = RegisteredPasses({before, handle.log(), counts});
  const bool has_added = !rule_texts.empty() || !added_passes.empty();
  // What a pass in Python has made of one function may be wrong for its callers.
  options.verify_each |= !added_passes.empty();
  const Clock::time_point start = Clock::now();
  {
    const nb::gil_scoped_release unlocked;
    status = [&] {
      absl::StatusOr<Model> model =
          WithAdded(*before, rule_texts, added_passes,
                    pipeline.empty() ? std::string(OptPipeline(level)) : pipeline);
      if (!model.ok()) return model.status();
      if (view) viewing.Begin(*before, pipeline.empty() ? fmt::format("O{}", level) : pipeline);
      absl::Status optimized = Optimize(*model, options, &report);
      if (view && optimized.ok() && observer.going()) viewing.End(*model->module());
      if (optimized.ok() && observer.going())
        handle.Set(WithoutAdded(*std::move(model), *before, has_added));
      return optimized;
    }();
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  observer.Rethrow();
  if (!status.ok()) Raise(status, handle.log()->Take());
  nb::dict result;
  result["rules"] =
      nb::cast(std::map<std::string, int64_t>(report.rules.begin(), report.rules.end()));
  result["precision"] = std::string(Name(report.precision));
  result["seconds"] = seconds;
  result["steps"] = observer.steps();
  result["explained"] = explained;
  result["statistics"] = nb::cast(counts->Get());
  nb::list passes;
  for (const PassRecord& pass : observer.passes())
    passes.append(nb::make_tuple(pass.text, pass.op, pass.seconds, pass.depth, pass.changed));
  result["passes"] = passes;
  result["view"] = view ? nb::cast(Picture(std::move(viewing.shown))) : nb::none();
  return result;
}

}  // namespace

void BindOptimize(nb::class_<ModelHandle>& model) {
  model.def("optimize", OptimizeHandle, nb::kw_only(), nb::arg("level"), nb::arg("pipeline"),
            nb::arg("precision"), nb::arg("rule_files"), nb::arg("rule_texts"),
            nb::arg("disabled_rules"), nb::arg("fast_math"), nb::arg("verify_each"),
            nb::arg("threads"), nb::arg("explain"), nb::arg("progress").none(), nb::arg("view"));
}

}  // namespace tenon::python
