// Reading and writing NumPy's .npy files.
#ifndef TENON_FRONTENDS_API_NPY_H_
#define TENON_FRONTENDS_API_NPY_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/onnx/tensor_data.h"
#include "ir/core/limits.h"

namespace tenon {

// Reads versions 1 to 3, both byte orders, C and Fortran order, and all element types of Tenon
// except bf16. The tensor has no name. NotFound if the file cannot be read; InvalidArgument if it
// is malformed.
absl::StatusOr<onnx::NamedTensor> ReadNpy(const std::string& path, const Limits& limits = {});
// The same for a file in memory. The result may refer to `file`, which `owner` keeps alive.
absl::StatusOr<onnx::NamedTensor> ParseNpy(std::span<const std::byte> file,
                                           std::shared_ptr<const void> owner);
// Writes version 1.0, little-endian, in C order; bf16 as float32. InvalidArgument if the file
// cannot be written.
absl::Status WriteNpy(const std::string& path, const onnx::TensorData& tensor);

}  // namespace tenon

#endif  // TENON_FRONTENDS_API_NPY_H_
