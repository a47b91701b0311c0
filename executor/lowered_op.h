// Access to the operation that a kernel.call or kernel.view stands for.
#ifndef TENON_EXECUTOR_LOWERED_OP_H_
#define TENON_EXECUTOR_LOWERED_OP_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/core/operation.h"
#include "kernels/kernel.h"
#include "kernels/registry.h"

namespace tenon {

using Slots = absl::InlinedVector<Attribute, 6>;

// A "/node/name: message" status of the given code, emitted as a diagnostic too.
absl::Status EmitStatus(Context& context, Location location, absl::StatusCode code,
                        std::string message);
// InvalidArgument at the operation.
absl::Status Reject(const Operation& op, std::string message);

// The inherent attributes of an op as a dictionary, and back. Absent ones are left out.
Attribute PropertiesOf(const Operation& op);
absl::StatusOr<Slots> SlotsFrom(const OpInfo& info, Attribute properties);

// For each input of a kernel that serves `info`, the operand that feeds it, or -1 for an absent
// optional one: single and optional operand groups are one input each, variadic ones as many as
// there are operands.
absl::StatusOr<std::vector<int>> KernelInputs(const OpInfo& info, int num_operands,
                                              std::span<const Attribute> slots);

// What kernel choice sees of one call: shapes with -1 for extents that are not constant.
class SignatureOf {
 public:
  // `slots` in the order of `info`. The signature's attributes have 0 for extents that are not
  // constant.
  static absl::StatusOr<SignatureOf> Make(const OpInfo& info, std::span<const Attribute> slots,
                                          std::span<const Value> operands,
                                          std::span<const Type> results);
  // The same as if the operands were of these types.
  static absl::StatusOr<SignatureOf> Make(const OpInfo& info, std::span<const Attribute> slots,
                                          std::span<const Value> operands,
                                          std::span<const Type> operand_types,
                                          std::span<const Type> results);
  kernels::CallSignature get() const;

 private:
  SignatureOf() = default;
  void AddView(Type type, std::vector<kernels::TensorView>& views);
  std::vector<std::unique_ptr<std::vector<int64_t>>> shapes_;
  std::vector<kernels::TensorView> inputs_, outputs_;
  std::unique_ptr<bool[]> constant_;
  std::shared_ptr<const void> attrs_;
};

// The kernel for an op of the model (not lowered yet); null with reasons in `why_not`.
absl::StatusOr<kernels::KernelRegistry::Choice> ChooseKernel(
    const kernels::KernelRegistry& registry, const Operation& op, bool reference_only,
    kernels::Backend backend = kernels::Backend::kCpu);

}  // namespace tenon

#endif  // TENON_EXECUTOR_LOWERED_OP_H_
