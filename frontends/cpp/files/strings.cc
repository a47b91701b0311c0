#include "frontends/cpp/files/strings.h"

#include <limits>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "frontends/cpp/samples/sample_strings.h"
#include "frontends/onnx/file/string_data.h"
#include "ir/base/check.h"
#include "ir/base/shown_text.h"
#include "kernels/strings/string_list.h"

namespace tenon {
namespace {

constexpr std::string_view kSpans = "#spans", kText = "#text";

kernels::TensorView StringsView(const Tensor& tensor) {
  return {const_cast<void*>(tensor.data()), tensor.dtype(), tensor.shape()};
}

}  // namespace

std::vector<StringPorts> FindStrings(std::span<const TensorSpec> ports) {
  std::vector<StringPorts> found;
  for (size_t i = 0; i + 1 < ports.size(); ++i) {
    const std::string& name = ports[i].name;
    if (!name.ends_with(kSpans) || ports[i].dtype != DType::kI64) continue;
    std::string before = name.substr(0, name.size() - kSpans.size());
    if (ports[i + 1].dtype != DType::kU8 || ports[i + 1].name != before + std::string(kText))
      continue;
    found.push_back({std::move(before), i});
  }
  return found;
}

absl::StatusOr<std::vector<Tensor>> PackStrings(const StringTensor& value) {
  TENON_ASSIGN_OR_RETURN(const int64_t count, CheckedBytes(DType::kU8, value.shape));
  if (count != static_cast<int64_t>(value.strings.size())) {
    return absl::InvalidArgumentError(
        fmt::format("{} strings for a shape of {} elements", value.strings.size(), count));
  }
  TENON_ASSIGN_OR_RETURN(const onnx::PackedStrings packed, onnx::Pack(value.strings));
  const auto size = static_cast<int64_t>(packed.text.size());
  return std::vector<Tensor>{Tensor::Copy(DType::kI64, value.shape, packed.spans.data()),
                             Tensor::Copy(DType::kU8, std::span(&size, 1), packed.text.data())};
}

absl::StatusOr<StringTensor> UnpackStrings(const Tensor& spans, const Tensor& text) {
  if (spans.dtype() != DType::kI64 || text.dtype() != DType::kU8 || text.shape().size() != 1) {
    return absl::InvalidArgumentError(
        fmt::format("strings of {} and {} (expected spans of i64 and a vector of ui8)",
                    spans.type_text(), text.type_text()));
  }
  std::vector<std::string_view> strings;
  const kernels::KernelStatus status =
      kernels::ReadStrings(StringsView(spans), StringsView(text), strings);
  if (!status.ok()) return absl::InvalidArgumentError(std::string(status.message()));
  StringTensor value;
  value.shape.assign(spans.shape().begin(), spans.shape().end());
  value.strings.assign(strings.begin(), strings.end());
  return value;
}

Difference CompareStrings(std::span<const Tensor> actual, std::span<const Tensor> expected) {
  const absl::StatusOr<StringTensor> ours = UnpackStrings(actual[0], actual[1]),
                                     theirs = UnpackStrings(expected[0], expected[1]);
  Difference result;
  result.max_abs = result.max_rel = std::numeric_limits<double>::infinity();
  if (!ours.ok() || !theirs.ok()) {
    result.problem = std::string((ours.ok() ? theirs : ours).status().message());
    return result;
  }
  if (ours->shape != theirs->shape) {
    result.problem = fmt::format("is of shape [{}], expected [{}]", fmt::join(ours->shape, ", "),
                                 fmt::join(theirs->shape, ", "));
    return result;
  }
  int64_t failures = 0;
  for (size_t i = 0; i < ours->strings.size(); ++i) {
    if (ours->strings[i] == theirs->strings[i]) continue;
    if (failures++ == 0) result.element = static_cast<int64_t>(i);
  }
  result.pass = failures == 0;
  if (result.pass) {
    result.max_abs = result.max_rel = 0;
    return result;
  }
  const auto at = static_cast<size_t>(result.element);
  result.problem = fmt::format("{} of {} elements differ; element {} is '{}', expected '{}'",
                               failures, ours->strings.size(), at, ShownName(ours->strings[at]),
                               ShownName(theirs->strings[at]));
  return result;
}

StringTensor SampleStrings(std::span<const int64_t> shape, SampleRandom& random) {
  static constexpr std::string_view kWords[] = {"a", "tree", "Tenon", "rules rewrite", "", "42"};
  StringTensor value;
  value.shape.assign(shape.begin(), shape.end());
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  for (int64_t i = 0; i < count; ++i) {
    value.strings.emplace_back(kWords[random.Below(std::ssize(kWords))]);
  }
  return value;
}

}  // namespace tenon
