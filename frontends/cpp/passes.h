// All passes of Tenon, and the standard pipelines.
#ifndef TENON_FRONTENDS_CPP_PASSES_H_
#define TENON_FRONTENDS_CPP_PASSES_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "pass/pass.h"

namespace tenon {

struct Extension;
enum class Precision : uint8_t;

// Registers all passes, the pipelines below under their names, and the passes of `extension`, if it
// is not null. AlreadyExists if a name is taken. Always succeeds for a new registry and an
// extension that RegisterExtension has accepted.
absl::Status RegisterAllPasses(PassRegistry& registry, const Extension* extension = nullptr);

// A named pipeline.
struct StandardPipeline {
  std::string_view name;     // "O2"
  std::string_view summary;  // one line
  std::string_view text;     // pipeline text
};
// Returns O0 to O3, "simplify", onnx-O0 to onnx-O3, "lower" and "lower-cuda". The data is static.
std::span<const StandardPipeline> StandardPipelines();
// Returns the pipeline text of an optimization level, which is clamped to [0, kMaxOptLevel].
std::string_view OptPipeline(int level);
// Returns the pipeline of a level for a model that ExportOnnx writes.
std::string_view OnnxPipeline(int level);
// Returns the pipeline that lowers an optimized module, so that it can be compiled to a program.
// `reference` chooses reference kernels only; `gpu` chooses CUDA kernels where there are any.
std::string_view LowerPipeline(bool reference = false, bool gpu = false);

// Returns the pipeline that follows optimization for this precision; empty for fp32.
std::string_view PrecisionPipeline(Precision precision);

inline constexpr int kMaxOptLevel = 3;  // the highest optimization level

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_PASSES_H_
