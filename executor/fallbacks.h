// Work of a lowered program that is slower than the program promises, or leaves its device.
#ifndef TENON_EXECUTOR_FALLBACKS_H_
#define TENON_EXECUTOR_FALLBACKS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/core/operation.h"
#include "kernels/registry.h"

namespace tenon {

// The reason, on a kernel.call or ctl op of a lowered function: lower-to-kernels writes it.
inline constexpr char kFallback[] = "kernel.fallback";
// The reason of what a program for a GPU runs on the host because it is in a region.
inline constexpr char kRegionFallback[] = "regions of control flow run on the host";

// Why a CPU program runs `op` (not lowered yet) on the reference kernel that was chosen: what every
// faster kernel lacks, or that there is none. Empty for fast kernels and for trivial work:
// integers and booleans in vectors of at most 64 elements, and, where no fast kernel exists at all,
// work on at most 64 KiB. An extent that is not known counts as 128.
std::string WhyReferenceKernel(const kernels::KernelRegistry& registry, const Operation& op,
                               const kernels::KernelRegistry::Choice& choice);

// Operations of a lowered module that have a reason, in program order.
std::vector<std::pair<const Operation*, std::string_view>> FallbacksIn(Operation* module);

// What users are told of a lowered module, each kind of fallback once:
//   "/mm: fused.linear runs on a reference kernel: cpu.linear: needs f32, got f16 (12 operations)"
//   "/n: nn.hardmax runs on the CPU: no kernel"
//   "/if: ctl.if runs on the CPU, with 27 operations: regions of control flow run on the host"
// and of a program for a GPU how many values are copied in each run.
std::vector<std::string> FallbackNotes(Operation* module, bool gpu);

}  // namespace tenon

#endif  // TENON_EXECUTOR_FALLBACKS_H_
