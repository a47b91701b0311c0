// Telling IR text from models and binary modules.
#ifndef TENON_FRONTENDS_CPP_FILES_LOOKS_LIKE_TEXT_H_
#define TENON_FRONTENDS_CPP_FILES_LOOKS_LIKE_TEXT_H_

#include <string_view>

namespace tenon {

// Returns true for IR text, as Load decides. What begins as a binary module is no text, whatever
// its name. A name that ends with .onnx or .pb is a model. With .mlir, everything is text whose
// first byte is no control character. Otherwise text has no control characters except white space,
// and no bytes that never occur in UTF-8.
bool LooksLikeText(std::string_view bytes, std::string_view name);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_FILES_LOOKS_LIKE_TEXT_H_
