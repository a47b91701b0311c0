// Tensors as plain data.
#ifndef TENON_FRONTENDS_ONNX_FILE_TENSOR_DATA_H_
#define TENON_FRONTENDS_ONNX_FILE_TENSOR_DATA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/base/dtype.h"
#include "ir/core/constants/blob.h"

namespace tenon::onnx {

// Dense elements in row-major order, little-endian.
struct TensorData {
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
  std::shared_ptr<const Blob> blob;  // exactly the elements; any alignment
};

// A tensor with its name in a file.
struct NamedTensor : TensorData {
  std::string name;  // may be empty
};

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_FILE_TENSOR_DATA_H_
