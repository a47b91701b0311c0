// Fused operations as functions of a model. Internal to the exporter.
#ifndef TENON_FRONTENDS_ONNX_EXPORT_LOCAL_FUNCTIONS_H_
#define TENON_FRONTENDS_ONNX_EXPORT_LOCAL_FUNCTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/core/operation.h"

namespace tenon::onnx {

// The domain of the functions, and the entry of a call that says which one it calls.
inline constexpr std::string_view kFunctionDomain = "tenon";
inline constexpr std::string_view kCallee = "callee";

// What one operation computes. Functions of equal nodes become one when they are written.
struct LocalFunction {
  std::string name;  // of the operation: "SkipLayerNorm"
  OwnedOp module;    // with one function @main, which export-onnx has lowered
};

// Replaces each fused operation in `function` by a call of a function of its own. The call is an
// opaque operation with the entry `callee`, the position in the result; it has the operands of the
// operation and those of its results that are used.
//
// `lower` writes the function @main of a module as nodes. Diagnostics of it are dropped, and an
// operation for which it fails stays: its body may need an extent that no operand has.
absl::StatusOr<std::vector<LocalFunction>> OutlineFused(
    Operation& function, absl::FunctionRef<absl::Status(Operation* module)> lower);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_EXPORT_LOCAL_FUNCTIONS_H_
