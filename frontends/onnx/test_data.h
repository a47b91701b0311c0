// The files of ONNX's test data: input_N.pb and output_N.pb.
#ifndef TENON_FRONTENDS_ONNX_TEST_DATA_H_
#define TENON_FRONTENDS_ONNX_TEST_DATA_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/onnx/tensor_data.h"
#include "ir/core/limits.h"

namespace tenon::onnx {

// Reads a file that holds one TensorProto; the bytes stay in the mapped file.
absl::StatusOr<NamedTensor> ReadTensorProto(const std::string& path, const Limits& limits = {});
// InvalidArgument if it is too large for a TensorProto, or cannot be written.
absl::Status WriteTensorProto(const std::string& path, const NamedTensor& tensor);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_TEST_DATA_H_
