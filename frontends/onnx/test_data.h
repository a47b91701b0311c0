// Files of ONNX's test data: input_N.pb and output_N.pb.
#ifndef TENON_FRONTENDS_ONNX_TEST_DATA_H_
#define TENON_FRONTENDS_ONNX_TEST_DATA_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/onnx/tensor_data.h"
#include "ir/core/limits.h"

namespace tenon::onnx {

// Reads a file with one TensorProto. The bytes stay in the mapped file. NotFound if the file cannot
// be read; other errors as for DecodeTensor.
absl::StatusOr<NamedTensor> ReadTensorProto(const std::string& path, const Limits& limits = {});
// Writes such a file. InvalidArgument if the tensor is too large for it, or if it cannot be
// written.
absl::Status WriteTensorProto(const std::string& path, const NamedTensor& tensor);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_TEST_DATA_H_
