// Every pass of Tenon, and the standard pipelines.
#ifndef TENON_FRONTENDS_API_PASSES_H_
#define TENON_FRONTENDS_API_PASSES_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "pass/pass.h"

namespace tenon {

struct Extension;
enum class Precision : uint8_t;

// All passes, and the pipelines below under their names; with an extension, its own as well.
// Fails where a name is taken, and never on a new registry and an extension that RegisterExtension
// has accepted.
absl::Status RegisterAllPasses(PassRegistry& registry, const Extension* extension = nullptr);

struct StandardPipeline {
  std::string_view name;  // "O2"
  std::string_view summary;
  std::string_view text;
};
// O0 to O3, "lower" and "lower-cuda".
std::span<const StandardPipeline> StandardPipelines();
// Pipeline text of an optimisation level from 0 to kMaxOptLevel.
std::string_view OptPipeline(int level);
// What turns an optimised module into one that can be compiled to a program; `reference`: with the
// readable reference kernels alone; `gpu`: with CUDA kernels where there are any.
std::string_view LowerPipeline(bool reference = false, bool gpu = false);

// What follows the optimisation of a program for this precision; empty for fp32.
std::string_view PrecisionPipeline(Precision precision);

inline constexpr int kMaxOptLevel = 3;

}  // namespace tenon

#endif  // TENON_FRONTENDS_API_PASSES_H_
