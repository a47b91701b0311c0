// Reads a serialised model without copying its weights.
#ifndef TENON_FRONTENDS_ONNX_WIRE_H_
#define TENON_FRONTENDS_ONNX_WIRE_H_

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "frontends/onnx/onnx.pb.h"

namespace tenon::onnx {

// Messages deeper than this are refused; a nested graph costs three.
inline constexpr int kMaxMessageDepth = 100;

// Parses a ModelProto of any size, except that every TensorProto.raw_data, wherever it is, becomes
// a raw_slice: offset and length within `file`. What is not weights must fit protobuf's 2 GiB.
// ResourceExhausted for messages that are nested more than `depth` deep.
absl::Status ParseModel(std::span<const std::byte> file, onnxpb::ModelProto& model,
                        int depth = kMaxMessageDepth);
// The same for a file that holds one TensorProto.
absl::Status ParseTensor(std::span<const std::byte> file, onnxpb::TensorProto& tensor);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_WIRE_H_
