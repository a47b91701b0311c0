#include "pass/pass_runner.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/text_diff.h"
#include "ir/core/block.h"
#include "ir/core/clone.h"
#include "ir/core/verify/verifier.h"
#include "pass/ir_dump.h"
#include "pass/ir_fingerprint.h"
#include "pass/module_properties.h"
#include "pass/rewrite_step.h"
#include "pass/shared_nest.h"

namespace tenon {
namespace {

// Pipelines that passes of pipelines run.
constexpr int kMostDepth = 16;

bool IsAnyTarget(const Operation& op) {
  return op.num_regions() > 0 && op.Has(Trait::kIsolatedFromAbove);
}

// The ops in `op` that a pipeline with that anchor runs on. Nested modules are looked into, except
// by pipelines that run on the modules themselves.
void AddTargets(Operation& op, std::string_view anchor, std::vector<Operation*>& targets) {
  for (unsigned r = 0; r < op.num_regions(); ++r) {
    for (Block& block : op.region(r)) {
      for (Operation& inner : block) {
        if (anchor == kAnyAnchor ? IsAnyTarget(inner) : inner.name() == anchor) {
          targets.push_back(&inner);
        } else if (anchor != kModuleAnchor && inner.Has(Trait::kSymbolTable)) {
          AddTargets(inner, anchor, targets);
        }
      }
    }
  }
}

std::string TextOf(const Operation& op) {
  PrintOptions options;
  options.generic = options.locations = options.elide_resources = true;
  return Print(op, options);
}

absl::Status Located(std::string_view pass, const Operation& op, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("pass '{}' on {}: {}", pass, DescribeTarget(op),
                                                 std::string(status.message())));
}

absl::Status Invalid(const absl::Status& status) {
  return absl::Status(status.code(),
                      fmt::format("left invalid IR: {}", std::string(status.message())));
}

// Adds the counters of a pipeline that a pass has run: "cse/ops-merged".
void AddStatistics(const PipelineItem& item, Statistics& to) {
  if (item.nested) {
    for (const PipelineItem& inner : item.nested->items) AddStatistics(inner, to);
    return;
  }
  for (const auto& [name, count] : item.statistics.counts())
    to.Add(fmt::format("{}/{}", item.info->name, name), count);
}

bool HasSerialPass(const PassPipeline& pipeline) {
  return std::any_of(pipeline.items.begin(), pipeline.items.end(), [](const PipelineItem& item) {
    return item.nested ? HasSerialPass(*item.nested) : item.info->one_at_a_time;
  });
}

}  // namespace

uint32_t PropertiesAfter(const PipelineItem& item, uint32_t properties) {
  if (!item.nested) return (properties & ~item.info->destroys) | item.info->establishes;
  for (const PipelineItem& inner : item.nested->items)
    properties = PropertiesAfter(inner, properties);
  return properties;
}

PassRunner::Outcome PassRunner::RunItem(PipelineItem& item, Operation* op, const Place& place) {
  known_op_ = nullptr;
  return RunKnown(item, op, place);
}

PassRunner::Outcome PassRunner::RunItems(std::vector<PipelineItem>& items, Operation* op,
                                         const Place& place) {
  Outcome all;
  uint32_t properties = place.properties;
  known_op_ = nullptr;
  for (PipelineItem& item : items) {
    const Place here{place.analyses, properties, place.unverified};
    Outcome one = RunKnown(item, op, here);
    if (one.changed) {
      all.changed = true;
      all.preserved.Intersect(one.preserved);
    }
    all.status = std::move(one.status);
    if (!all.status.ok()) break;
    properties = PropertiesAfter(item, properties);
  }
  known_op_ = nullptr;
  return all;
}

PassRunner::Outcome PassRunner::RunKnown(PipelineItem& item, Operation* op, const Place& place) {
  if (item.nested) return RunNest(item, op, place);
  Outcome outcome = RunPass(item, op, place);
  if (outcome.changed) place.analyses.Invalidate(op, outcome.preserved);
  return outcome;
}

// What tells about steps one after another, and what sees one op at a time, needs one thread.
bool PassRunner::MayShareOut(const PassPipeline& pipeline) const {
  return options_.threads != 1 && !options_.check && !options_.before_pass &&
         !options_.print_module_scope && !context_.allow_rewrite && context_.observer == nullptr &&
         context_.rule_log == nullptr && !HasSerialPass(pipeline);
}

PassRunner::Outcome PassRunner::RunNest(PipelineItem& item, Operation* op, const Place& place) {
  // Passes may erase or add siblings of the op they run on, so the list is made first.
  std::vector<Operation*> targets;
  AddTargets(*op, item.nested->anchor, targets);
  std::vector<SharedNest::Target> runs;
  for (Operation* target : targets) runs.push_back({target, place.analyses.Nested(target)});
  Outcome all;
  {
    Stopwatch watch(item.seconds);
    if (targets.size() > 1 && MayShareOut(*item.nested)) {
      SharedNest(registry_, context_, options_, place.properties).Run(*item.nested, runs);
    } else {
      for (SharedNest::Target& run : runs) {
        run.outcome = RunItems(item.nested->items, run.op,
                               {run.analyses, place.properties,
                                targets.size() > 1 ? &run.unverified : place.unverified});
        if (!run.outcome.status.ok()) break;
      }
    }
  }
  for (const SharedNest::Target& run : runs) {
    if (run.outcome.changed) {
      all.changed = true;
      all.preserved.Intersect(run.outcome.preserved);
      place.analyses.InvalidateAround(run.op, run.outcome.preserved);
    }
    if (all.status.ok()) all.status = run.outcome.status;
  }
  if (!all.status.ok()) return all;
  for (const SharedNest::Target& run : runs) {
    if (!run.unverified) continue;
    Stopwatch watch(item.verify_seconds);
    const absl::Status status =
        place.unverified == nullptr ? Verify(run.op) : VerifyWithin(run.op, *place.unverified);
    if (status.ok()) continue;
    const std::vector<PipelineItem>& items = item.nested->items;
    const std::string name = items.size() == 1 ? items.front().info->name : ShortPipelineText(item);
    all.status = Failed(name, item.number, *run.op, Invalid(status));
    return all;
  }
  return all;
}

PassRunner::Outcome PassRunner::RunPass(PipelineItem& item, Operation* op, const Place& place) {
  const std::string& name = item.info->name;
  Outcome outcome;
  outcome.status = TellBefore(item, op, place);
  if (!outcome.status.ok()) return outcome;
  const bool is_step = item.info->steps == PassSteps::kOne && item.info->establishes == 0;
  const RewriteStep step{.kind = RewriteStep::Kind::kPass, .name = name, .op = op};
  RewriteObserver* const observer = context_.observer;
  if (observer != nullptr) observer->PassBegins(ShortPipelineText(item), op);
  if (is_step && !BeginStep(context_, step)) {
    if (observer != nullptr) observer->PassEnds(op, false);
    return {};
  }
  OwnedOp copy;
  if (options_.check) copy = OwnedOp(Clone(*op));
  std::string text;
  const bool diffs = DumpsDiff(options_, name);
  if (diffs) {
    text = DumpText(options_, *op);
  } else if (options_.print_after_change) {
    text = TextOf(*op);
  }
  if (options_.check_unchanged && known_op_ != op) known_fingerprint_ = IrFingerprint(*op);
  const uint64_t fingerprint = known_fingerprint_;
  absl::StatusOr<PassResult> result = CallPass(item, op, place);
  if (is_step) EndStep(context_);
  if (observer != nullptr) observer->PassEnds(op, result.ok() && result->changed);

  known_op_ = nullptr;
  outcome.status = result.status();
  if (result.ok()) {
    outcome.changed = result->changed;
    if (result->changed) {
      outcome.preserved = std::move(result->preserved);
      outcome.status = CheckAfter(item, op, place, copy.get(), *result);
    } else if (options_.check_unchanged) {
      known_fingerprint_ = IrFingerprint(*op);
      known_op_ = op;
      if (known_fingerprint_ != fingerprint)
        outcome.status = absl::InternalError("changed the IR but reported no change");
    }
  }
  if (!outcome.status.ok()) {
    outcome.status = Failed(name, item.number, *op, outcome.status);
  } else if (diffs && outcome.changed) {
    const std::string diff =
        UnifiedDiff(text, DumpText(options_, *op), "before " + name, "after " + name);
    if (!diff.empty())
      outcome.status = Dump(options_, DumpKind::kDiff, name, item.number, *op, diff);
  } else if (DumpsAfter(options_, name,
                        outcome.changed && options_.print_after_change && TextOf(*op) != text)) {
    outcome.status =
        Dump(options_, DumpKind::kAfter, name, item.number, *op, DumpText(options_, *op));
  }
  return outcome;
}

absl::Status PassRunner::Failed(const std::string& name, std::string_view number,
                                const Operation& op, const absl::Status& status) const {
  if (options_.print_after_failure) {
    const absl::Status dumped =
        Dump(options_, DumpKind::kFailed, name, number, op, DumpText(options_, op));
    if (!dumped.ok()) return dumped;
  }
  return Located(name, op, status);
}

absl::Status PassRunner::TellBefore(const PipelineItem& item, Operation* op, const Place& place) {
  if (DumpsBefore(options_, item.info->name)) {
    TENON_RETURN_IF_ERROR(Dump(options_, DumpKind::kBefore, item.info->name, item.number, *op,
                               DumpText(options_, *op)));
  }
  if (options_.before_pass == nullptr) return absl::OkStatus();
  std::string pipeline = PipelineText(item);
  Operation* module = op;
  if (op->name() != kModuleAnchor) {
    pipeline = fmt::format("{}({})", op->name() == "func.func" ? op->name() : kAnyAnchor, pipeline);
    while (module->parent_op() != nullptr) module = module->parent_op();
  } else {
    for (; module->parent_op() != nullptr; module = module->parent_op())
      pipeline = fmt::format("{}({})", kModuleAnchor, pipeline);
  }
  // What passes in front of this one in a nested pipeline have established is not written yet.
  TENON_ASSIGN_OR_RETURN(const uint32_t written, GetModuleProperties(*module, &registry_));
  SetModuleProperties(*module, place.properties, &registry_);
  const absl::Status status =
      options_.before_pass(fmt::format("{}({})", kModuleAnchor, pipeline), module);
  SetModuleProperties(*module, written, &registry_);
  return status;
}

absl::StatusOr<PassResult> PassRunner::CallPass(PipelineItem& item, Operation* op,
                                                const Place& place) {
  const std::optional<Running> outer = running_;
  running_ = {op, &place, &item, outer.has_value() ? outer->depth : 0};
  Statistics* const statistics = std::exchange(context_.statistics, &item.statistics);
  AnalysisManager* const analyses = std::exchange(context_.analyses, &place.analyses);
  PipelineRunner* const pipelines = std::exchange(context_.pipelines, this);
  absl::StatusOr<PassResult> result = [&] {
    Stopwatch watch(item.seconds);
    return item.pass->Run(op, context_);
  }();
  context_.statistics = statistics;
  context_.analyses = analyses;
  context_.pipelines = pipelines;
  running_ = outer;
  return result;
}

absl::Status PassRunner::CheckAfter(PipelineItem& item, Operation* op, const Place& place,
                                    Operation* before, const PassResult& result) {
  if (options_.verify_each && result.changed) {
    Stopwatch watch(item.verify_seconds);
    const absl::Status status =
        place.unverified == nullptr ? Verify(op) : VerifyWithin(op, *place.unverified);
    if (!status.ok()) return Invalid(status);
  }
  if (!options_.check) return absl::OkStatus();
  return options_.check(
      {item.info->name, before, op, [&](Operation* target, PassContext& context) {
         PassManagerOptions quiet;
         PassRunner again(registry_, context, quiet);
         AnalysisManager analyses(target);
         PipelineItem unused;
         unused.info = item.info;
         std::swap(unused.pass, item.pass);
         const absl::Status status =
             again.CallPass(unused, target, {analyses, place.properties, nullptr}).status();
         std::swap(unused.pass, item.pass);
         return status;
       }});
}

absl::StatusOr<PassResult> PassRunner::RunPipeline(std::string_view text, Operation* op) {
  if (!running_.has_value() || !running_->op->IsAncestorOf(op))
    return absl::InvalidArgumentError(
        "a pass runs pipelines on its own operation and what is in it");
  const Running outer = *running_;
  const std::string& pass = outer.item->info->name;
  const bool named = op->name() == kModuleAnchor || op->name() == "func.func";
  if (!named && !IsAnyTarget(*op)) {
    return absl::InvalidArgumentError(
        fmt::format("pass '{}' runs a pipeline on {} (expected an isolated operation with regions)",
                    pass, op->name()));
  }
  if (outer.depth == kMostDepth) {
    return absl::ResourceExhaustedError(
        fmt::format("pass '{}' runs pipelines in pipelines, {} deep", pass, kMostDepth));
  }
  PassPipeline pipeline;
  pipeline.anchor = named ? std::string(op->name()) : std::string(kAnyAnchor);
  TENON_RETURN_IF_ERROR(AppendPipelineText(registry_, text, pipeline));
  NumberItems(pipeline, outer.item->number);
  const uint32_t before = outer.place->properties;
  uint32_t after = before;
  TENON_RETURN_IF_ERROR(CheckPropertyOrder(registry_, pipeline, after));
  if (const uint32_t lost = before & ~after & ~outer.item->info->destroys; lost != 0) {
    return absl::FailedPreconditionError(
        fmt::format("pass '{}' runs a pipeline after which the module may not be {} any more "
                    "(expected PassInfo::destroys of the pass to say so)",
                    pass, PropertyNames(registry_, lost)));
  }
  AnalysisManager analyses = outer.place->analyses.Nested(op);
  running_->depth = outer.depth + 1;
  Outcome outcome = RunItems(pipeline.items, op, {analyses, before, outer.place->unverified});
  running_ = outer;
  if (outcome.changed) outer.place->analyses.InvalidateAround(op, outcome.preserved);
  for (const PipelineItem& item : pipeline.items) AddStatistics(item, outer.item->statistics);
  if (!outcome.status.ok()) return outcome.status;
  return PassResult{outcome.changed, std::move(outcome.preserved)};
}

}  // namespace tenon
