// A pipeline as the pass manager runs it: a tree of passes, grouped by the op they run on.
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

struct PassPipeline;

// A pass with its options, or passes nested in the ops of another kind.
struct PipelineItem {
  const PassInfo* info = nullptr;  // null: `nested` is set
  PassOptionValues values;
  std::unique_ptr<Pass> pass;
  std::unique_ptr<PassPipeline> nested;

  // Sums over all ops of the last run.
  Statistics statistics;
  double seconds = 0, verify_seconds = 0;
};

struct PassPipeline {
  std::string anchor{kModuleAnchor};
  std::vector<PipelineItem> items;
};

// Appends what `text` describes. On error `pipeline` is as before.
absl::Status AppendPipelineText(const PassRegistry& registry, std::string_view text,
                                PassPipeline& pipeline);
// Appends one pass or named pipeline; columns in errors are those of `options`.
absl::Status AppendPass(const PassRegistry& registry, std::string_view name,
                        std::string_view options, PassPipeline& pipeline);
// The text of a pipeline with all options.
std::string PipelineText(const PassPipeline& pipeline);
// Refuses an order in which a pass needs a property that does not hold when its turn comes.
// `properties`: what holds before; what holds afterwards is stored there.
absl::Status CheckPropertyOrder(const PassPipeline& pipeline, uint32_t& properties);

}  // namespace tenon

#endif  // TENON_PASS_PIPELINE_H_
