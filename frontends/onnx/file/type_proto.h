// Types as protobuf messages.
#ifndef TENON_FRONTENDS_ONNX_FILE_TYPE_PROTO_H_
#define TENON_FRONTENDS_ONNX_FILE_TYPE_PROTO_H_

#include <memory>
#include <string>

#include "frontends/onnx/onnx.pb.h"
#include "ir/core/type.h"

namespace tenon::onnx {

// Returns the type of a tensor of strings among nodes of ONNX, `!onnx.strings<SPANS>`. `spans` is
// the type of its spans (ir/base/string_span.h), a tensor.
Type StringsType(Type spans);

// Returns the type of a sequence of maps from strings or integers to f32 among nodes of ONNX:
// `!onnx.maps<string>` or `!onnx.maps<i64>`.
Type MapsType(Context& context, bool of_strings);

// Returns the type of a value; it has no shape if the rank is not known. Null for a value that is
// no tensor, nor of one of the types above.
std::unique_ptr<onnxpb::TypeProto> TypeProtoOf(Type type);

// Returns true for names that exporters write for extents that they do not know: "?", "None", "-1",
// "7", "unk__7". Such a name on two axes does not say that the extents are equal.
bool IsPlaceholderDim(const std::string& name);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_FILE_TYPE_PROTO_H_
