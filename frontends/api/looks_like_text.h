// Telling IR text from an ONNX model.
#ifndef TENON_FRONTENDS_API_LOOKS_LIKE_TEXT_H_
#define TENON_FRONTENDS_API_LOOKS_LIKE_TEXT_H_

#include <string_view>

namespace tenon {

// As Load does it. The extension of `name` decides: .onnx is a model. Under .mlir, everything is
// text that does not begin with a control character, as a protobuf does. Without such an extension,
// text has no control characters but white space, and no bytes that UTF-8 never has.
bool LooksLikeText(std::string_view bytes, std::string_view name);

}  // namespace tenon

#endif  // TENON_FRONTENDS_API_LOOKS_LIKE_TEXT_H_
