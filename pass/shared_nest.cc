#include "pass/shared_nest.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "ir/core/context/context.h"
#include "ir/core/context/thread_diagnostics.h"

namespace tenon {
namespace {

size_t ThreadsFor(int wanted, size_t targets) {
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  return std::min(wanted > 0 ? static_cast<size_t>(wanted) : cores, targets);
}

// Moves the counters and times of `from` to `to`, an equal pipeline.
void MoveReports(PassPipeline& from, PassPipeline& to) {
  for (size_t i = 0; i < from.items.size(); ++i) {
    PipelineItem& item = from.items[i];
    PipelineItem& sum = to.items[i];
    for (const auto& [name, count] : item.statistics.counts()) sum.statistics.Add(name, count);
    sum.seconds += std::exchange(item.seconds, 0);
    sum.verify_seconds += std::exchange(item.verify_seconds, 0);
    item.statistics = Statistics();
    if (item.nested) MoveReports(*item.nested, *sum.nested);
  }
}

// An equal pipeline without passes, for reports.
PassPipeline WithoutPasses(const PassPipeline& pipeline) {
  PassPipeline copy;
  copy.anchor = pipeline.anchor;
  for (const PipelineItem& item : pipeline.items) {
    PipelineItem& made = copy.items.emplace_back();
    if (item.nested) made.nested = std::make_unique<PassPipeline>(WithoutPasses(*item.nested));
  }
  return copy;
}

}  // namespace

// Evaluates for one op of the nest, in its turn where order matters.
class SharedNest::TurnEvaluator : public Evaluator {
 public:
  TurnEvaluator(SharedNest& nest, Evaluator& evaluator, size_t number)
      : nest_(nest), evaluator_(evaluator), number_(number) {}

  absl::StatusOr<std::vector<Attribute>> Evaluate(
      const Operation& op, std::span<const Attribute> operands,
      const std::function<std::optional<int64_t>(std::string_view)>& symbols) override {
    if (!evaluator_.InAnyOrder(op)) nest_.WaitForTurn(number_);
    return evaluator_.Evaluate(op, operands, symbols);
  }
  bool InAnyOrder(const Operation& op) const override { return evaluator_.InAnyOrder(op); }

 private:
  SharedNest& nest_;
  Evaluator& evaluator_;
  const size_t number_;
};

size_t SharedNest::Next(size_t count) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return next_ < std::min(count, end_) ? next_++ : count;
}

void SharedNest::Done(size_t number, bool failed) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failed) end_ = std::min(end_, number);
    done_[number] = true;
    while (finished_ < done_.size() && done_[finished_]) ++finished_;
  }
  turn_.notify_all();
}

// Ops are begun in order, so the first one that is not done never waits.
void SharedNest::WaitForTurn(size_t number) {
  std::unique_lock<std::mutex> lock(mutex_);
  turn_.wait(lock, [&] { return finished_ >= number; });
}

void SharedNest::Run(PassPipeline& pipeline, std::vector<Target>& targets) {
  told_.resize(targets.size());
  done_.assign(targets.size(), false);
  std::vector<PassPipeline> own;
  std::vector<PassContext> services;
  for (size_t i = ThreadsFor(options_.threads, targets.size()); i > 0; --i) {
    own.push_back(ClonePipeline(pipeline));
    services.push_back(context_);
  }
  std::vector<std::thread> threads;
  for (size_t i = 1; i < own.size(); ++i) {
    try {
      threads.emplace_back([&, i] { Work(own[i], services[i], targets); });
    } catch (const std::system_error&) {
      break;  // those that there are do the work
    }
  }
  Work(own[0], services[0], targets);
  for (std::thread& thread : threads) thread.join();
  Tell(pipeline, targets);
}

void SharedNest::Work(PassPipeline& own, PassContext& services, std::vector<Target>& targets) {
  for (size_t number; (number = Next(targets.size())) < targets.size();)
    RunTarget(own, services, number, targets[number]);
}

void SharedNest::RunTarget(PassPipeline& own, PassContext& services, size_t number,
                           Target& target) {
  Told& told = told_[number];
  try {
    const ThreadDiagnostics diagnostics(target.op->context(), [&](const Diagnostic& diagnostic) {
      told.events.emplace_back(diagnostic);
    });
    PassManagerOptions options = options_;
    options.sink = [&](std::string_view text) {
      told.events.emplace_back(Dump{std::string(text)});
    };
    std::optional<TurnEvaluator> evaluator;
    if (context_.evaluator != nullptr)
      services.evaluator = &evaluator.emplace(*this, *context_.evaluator, number);
    if (context_.report)
      services.report = [&](std::string_view line) {
        told.events.emplace_back(Line{std::string(line)});
      };
    if (context_.rule_counts != nullptr) services.rule_counts = &told.rule_counts;
    services.steps = 0;
    PassRunner runner(registry_, services, options);
    target.outcome =
        runner.RunItems(own.items, target.op, {target.analyses, properties_, &target.unverified});
    told.steps = services.steps;
    told.counted = WithoutPasses(own);
    MoveReports(own, told.counted);
  } catch (...) {
    told.thrown = std::current_exception();
  }
  Done(number, told.thrown != nullptr || !target.outcome.status.ok());
}

void SharedNest::Tell(PassPipeline& pipeline, const std::vector<Target>& targets) {
  for (size_t i = 0; i < targets.size(); ++i) {
    Told& told = told_[i];
    if (told.thrown != nullptr) std::rethrow_exception(told.thrown);
    DiagnosticEngine& diagnostics = targets[i].op->context().diagnostics();
    for (const auto& event : told.events) {
      if (const auto* dump = std::get_if<Dump>(&event)) options_.sink(dump->text);
      if (const auto* line = std::get_if<Line>(&event)) context_.report(line->text);
      if (const auto* diagnostic = std::get_if<Diagnostic>(&event)) diagnostics.Emit(*diagnostic);
    }
    MoveReports(told.counted, pipeline);
    for (const auto& [rule, count] : told.rule_counts) (*context_.rule_counts)[rule] += count;
    context_.steps += told.steps;
    if (!targets[i].outcome.status.ok()) return;
  }
}

}  // namespace tenon
