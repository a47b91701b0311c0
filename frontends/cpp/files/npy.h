// Reading and writing NumPy's .npy files.
#ifndef TENON_FRONTENDS_CPP_FILES_NPY_H_
#define TENON_FRONTENDS_CPP_FILES_NPY_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/onnx/file/tensor_data.h"
#include "ir/base/limits.h"

namespace tenon {

// Reads versions 1 to 3, both byte orders, C and Fortran order. The tensor has no name. NotFound if
// the file cannot be read; InvalidArgument if it is malformed.
//
// NumPy has no names for bf16 and the narrow types. The package ml_dtypes writes their elements as
// 'V1' and 'V2', bytes without a type. Such elements are read as `unnamed`, which the caller knows
// from elsewhere. InvalidArgument if `unnamed` is no type of that size without a name.
absl::StatusOr<onnx::NamedTensor> ReadNpy(const std::string& path, const Limits& limits = {},
                                          DType unnamed = DType::kInvalid);
// The same for a file in memory. The result may refer to `file`, which `owner` keeps alive.
absl::StatusOr<onnx::NamedTensor> ParseNpy(std::span<const std::byte> file,
                                           std::shared_ptr<const void> owner,
                                           DType unnamed = DType::kInvalid);
// Writes version 1.0, little-endian, in C order. Floats without a name in NumPy become float32,
// integers of 4 and 2 bits int8 and uint8. InvalidArgument if the file cannot be written.
absl::Status WriteNpy(const std::string& path, const onnx::TensorData& tensor);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_FILES_NPY_H_
