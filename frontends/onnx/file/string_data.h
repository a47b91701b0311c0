// Tensors of strings as plain data, and as constants.
#ifndef TENON_FRONTENDS_ONNX_FILE_STRING_DATA_H_
#define TENON_FRONTENDS_ONNX_FILE_STRING_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tenon::onnx {

// Strings in row-major order, which may hold any bytes.
struct StringData {
  std::string name;  // in a file; may be empty
  std::vector<int64_t> dims;
  std::vector<std::string> strings;
};

// What the IR has for strings: a span for each, and the text (ir/base/string_span.h).
struct PackedStrings {
  std::vector<int64_t> spans;
  std::string text;
};
// Packs strings in order. An error if one is too long, or all together.
absl::StatusOr<PackedStrings> Pack(const std::vector<std::string>& strings);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_FILE_STRING_DATA_H_
