// Operations of a lowered program that run on a slow kernel, or off their device.
#ifndef TENON_EXECUTOR_LOWERING_FALLBACKS_H_
#define TENON_EXECUTOR_LOWERING_FALLBACKS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/core/operation.h"
#include "kernels/registry.h"

namespace tenon {

// The attribute of a kernel.call or ctl op that holds the reason. lower-to-kernels writes it.
inline constexpr char kFallback[] = "kernel.fallback";
// The reason of operations in regions, which a program for a GPU runs on the host.
inline constexpr char kRegionFallback[] = "regions of control flow run on the host";

// Returns why a CPU program runs `op`, not lowered yet, on the reference kernel of `choice`: what
// each faster kernel lacks, or that there is none. Empty for fast kernels and for trivial work.
// Trivial are integers and bools in vectors of at most 64 elements and, if no fast kernel exists,
// work on at most 64 KiB. An unknown extent counts as 128.
std::string WhyReferenceKernel(const kernels::KernelRegistry& registry, const Operation& op,
                               const kernels::KernelRegistry::Choice& choice);

// Returns the operations of a lowered module that have a reason, in program order.
std::vector<std::pair<const Operation*, std::string_view>> FallbacksIn(Operation* module);

// Returns messages about a lowered module, each kind of fallback once:
//   "/mm: fused.linear runs on a reference kernel: cpu.linear: needs f32, got f16 (12 operations)"
//   "/n: nn.hardmax runs on the CPU: no kernel"
//   "/if: ctl.if runs on the CPU, with 27 operations: regions of control flow run on the host"
// Also how many large values each run computes from constants alone, such as unpacked weights. For
// a GPU (`gpu`), also how many values each run copies.
std::vector<std::string> FallbackNotes(Operation* module, bool gpu);

}  // namespace tenon

#endif  // TENON_EXECUTOR_LOWERING_FALLBACKS_H_
