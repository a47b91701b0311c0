// Reading a serialized model without copying its weights.
#ifndef TENON_FRONTENDS_ONNX_FILE_WIRE_H_
#define TENON_FRONTENDS_ONNX_FILE_WIRE_H_

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "frontends/onnx/onnx.pb.h"

namespace tenon::onnx {

// The deepest nesting of messages; a nested graph takes three levels.
inline constexpr int kMaxMessageDepth = 100;

// Parses a ModelProto of any size. Every TensorProto.raw_data becomes a raw_slice: offset and
// length within `file`. Everything except weights must fit into protobuf's 2 GiB. ResourceExhausted
// if messages are nested deeper than `depth`, InvalidArgument for a malformed file.
absl::Status ParseModel(std::span<const std::byte> file, onnxpb::ModelProto& model,
                        int depth = kMaxMessageDepth);
// The same for a file that holds one TensorProto.
absl::Status ParseTensor(std::span<const std::byte> file, onnxpb::TensorProto& tensor);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_FILE_WIRE_H_
