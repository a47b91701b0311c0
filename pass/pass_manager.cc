#include "pass/pass_manager.h"

#include <algorithm>
#include <chrono>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/shown_text.h"
#include "ir/base/suggest.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/constants/keep_blobs.h"
#include "ir/core/context/context.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/core/verify/verifier.h"
#include "pass/module_properties.h"
#include "pass/pass_report.h"
#include "pass/pipeline.h"
#include "pass/rewrite_step.h"

namespace tenon {
namespace {

// Adds the time of its life to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum), start_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() {
    sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  double& sum_;
  std::chrono::steady_clock::time_point start_;
};

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

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

std::string DescribeOp(const Operation& op) {
  const std::string_view symbol = SymbolName(op);
  return symbol.empty() ? fmt::format("'{}' operation", op.name())
                        : fmt::format("'{}' operation: @{}", op.name(), ShownName(symbol));
}

// The ops in `op` that a pipeline with that anchor runs on. Nested modules are looked into, except
// by pipelines that run on the modules themselves.
void AddTargets(Operation& op, std::string_view anchor, std::vector<Operation*>& targets) {
  for (unsigned r = 0; r < op.num_regions(); ++r) {
    for (Block& block : op.region(r)) {
      for (Operation& inner : block) {
        const bool is_target = anchor == kAnyAnchor
                                   ? inner.num_regions() > 0 && inner.Has(Trait::kIsolatedFromAbove)
                                   : inner.name() == anchor;
        if (is_target) {
          targets.push_back(&inner);
        } else if (anchor != kModuleAnchor && inner.Has(Trait::kSymbolTable)) {
          AddTargets(inner, anchor, targets);
        }
      }
    }
  }
}

// One run over a module.
class Runner {
 public:
  Runner(PassContext& context, const PassManagerOptions& options)
      : context_(context), options_(options) {}

  // Establishing and destroying properties of the module is left to the caller.
  absl::StatusOr<PassResult> RunItem(PipelineItem& item, Operation* op) {
    if (!item.nested) return RunPass(item, op);
    Stopwatch watch(item.seconds);
    // Passes may erase or add siblings of the op they run on, so the list is made first.
    std::vector<Operation*> targets;
    AddTargets(*op, item.nested->anchor, targets);
    PassResult result;
    for (Operation* target : targets) {
      for (PipelineItem& inner : item.nested->items) {
        TENON_ASSIGN_OR_RETURN(const PassResult part, RunItem(inner, target));
        result.changed |= part.changed;
      }
    }
    return result;
  }

 private:
  absl::StatusOr<PassResult> RunPass(PipelineItem& item, Operation* op) {
    const std::string& name = item.info->name;
    if (options_.print_before_all || Contains(options_.print_before, name))
      Dump("Before", name, *op);
    const bool is_step = item.info->steps == PassSteps::kOne && item.info->establishes == 0;
    const RewriteStep step{.kind = RewriteStep::Kind::kPass, .name = name, .op = op};
    RewriteObserver* const observer = context_.observer;
    if (observer != nullptr) observer->PassBegins(ShortPipelineText(item), op);
    if (is_step && !BeginStep(context_, step)) {
      if (observer != nullptr) observer->PassEnds(op, false);
      return PassResult();
    }
    std::string before;
    const bool compare = options_.check_unchanged || options_.print_after_change;
    if (compare) before = Fingerprint(*op);

    OwnedOp copy;
    if (options_.check) copy = OwnedOp(Clone(*op));
    context_.statistics = &item.statistics;
    absl::StatusOr<PassResult> result = [&] {
      Stopwatch watch(item.seconds);
      return item.pass->Run(op, context_);
    }();
    context_.statistics = nullptr;
    if (is_step) EndStep(context_);
    if (observer != nullptr) observer->PassEnds(op, result.ok() && result->changed);

    absl::Status status = result.status();
    const bool differs = compare && status.ok() && Fingerprint(*op) != before;
    if (status.ok() && options_.check_unchanged && differs && !result->changed) {
      status = absl::InternalError("changed the IR but reported no change");
    }
    if (status.ok() && options_.verify_each && result->changed) {
      Stopwatch watch(item.verify_seconds);
      status = Verify(op);
      if (!status.ok()) {
        status = absl::Status(status.code(),
                              fmt::format("left invalid IR: {}", std::string(status.message())));
      }
    }
    if (status.ok() && options_.check && result->changed) {
      status = options_.check({name, copy.get(), op, [&](Operation* target, PassContext& context) {
                                 Statistics unused;
                                 context.statistics = &unused;
                                 return item.pass->Run(target, context).status();
                               }});
    }
    if (!status.ok()) {
      if (options_.print_after_failure) Dump("After", name + " Failed", *op);
      return absl::Status(status.code(), fmt::format("pass '{}' on {}: {}", name, DescribeOp(*op),
                                                     std::string(status.message())));
    }
    const bool print = options_.print_after_all || Contains(options_.print_after, name) ||
                       (options_.print_after_change && differs);
    if (print) Dump("After", name, *op);
    return result;
  }

  static std::string Fingerprint(const Operation& op) {
    PrintOptions options;
    options.generic = options.locations = options.elide_resources = true;
    return Print(op, options);
  }

  void Dump(std::string_view when, std::string_view name, const Operation& op) const {
    options_.sink(
        fmt::format("// -----// IR Dump {} {} ({}) //----- //\n", when, name, DescribeOp(op)));
    std::string text = Print(op, options_.print);
    if (!text.empty() && text.back() != '\n') text += '\n';
    options_.sink(text + "\n");
  }

  PassContext& context_;
  const PassManagerOptions& options_;
};

// What holds after an item has run, given what held before.
uint32_t PropertiesAfter(const PipelineItem& item, uint32_t properties) {
  if (!item.nested) return (properties & ~item.info->destroys) | item.info->establishes;
  for (const PipelineItem& inner : item.nested->items)
    properties = PropertiesAfter(inner, properties);
  return properties;
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

  absl::StatusOr<PassResult> RunItems(Operation* module, Runner& runner) {
    PassResult result;
    for (PipelineItem& item : pipeline.items) {
      TENON_ASSIGN_OR_RETURN(const uint32_t before, GetModuleProperties(*module));
      absl::StatusOr<PassResult> part = [&] {
        const KeepUnusedBlobs keep(module->context());
        return runner.RunItem(item, module);
      }();
      if (!part.ok()) {
        SetModuleProperties(*module, before & ~PropertiesDestroyed(item));
        return part.status();
      }
      const bool properties_changed = SetModuleProperties(*module, PropertiesAfter(item, before));
      result.changed |= part->changed || properties_changed;
      if (part->changed) module->context().ReleaseUnusedBlobs();
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
  TENON_ASSIGN_OR_RETURN(uint32_t properties, GetModuleProperties(module));
  return CheckPropertyOrder(*impl_->registry, impl_->pipeline, properties);
}

absl::StatusOr<PassResult> PassManager::Run(Operation* module, PassContext& context,
                                            const PassManagerOptions& options) {
  if (module->name() != kModuleAnchor) {
    return absl::InvalidArgumentError(
        fmt::format("a pipeline runs on {}, not on {}", kModuleAnchor, module->name()));
  }
  const bool prints = options.timing || options.statistics || options.print_before_all ||
                      options.print_after_all || options.print_after_change ||
                      options.print_after_failure || !options.print_before.empty() ||
                      !options.print_after.empty();
  if (prints && options.sink == nullptr) {
    return absl::InvalidArgumentError(
        "PassManagerOptions asks for reports or IR to be printed, but its sink is not set");
  }
  TENON_RETURN_IF_ERROR(CheckAnchors(impl_->pipeline, module->context()));
  TENON_RETURN_IF_ERROR(CheckOrder(*module));
  ResetReports(impl_->pipeline);
  Statistics* const outer_statistics = context.statistics;
  Runner runner(context, options);
  double total = 0;
  absl::StatusOr<PassResult> result = [&] {
    Stopwatch watch(total);
    return impl_->RunItems(module, runner);
  }();
  context.statistics = outer_statistics;
  if (options.timing && options.timing_json) {
    options.sink(TimingJson(impl_->pipeline, total));
  } else if (options.timing) {
    options.sink(TimingReport(impl_->pipeline, total));
  }
  if (options.statistics) options.sink(StatisticsReport(impl_->pipeline));
  return result;
}

}  // namespace tenon
