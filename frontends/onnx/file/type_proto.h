// Types as protobuf messages.
#ifndef TENON_FRONTENDS_ONNX_FILE_TYPE_PROTO_H_
#define TENON_FRONTENDS_ONNX_FILE_TYPE_PROTO_H_

#include <memory>
#include <string>

#include "frontends/onnx/onnx.pb.h"
#include "ir/core/type.h"

namespace tenon::onnx {

// Returns the type of a value; it has no shape if the rank is not known. Null for a value that is
// no tensor.
std::unique_ptr<onnxpb::TypeProto> TypeProtoOf(Type type);

// Returns true for names that exporters write for extents that they do not know: "?", "None", "-1",
// "7", "unk__7". Such a name on two axes does not say that the extents are equal.
bool IsPlaceholderDim(const std::string& name);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_FILE_TYPE_PROTO_H_
