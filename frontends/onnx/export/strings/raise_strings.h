// Operations on strings as nodes of ONNX. Internal to the exporter.
#ifndef TENON_FRONTENDS_ONNX_EXPORT_STRINGS_RAISE_STRINGS_H_
#define TENON_FRONTENDS_ONNX_EXPORT_STRINGS_RAISE_STRINGS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/core/operation.h"

namespace tenon::onnx {

// Writes the operations on strings of a function as nodes, before any other operation is lowered.
// Arguments and results `x#spans` and `x#text` become one, `x`, and so do the keys and values of
// maps whose keys are constant. Tensors of strings have the type of their spans until TypeStrings.
// Appends the arguments that are strings to `arguments`. Returns false for a function without
// strings, which it does not change. Unimplemented, with the operation, where it is not known which
// strings spans mean, or where the opset lacks a node.
absl::StatusOr<bool> RaiseStrings(Operation& function, int64_t opset,
                                  std::vector<Value>& arguments);

// Gives the values of a lowered function that are tensors of strings their type (StringsType).
// `arguments` is what RaiseStrings gave. Unimplemented, with the node, if one reads strings as
// numbers.
absl::Status TypeStrings(Operation& function, const std::vector<Value>& arguments);

// Makes the type of a function that of its arguments and of the values that it returns.
void UpdateFunctionType(Operation& function);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_EXPORT_STRINGS_RAISE_STRINGS_H_
