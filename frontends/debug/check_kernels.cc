#include "frontends/debug/check_kernels.h"

#include <set>
#include <utility>

#include "drr/match/matcher.h"
#include "frontends/cpp/loading.h"
#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/debug/compile_part.h"
#include "frontends/debug/fragment.h"
#include "frontends/debug/main_function.h"
#include "frontends/debug/step_replay.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/calls_and_jumps.h"

namespace tenon {
namespace {

// The kernel that a lowered copy of `part` calls; empty if it calls none, or several.
std::string KernelOf(const Model& model, const Operation& part) {
  const Model lowered(model.shared_context(), OwnedOp(Clone(part)), model.files(),
                      model.extension());
  if (!LowerModel(lowered, /*reference=*/false, /*gpu=*/false).ok()) return "";
  std::set<std::string> names;
  lowered.module()->Walk([&](Operation* op) {
    if (op->name() == "kernel.call") names.insert(std::string(op->attr("kernel").str()));
  });
  return names.size() == 1 ? *names.begin() : "";
}

class KernelChecker {
 public:
  KernelChecker(const Model& model, const CheckKernelsOptions& options)
      : model_(model), options_(options), fast_(options.compile), reference_(options.compile) {
    fast_.weights = nullptr;
    fast_.reference = false;
    fast_.on_fallback = nullptr;
    reference_ = fast_;
    reference_.reference = true;
  }

  void Check(Operation* op) {
    ++report_.ops;
    std::vector<Value> results, inputs;
    for (unsigned r = 0; r < op->num_results(); ++r) results.push_back(op->result(r));
    const OwnedOp part = MakeFragment(
        results, [op](const Operation* other) { return other == op; }, inputs);
    const std::string text = Print(*part, {.generic = true, .elide_resources = true});
    if (!seen_.insert(text).second) {
      ++report_.compared;
      return;
    }
    KernelFinding finding;
    finding.op = drr::DescribeOp(op);
    finding.nodes = drr::DescribeAllLocations(op->context(), op->location());
    const absl::StatusOr<bool> differs = Differs(*part, finding);
    if (!differs.ok()) {
      ++report_.skipped[std::string(differs.status().message())];
      seen_.erase(text);
      return;
    }
    ++report_.compared;
    if (!*differs) return;
    finding.kernel = KernelOf(model_, *part);
    finding.program = Print(*part, {.elide_resources = true});
    report_.findings.push_back(std::move(finding));
  }

  KernelsReport TakeReport() { return std::move(report_); }

 private:
  absl::StatusOr<bool> Differs(const Operation& part, KernelFinding& finding) const {
    TENON_ASSIGN_OR_RETURN(const Program fast, CompilePart(model_, OwnedOp(Clone(part)), fast_));
    TENON_ASSIGN_OR_RETURN(const Program reference,
                           CompilePart(model_, OwnedOp(Clone(part)), reference_));
    absl::Status why = absl::NotFoundError("no sample inputs suit the operation");
    bool ran = false;
    for (int kind = 0; kind <= kLongSample; ++kind) {
      const absl::StatusOr<Sample> sample = SampleInputs(MainFunction(part), kind);
      if (!sample.ok()) continue;
      const absl::StatusOr<std::vector<Tensor>> expected = reference.Run(sample->inputs);
      if (!expected.ok()) {
        why = expected.status();
        continue;
      }
      if (!AreFinite(*expected)) continue;
      TENON_ASSIGN_OR_RETURN(const std::vector<Tensor> actual, fast.Run(sample->inputs));
      ran = true;
      for (size_t i = 0; i < actual.size(); ++i) {
        finding.difference = options_.compare(actual[i], (*expected)[i]);
        if (finding.difference.pass) continue;
        finding.result = i;
        finding.type = (*expected)[i].type_text();
        finding.inputs = sample->text;
        return true;
      }
    }
    if (!ran) return why;
    return false;
  }

  const Model& model_;
  const CheckKernelsOptions& options_;
  CompileOptions fast_, reference_;
  KernelsReport report_;
  std::set<std::string> seen_;  // texts without names of operations that ran
};

}  // namespace

absl::StatusOr<KernelsReport> CheckKernels(const Model& model, const CheckKernelsOptions& options) {
  Operation* const main = model.main();
  if (main == nullptr) {
    return absl::InvalidArgumentError(
        "there is nothing to run (expected a function @main, or one function with a body)");
  }
  const ScopedDiagnosticHandler quiet(model.context(), nullptr);
  KernelChecker checker(model, options);
  main->WalkPreOrder([&](Operation* op) {
    if (op == main) return true;
    // What operations with regions and calls compute, the operations in them do.
    const bool computes = op->num_results() > 0 && op->num_regions() == 0 && !IsCall(*op) &&
                          !op->Has(Trait::kConstantLike) && !op->Has(Trait::kTerminator);
    if (computes) checker.Check(op);
    return true;
  });
  return checker.TakeReport();
}

}  // namespace tenon
