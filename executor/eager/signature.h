// Calls that are alike: what is found out about the first one serves all others.
#ifndef TENON_EXECUTOR_EAGER_SIGNATURE_H_
#define TENON_EXECUTOR_EAGER_SIGNATURE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/eager/engine.h"
#include "executor/lowering/lowered_op.h"
#include "executor/prepare/concrete_shapes.h"
#include "ir/core/context/context.h"
#include "kernels/kernel.h"
#include "kernels/registry.h"

namespace tenon::eager {

// One operation with its attributes and the element types and shapes of its operands.
struct Signature {
  // How the results are made.
  enum class Kind : uint8_t {
    kKernel,  // a kernel runs
    kView,    // the result has the bytes of the first operand
    kShape    // the result has extents of the first operand
  };

  std::vector<int64_t> key;                 // SignatureKey; tells signatures apart, but for `attrs`
  std::shared_ptr<const void> attrs;        // the attribute struct; null without attributes
  Kind kind = Kind::kKernel;                // how the results are made
  const OpInfo* info = nullptr;             // the definition of the operation
  Slots slots;                              // all attributes, for the shape function
  const kernels::Kernel* kernel = nullptr;  // not null for kKernel
  std::vector<std::string> why_not;         // kernels that were passed over
  std::vector<ResultShape> results;         // the shapes of the results, unless `by_value`
  bool by_value = false;                    // shapes depend on the values of operands
  std::shared_ptr<kernels::KernelState> state;  // of Prepare, unless `by_value`
  size_t scratch_bytes = 0;                     // of Prepare, unless `by_value`
  std::unique_ptr<Signature> next;              // another one of the same hash
};

// Returns a signature for the first call of its kind: checks operands and attributes, infers the
// shapes of results that do not depend on values, and chooses the kernel, which is not prepared.
// `context` has the dialects of Tenon. `why_not` receives the reasons also if there is no kernel.
absl::StatusOr<std::unique_ptr<Signature>> MakeSignature(
    Context& context, const kernels::KernelRegistry& registry, bool reference_only,
    const OpEntry& op, std::span<const std::span<const Tensor>> operands, const void* attrs,
    std::vector<std::string>& why_not);

}  // namespace tenon::eager

#endif  // TENON_EXECUTOR_EAGER_SIGNATURE_H_
