#include "frontends/onnx/file/string_data.h"

#include <fmt/format.h>

#include "frontends/onnx/file/tensor.h"
#include "frontends/onnx/ops/containers/strings.h"
#include "ir/base/check.h"
#include "ir/base/string_span.h"

namespace tenon::onnx {

absl::StatusOr<StringData> DecodeStrings(const onnxpb::TensorProto& tensor) {
  StringData data;
  data.name = tensor.name();
  data.dims.assign(tensor.dims().begin(), tensor.dims().end());
  TENON_ASSIGN_OR_RETURN(const size_t count, CheckedByteSize(DType::kU8, data.dims));
  if (static_cast<size_t>(tensor.string_data_size()) != count) {
    return absl::InvalidArgumentError(
        fmt::format("has {} strings, its dimensions need {}", tensor.string_data_size(), count));
  }
  data.strings.assign(tensor.string_data().begin(), tensor.string_data().end());
  return data;
}

absl::StatusOr<PackedStrings> Pack(const std::vector<std::string>& strings) {
  PackedStrings packed;
  packed.spans.reserve(strings.size());
  for (const std::string& string : strings) {
    const auto start = static_cast<int64_t>(packed.text.size());
    const auto length = static_cast<int64_t>(string.size());
    if (length >= kMaxStringBytes || start + length >= kMaxTextBytes) {
      return absl::InvalidArgumentError(
          "holds too long strings (expected less than 2 GiB in each and 4 GiB in all)");
    }
    packed.spans.push_back(MakeSpan(start, length));
    packed.text += string;
  }
  return packed;
}

}  // namespace tenon::onnx
