// Runs passes on operations, for the pass manager. Internal to pass.
#ifndef TENON_PASS_PASS_RUNNER_H_
#define TENON_PASS_PASS_RUNNER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pass/analysis_manager.h"
#include "pass/pass_manager.h"
#include "pass/pipeline.h"
#include "pass/stopwatch.h"

namespace tenon {

// Returns what holds after an item has run, given what held before (bits of ModuleProperty).
uint32_t PropertiesAfter(const PipelineItem& item, uint32_t properties);

// One run over a module, or over what one thread has of it.
class PassRunner : public PipelineRunner {
 public:
  // What passes on an op need to know of what is around it.
  struct Place {
    AnalysisManager& analyses;  // of the op
    uint32_t properties;        // of the module
    // Not null: others may change their ops at the same time, or be between two passes. So what an
    // op refers to elsewhere is not verified; this becomes true if there is such an op.
    bool* unverified;
  };
  // What came of the passes on one op.
  struct Outcome {
    absl::Status status;                                     // the first error, with its pass
    bool changed = false;                                    // some pass has changed the op
    PreservedAnalyses preserved = PreservedAnalyses::All();  // by all passes that changed it
  };

  PassRunner(const PassRegistry& registry, PassContext& context, const PassManagerOptions& options)
      : registry_(registry), context_(context), options_(options) {}

  // Runs an item on `op`. Establishing and destroying properties of the module, and the
  // analyses of what is around `op`, are left to the caller.
  Outcome RunItem(PipelineItem& item, Operation* op, const Place& place);
  // The same for several in order, up to the first error.
  Outcome RunItems(std::vector<PipelineItem>& items, Operation* op, const Place& place);
  absl::StatusOr<PassResult> RunPipeline(std::string_view text, Operation* op) override;

 private:
  Outcome RunKnown(PipelineItem& item, Operation* op, const Place& place);
  Outcome RunNest(PipelineItem& item, Operation* op, const Place& place);
  Outcome RunPass(PipelineItem& item, Operation* op, const Place& place);
  absl::StatusOr<PassResult> CallPass(PipelineItem& item, Operation* op, const Place& place);
  absl::Status CheckAfter(PipelineItem& item, Operation* op, const Place& place, Operation* before,
                          const PassResult& result);
  bool MayShareOut(const PassPipeline& pipeline) const;
  // What is told in front of a pass: its input, to people and to PassManagerOptions::before_pass.
  absl::Status TellBefore(const PipelineItem& item, Operation* op, const Place& place);
  // Prints the IR if asked to, and returns the error with its pass.
  absl::Status Failed(const std::string& name, std::string_view number, const Operation& op,
                      const absl::Status& status) const;

  // The pass that runs, for RunPipeline.
  struct Running {
    Operation* op;
    const Place* place;
    PipelineItem* item;
    int depth;  // of pipelines that passes run
  };

  const PassRegistry& registry_;
  PassContext& context_;
  const PassManagerOptions& options_;
  std::optional<Running> running_;
  // The op that no pass has changed since this was its fingerprint; null: not known.
  Operation* known_op_ = nullptr;
  uint64_t known_fingerprint_ = 0;
};

}  // namespace tenon

#endif  // TENON_PASS_PASS_RUNNER_H_
