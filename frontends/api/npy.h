// NumPy's .npy files.
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

// Reads versions 1 to 3, both byte orders, C and Fortran order; the element types that Tenon has,
// but bf16, which NumPy has not. The tensor has no name.
absl::StatusOr<onnx::NamedTensor> ReadNpy(const std::string& path, const Limits& limits = {});
absl::StatusOr<onnx::NamedTensor> ParseNpy(std::span<const std::byte> file,
                                           std::shared_ptr<const void> owner);
// Writes version 1.0, little-endian, C order; bf16 as float32.
absl::Status WriteNpy(const std::string& path, const onnx::TensorData& tensor);

}  // namespace tenon

#endif  // TENON_FRONTENDS_API_NPY_H_
