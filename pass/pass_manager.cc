#include "pass/pass_manager.h"

#include "fmt/format.h"
#include "ir/base/suggest.h"
#include "ir/core/constants/keep_blobs.h"
#include "ir/core/context/context.h"
#include "pass/analysis_manager.h"
#include "pass/module_properties.h"
#include "pass/pass_report.h"
#include "pass/pass_runner.h"
#include "pass/pipeline.h"

namespace tenon {
namespace {

void ResetReports(PassPipeline& pipeline) {
  for (PipelineItem& item : pipeline.items) {
    item.statistics = Statistics();
    item.seconds = item.verify_seconds = 0;
    if (item.nested) ResetReports(*item.nested);
  }
}

void AddOptionsOf(std::string_view pass, const PassPipeline& pipeline,
                  std::vector<const PassOptionValues*>& found) {
  for (const PipelineItem& item : pipeline.items) {
    if (item.nested) {
      AddOptionsOf(pass, *item.nested, found);
    } else if (item.info->name == pass) {
      found.push_back(&item.values);
    }
  }
}

uint32_t PropertiesDestroyed(const PipelineItem& item) {
  if (!item.nested) return item.info->destroys;
  uint32_t destroyed = 0;
  for (const PipelineItem& inner : item.nested->items) destroyed |= PropertiesDestroyed(inner);
  return destroyed;
}

// InvalidArgument for a pass on an op that its dialect lacks: it would run on nothing, in silence.
absl::Status CheckAnchors(const PassPipeline& pipeline, const Context& context) {
  const std::string_view anchor = pipeline.anchor;
  const std::string_view dialect = anchor.substr(0, anchor.find('.'));
  if (context.HasDialect(dialect) && context.FindOp(anchor) == nullptr) {
    std::vector<std::string> names;
    for (const OpInfo* op : context.OpsOf(dialect)) names.emplace_back(op->name());
    return absl::InvalidArgumentError(
        fmt::format("a pass runs on '{}', which dialect '{}' does not have{}", anchor, dialect,
                    DidYouMean(anchor, names)));
  }
  for (const PipelineItem& item : pipeline.items) {
    if (item.nested != nullptr) TENON_RETURN_IF_ERROR(CheckAnchors(*item.nested, context));
  }
  return absl::OkStatus();
}

}  // namespace

struct PassManager::Impl {
  const PassRegistry* registry;
  PassPipeline pipeline;

  absl::StatusOr<PassResult> RunItems(Operation* module, PassRunner& runner) {
    PassResult result;
    AnalysisManager analyses(module);
    for (PipelineItem& item : pipeline.items) {
      TENON_ASSIGN_OR_RETURN(const uint32_t before, GetModuleProperties(*module, registry));
      const PassRunner::Outcome part = [&] {
        const KeepUnusedBlobs keep(module->context());
        return runner.RunItem(item, module, {analyses, before, nullptr});
      }();
      if (!part.status.ok()) {
        SetModuleProperties(*module, before & ~PropertiesDestroyed(item), registry);
        return part.status;
      }
      const bool properties_changed =
          SetModuleProperties(*module, PropertiesAfter(item, before), registry);
      result.changed |= part.changed || properties_changed;
      if (part.changed) module->context().ReleaseUnusedBlobs();
    }
    return result;
  }
};

PassManager::PassManager(const PassRegistry& registry) : impl_(std::make_unique<Impl>()) {
  impl_->registry = &registry;
}
PassManager::~PassManager() = default;

absl::Status PassManager::AddPipeline(std::string_view text) {
  return AppendPipelineText(*impl_->registry, text, impl_->pipeline);
}

absl::Status PassManager::AddPass(std::string_view name, std::string_view options) {
  return AppendPass(*impl_->registry, name, options, impl_->pipeline);
}

std::string PassManager::Text() const { return PipelineText(impl_->pipeline); }

std::vector<const PassOptionValues*> PassManager::OptionsOf(std::string_view pass) const {
  std::vector<const PassOptionValues*> found;
  AddOptionsOf(pass, impl_->pipeline, found);
  return found;
}

absl::Status PassManager::CheckOrder(const Operation& module) const {
  TENON_ASSIGN_OR_RETURN(uint32_t properties, GetModuleProperties(module, impl_->registry));
  return CheckPropertyOrder(*impl_->registry, impl_->pipeline, properties);
}

absl::StatusOr<PassResult> PassManager::Run(Operation* module, PassContext& context,
                                            const PassManagerOptions& options) {
  if (module->name() != kModuleAnchor) {
    return absl::InvalidArgumentError(
        fmt::format("a pipeline runs on {}, not on {}", kModuleAnchor, module->name()));
  }
  const bool dumps = options.print_before_all || options.print_after_all ||
                     options.print_after_change || options.print_after_failure ||
                     options.print_diff || !options.print_before.empty() ||
                     !options.print_after.empty();
  const bool prints = (options.timing && options.on_times == nullptr) || options.statistics ||
                      (dumps && options.print_tree_dir.empty());
  if (prints && options.sink == nullptr) {
    return absl::InvalidArgumentError(
        "PassManagerOptions asks for reports or IR to be printed, but its sink is not set");
  }
  TENON_RETURN_IF_ERROR(CheckAnchors(impl_->pipeline, module->context()));
  TENON_RETURN_IF_ERROR(CheckOrder(*module));
  ResetReports(impl_->pipeline);
  NumberItems(impl_->pipeline, "");
  Statistics* const outer_statistics = context.statistics;
  PassRunner runner(*impl_->registry, context, options);
  double total = 0;
  absl::StatusOr<PassResult> result = [&] {
    Stopwatch watch(total);
    return impl_->RunItems(module, runner);
  }();
  context.statistics = outer_statistics;
  if (options.timing) {
    const PassTimes times = TimesOf(impl_->pipeline, total);
    if (options.on_times != nullptr) {
      options.on_times(times);
    } else {
      options.sink(options.timing_json ? TimingJson(times) : TimingReport(times));
    }
  }
  if (options.statistics && options.statistics_json) {
    options.sink(StatisticsJson(impl_->pipeline, context.rule_counts));
  } else if (options.statistics) {
    options.sink(StatisticsReport(impl_->pipeline));
  }
  return result;
}

}  // namespace tenon
