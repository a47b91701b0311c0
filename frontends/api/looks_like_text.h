// Telling IR text from an ONNX model.
#ifndef TENON_FRONTENDS_API_LOOKS_LIKE_TEXT_H_
#define TENON_FRONTENDS_API_LOOKS_LIKE_TEXT_H_

#include <string_view>

namespace tenon {

// As Load does it: IR text begins without control characters but white space, a protobuf with one.
bool LooksLikeText(std::string_view bytes);

}  // namespace tenon

#endif  // TENON_FRONTENDS_API_LOOKS_LIKE_TEXT_H_
