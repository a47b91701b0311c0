// Shapes of one call for known extents of its operands.
#ifndef TENON_EXECUTOR_PREPARE_CONCRETE_SHAPES_H_
#define TENON_EXECUTOR_PREPARE_CONCRETE_SHAPES_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/lowering/lowered_op.h"
#include "kernels/kernel.h"
#include "kernels/tensor_view.h"

namespace tenon {

// Returns the value of a dimension symbol; nullopt if it has none.
using SymbolLookup = std::function<std::optional<int64_t>(std::string_view symbol)>;

// The dtype and shape of one result.
struct ResultShape {
  DType dtype = DType::kInvalid;  // the element type
  std::vector<int64_t> shape;     // the extents
};

// Returns the slots with the symbols in dimension attributes replaced. The error names a symbol
// without a value.
absl::StatusOr<Slots> ConcreteSlots(const OpInfo& info, std::span<const Attribute> slots,
                                    const SymbolLookup& symbols);

// True if all dimension attributes are constant.
bool HasConstantDims(std::span<const Attribute> slots);

// Returns the extents of a tensor type. Returns nullopt for other types and if an extent is not
// constant.
std::optional<std::vector<int64_t>> StaticShape(Type type);

// Returns the size of a tensor type in bytes. Returns nullopt for other types, for unknown extents
// and for sizes above kMaxTensorBytes.
std::optional<int64_t> StaticBytes(Type type);

// Computes result types with the shape function, which also checks the operands. `operands` has one
// view per operand; ops whose result shape depends on values (ten.range, …) read their data.
// `slots` must be concrete. FailedPrecondition if such data is missing. ResourceExhausted if a
// result is larger than kMaxTensorBytes. `found` is as for RunTimeShapes.
absl::StatusOr<std::vector<ResultShape>> ConcreteResults(
    const OpInfo& info, Location location, std::span<const Attribute> slots,
    std::span<const kernels::TensorView> operands,
    std::shared_ptr<kernels::KernelState>* found = nullptr);

}  // namespace tenon

#endif  // TENON_EXECUTOR_PREPARE_CONCRETE_SHAPES_H_
