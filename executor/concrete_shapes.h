// Shapes of one call when the extents of its operands are known.
#ifndef TENON_EXECUTOR_CONCRETE_SHAPES_H_
#define TENON_EXECUTOR_CONCRETE_SHAPES_H_

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/lowered_op.h"
#include "kernels/tensor_view.h"

namespace tenon {

using SymbolLookup = std::function<std::optional<int64_t>(std::string_view symbol)>;

struct ResultShape {
  DType dtype = DType::kInvalid;
  std::vector<int64_t> shape;
};

// Dimension attributes with their symbols replaced. The error names a symbol that has no value.
absl::StatusOr<Slots> ConcreteSlots(const OpInfo& info, std::span<const Attribute> slots,
                                    const SymbolLookup& symbols);

// Do all dimension attributes consist of constants?
bool HasConstantDims(std::span<const Attribute> slots);

// Extents of a tensor type; nullopt unless all are known, or if it is another type.
std::optional<std::vector<int64_t>> StaticShape(Type type);

// Bytes of a tensor type; nullopt if an extent is not known, if no process can hold them, or if it
// is another type.
std::optional<int64_t> StaticBytes(Type type);

// Result types by the op's shape function, which also checks that the operands fit each other.
// `operands`: one per operand value; where data is set, operations whose result depends on values
// (ten.range, …) use it. FailedPrecondition if such a value is not there, ResourceExhausted if a
// result is larger than kMaxTensorBytes. `slots` must be concrete.
absl::StatusOr<std::vector<ResultShape>> ConcreteResults(
    const OpInfo& info, Location location, std::span<const Attribute> slots,
    std::span<const kernels::TensorView> operands);

}  // namespace tenon

#endif  // TENON_EXECUTOR_CONCRETE_SHAPES_H_
