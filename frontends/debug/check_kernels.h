// Comparing the kernels of a model with the reference kernels, operation by operation.
#ifndef TENON_FRONTENDS_DEBUG_CHECK_KERNELS_H_
#define TENON_FRONTENDS_DEBUG_CHECK_KERNELS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/compare.h"
#include "frontends/debug/compare_nodes.h"

namespace tenon {

// What is run, and when results differ.
struct CheckKernelsOptions {
  CompileOptions compile{};  // of the kernels that are checked; its `reference` is not used
  CompareTensors compare{};  // must be set
};

// An operation whose kernel disagrees with the reference kernel.
struct KernelFinding {
  std::string op;                  // such as "nn.gelu at /layer/Mul"
  std::vector<std::string> nodes;  // of the model, from which it comes
  std::string kernel;              // the name of the kernel that ran; empty if several did
  size_t result = 0;               // of the operation: the one that differs
  std::string type;                // of that result, such as "2x3xf32"
  Difference difference;           // to the result of the reference kernel
  std::string inputs;              // the first elements of the inputs that show it
  std::string program;             // IR text of the operation, without large constants
};

// The result of CheckKernels.
struct KernelsReport {
  int64_t ops = 0;                         // operations of the main function that compute something
  int64_t compared = 0;                    // of these, with sample inputs that both kernels ran on
  std::map<std::string, int64_t> skipped;  // operations that could not be run, by reason
  std::vector<KernelFinding> findings;     // in program order; one for operations of equal text
};

// Runs each operation of the main function by itself, on sample inputs, with the kernel that
// Compile chooses and with the reference kernel. InvalidArgument if there is no main function.
absl::StatusOr<KernelsReport> CheckKernels(const Model& model, const CheckKernelsOptions& options);

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_CHECK_KERNELS_H_
