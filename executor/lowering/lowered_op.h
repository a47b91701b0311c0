// Access to the operation that a kernel.call or kernel.view stands for.
#ifndef TENON_EXECUTOR_LOWERING_LOWERED_OP_H_
#define TENON_EXECUTOR_LOWERING_LOWERED_OP_H_

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

// Emits "/node/name: message" as a diagnostic and returns it as a status of the given code.
absl::Status EmitStatus(Context& context, Location location, absl::StatusCode code,
                        std::string message);
// The same with InvalidArgument, at the operation.
absl::Status Reject(const Operation& op, std::string message);

// Inherent attributes of an op as a dictionary, and back. Absent ones are left out.
Attribute PropertiesOf(const Operation& op);
absl::StatusOr<Slots> SlotsFrom(const OpInfo& info, Attribute properties);

// Returns for each kernel input the operand that feeds it, or -1 for an absent optional one. Each
// single and optional operand group is one input; a variadic group has one input per operand.
absl::StatusOr<std::vector<int>> KernelInputs(const OpInfo& info, int num_operands,
                                              std::span<const Attribute> slots);

// The signature of one call for the choice of a kernel. Extents that are not constant are -1.
class SignatureOf {
 public:
  // `slots` are in the order of `info`. Attributes of the signature are 0 for extents that are not
  // constant.
  static absl::StatusOr<SignatureOf> Make(const OpInfo& info, std::span<const Attribute> slots,
                                          std::span<const Value> operands,
                                          std::span<const Type> results);
  // The same for operands that are taken to have these types.
  static absl::StatusOr<SignatureOf> Make(const OpInfo& info, std::span<const Attribute> slots,
                                          std::span<const Value> operands,
                                          std::span<const Type> operand_types,
                                          std::span<const Type> results);
  // Valid as long as this object.
  kernels::CallSignature get() const;

 private:
  SignatureOf() = default;
  void AddView(Type type, std::vector<kernels::TensorView>& views);
  std::vector<std::unique_ptr<std::vector<int64_t>>> shapes_;
  std::vector<kernels::TensorView> inputs_, outputs_;
  std::unique_ptr<bool[]> constant_;
  std::shared_ptr<const void> attrs_;
};

// Chooses the kernel for an op that is not lowered yet; null, with reasons in `why_not`, if there
// is none.
absl::StatusOr<kernels::KernelRegistry::Choice> ChooseKernel(
    const kernels::KernelRegistry& registry, const Operation& op, bool reference_only,
    kernels::Backend backend = kernels::Backend::kCpu);

}  // namespace tenon

#endif  // TENON_EXECUTOR_LOWERING_LOWERED_OP_H_
