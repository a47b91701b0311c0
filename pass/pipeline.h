// A pipeline as the pass manager runs it: a tree of passes, grouped by the op that they run on.
#ifndef TENON_PASS_PIPELINE_H_
#define TENON_PASS_PIPELINE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "pass/pass.h"

namespace tenon {

inline constexpr std::string_view kModuleAnchor = "builtin.module";
// The anchor of passes on every op with regions that is isolated from above.
inline constexpr std::string_view kAnyAnchor = "any";

struct PassPipeline;

// A pass with its options, or a nested pipeline for ops of another kind.
struct PipelineItem {
  const PassInfo* info = nullptr;  // null: `nested` is set
  PassOptionValues values;
  std::unique_ptr<Pass> pass;
  std::unique_ptr<PassPipeline> nested;
  std::string number;  // its place in the whole pipeline: "1_0" is entry 0 of entry 1

  // Sums over all ops of the last run; times in seconds.
  Statistics statistics;
  double seconds = 0, verify_seconds = 0;
};

// Passes that run one after the other on ops named `anchor`: those directly in the op around the
// pipeline. A pipeline on functions also runs on the functions of nested modules.
struct PassPipeline {
  std::string anchor{kModuleAnchor};
  std::vector<PipelineItem> items;
};

// Appends the passes of `text`. On error `pipeline` is unchanged.
absl::Status AppendPipelineText(const PassRegistry& registry, std::string_view text,
                                PassPipeline& pipeline);
// Appends one pass or named pipeline. Columns in errors are those of `options`.
absl::Status AppendPass(const PassRegistry& registry, std::string_view name,
                        std::string_view options, PassPipeline& pipeline);
// Sets PipelineItem::number of all entries. `around` is that of the entry around the pipeline;
// empty if there is none.
void NumberItems(PassPipeline& pipeline, std::string_view around);
// Returns an equal pipeline with passes of its own, and nothing counted.
PassPipeline ClonePipeline(const PassPipeline& pipeline);
// Returns the text of a pipeline with all options written out.
std::string PipelineText(const PassPipeline& pipeline);
// Returns the same for one entry.
std::string PipelineText(const PipelineItem& item);
// Returns the same without options that have their defaults: "fuse{before=packing}".
std::string ShortPipelineText(const PipelineItem& item);
// Returns FailedPrecondition if a pass needs a property that does not hold at its turn.
// `properties` has the bits that hold before, and receives those that hold after. The error names a
// pass of `registry` that establishes the property.
absl::Status CheckPropertyOrder(const PassRegistry& registry, const PassPipeline& pipeline,
                                uint32_t& properties);

}  // namespace tenon

#endif  // TENON_PASS_PIPELINE_H_
