// Files of ONNX's test data: input_N.pb and output_N.pb.
#ifndef TENON_FRONTENDS_ONNX_FILE_TEST_DATA_H_
#define TENON_FRONTENDS_ONNX_FILE_TEST_DATA_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/onnx/file/string_data.h"
#include "frontends/onnx/file/tensor_data.h"
#include "ir/base/limits.h"

namespace tenon::onnx {

// Reads a file with one TensorProto. The bytes stay in the mapped file. NotFound if the file cannot
// be read; other errors as for DecodeTensor.
absl::StatusOr<NamedTensor> ReadTensorProto(const std::string& path, const Limits& limits = {});
// Writes such a file. InvalidArgument if the tensor is too large for it, or if it cannot be
// written.
absl::Status WriteTensorProto(const std::string& path, const NamedTensor& tensor);

// Reads a file with one TensorProto of strings. Errors as for ReadTensorProto.
absl::StatusOr<StringData> ReadStringTensorProto(const std::string& path,
                                                 const Limits& limits = {});
// Writes such a file. Errors as for WriteTensorProto.
absl::Status WriteStringTensorProto(const std::string& path, const StringData& strings);

// The value of a file with a SequenceProto or an OptionalProto of tensors.
struct SequenceData {
  std::string name;                   // may be empty
  std::vector<NamedTensor> elements;  // in order
  bool present = true;                // false: an optional value that is not there
};
// Reads a file with one SequenceProto or, with `optional`, an OptionalProto that holds one. An
// OptionalProto of a tensor reads as a sequence of at most one element. Errors as for
// ReadTensorProto, and Unimplemented for elements that are no tensors.
absl::StatusOr<SequenceData> ReadSequenceProto(const std::string& path, bool optional,
                                               const Limits& limits = {});
// Writes such a file.
absl::Status WriteSequenceProto(const std::string& path, const SequenceData& sequence,
                                bool optional);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_FILE_TEST_DATA_H_
