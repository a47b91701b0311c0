#include "frontends/cpp/files/sequences.h"

#include <cstring>

#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon {
namespace {

constexpr std::string_view kPresent = "#present", kOffsets = "#offsets", kDims = "#dims",
                           kData = "#data";

absl::Status Wrong(const SequencePorts& ports, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("sequence '{}': {}", ports.name, what));
}

// Without the ending; empty if it has another.
std::string_view NameBefore(std::string_view port, std::string_view ending) {
  return port.ends_with(ending) ? port.substr(0, port.size() - ending.size()) : std::string_view();
}

}  // namespace

std::vector<SequencePorts> FindSequences(std::span<const TensorSpec> ports) {
  std::vector<SequencePorts> found;
  for (size_t i = 0; i + 2 < ports.size(); ++i) {
    const std::string_view name = NameBefore(ports[i].name, kOffsets);
    if (name.empty() || NameBefore(ports[i + 1].name, kDims) != name ||
        NameBefore(ports[i + 2].name, kData) != name) {
      continue;
    }
    SequencePorts sequence{
        .name = std::string(name), .first = i, .count = 3, .dtype = ports[i + 2].dtype};
    if (i > 0 && NameBefore(ports[i - 1].name, kPresent) == name) {
      --sequence.first;
      ++sequence.count;
    }
    found.push_back(std::move(sequence));
  }
  return found;
}

std::vector<std::vector<int64_t>> SampleShapes(Operation* function, const SequencePorts& ports) {
  // The importer notes what the model declares of the elements at `data`.
  const Attribute attrs = function->attr("arg_attrs");
  const size_t data = ports.first + ports.count - 1;
  Attribute element, optional;
  if (attrs && attrs.kind() == Attribute::Kind::kArray && data < attrs.elements().size() &&
      attrs.elements()[data].kind() == Attribute::Kind::kDictionary) {
    element = attrs.elements()[data].Get("core.element");
    optional = attrs.elements()[data].Get("core.optional");
  }
  const bool ranked =
      element && element.kind() == Attribute::Kind::kType && element.type().is_tensor();
  const auto rank = static_cast<size_t>(ranked ? element.type().rank() : 1);
  std::vector<std::vector<int64_t>> shapes(optional ? 1 : 2, std::vector<int64_t>(rank, 2));
  if (rank > 0 && !optional) shapes[1][0] = 3;
  return shapes;
}

absl::StatusOr<std::vector<Tensor>> PackSequence(const SequencePorts& ports,
                                                 const SequenceValue& value) {
  if (!value.present && (ports.count < 4 || !value.elements.empty())) {
    return Wrong(ports, "it is not present (expected an optional sequence without elements)");
  }
  std::vector<int64_t> offsets = {0, 0}, dims;
  int64_t numbers = 0;
  for (const Tensor& element : value.elements) {
    if (element.dtype() != ports.dtype) {
      return Wrong(ports, fmt::format("an element is {} (expected elements of {})",
                                      element.type_text(), Name(ports.dtype)));
    }
    dims.insert(dims.end(), element.shape().begin(), element.shape().end());
    numbers += element.numel();
    offsets.push_back(static_cast<int64_t>(dims.size()));
    offsets.push_back(numbers);
  }
  std::vector<Tensor> tensors;
  if (ports.count > 3) tensors.push_back(Tensor::Copy(DType::kBool, {}, &value.present));
  const int64_t rows[] = {static_cast<int64_t>(value.elements.size()) + 1, 2};
  const int64_t extents[] = {static_cast<int64_t>(dims.size())};
  tensors.push_back(Tensor::Copy(DType::kI64, rows, offsets.data()));
  tensors.push_back(Tensor::Copy(DType::kI64, extents, dims.data()));
  TENON_ASSIGN_OR_RETURN(Tensor data, Tensor::TryMake(ports.dtype, std::span(&numbers, 1)));
  auto* to = static_cast<std::byte*>(data.data());
  for (const Tensor& element : value.elements) {
    if (element.num_bytes() > 0) std::memcpy(to, element.data(), element.num_bytes());
    to += element.num_bytes();
  }
  tensors.push_back(std::move(data));
  return tensors;
}

absl::StatusOr<SequenceValue> UnpackSequence(const SequencePorts& ports,
                                             std::span<const Tensor> tensors) {
  if (tensors.size() != ports.count) {
    return Wrong(ports, fmt::format("{} tensors (expected {})", tensors.size(), ports.count));
  }
  SequenceValue value;
  if (ports.count > 3) {
    const Tensor& present = tensors.front();
    if (present.dtype() != DType::kBool || present.numel() != 1) {
      return Wrong(ports, "#present is no boolean (expected one)");
    }
    value.present = *present.as<bool>();
    tensors = tensors.subspan(1);
  }
  const Tensor &offsets = tensors[0], &dims = tensors[1], &data = tensors[2];
  if (offsets.dtype() != DType::kI64 || offsets.shape().size() != 2 || offsets.shape()[0] < 1 ||
      offsets.shape()[1] != 2 || dims.dtype() != DType::kI64 || dims.shape().size() != 1 ||
      data.shape().size() != 1) {
    return Wrong(ports, fmt::format("tensors {}, {} and {} (expected nx2xi64, nxi64 and a vector)",
                                    offsets.type_text(), dims.type_text(), data.type_text()));
  }
  for (int64_t i = 0; i + 1 < offsets.shape()[0]; ++i) {
    const int64_t* const row = offsets.as<int64_t>() + 2 * i;
    const int64_t dim = row[0], number = row[1];
    if (dim < 0 || dim > row[2] || row[2] > dims.numel() || number < 0 || number > row[3] ||
        row[3] > data.numel()) {
      return Wrong(ports, fmt::format("element {} is outside of #dims or #data", i));
    }
    const int64_t rank = row[2] - dim, count = row[3] - number;
    const std::span<const int64_t> shape(dims.as<int64_t>() + dim, static_cast<size_t>(rank));
    for (const int64_t extent : shape) {
      if (extent < 0) return Wrong(ports, fmt::format("element {} has the extent {}", i, extent));
    }
    TENON_ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(data.dtype(), shape));
    const auto size = static_cast<int64_t>(SizeOf(data.dtype()));
    if (bytes != count * size) {
      return Wrong(ports, fmt::format("element {} has {} numbers where its shape has {}", i, count,
                                      bytes / size));
    }
    auto* from = static_cast<std::byte*>(data.data()) + number * size;
    const std::shared_ptr<const void> owner =
        data.owner() ? data.owner() : std::make_shared<Tensor>(data);
    value.elements.push_back(Tensor::Borrow(data.dtype(), shape, from, owner));
  }
  return value;
}

}  // namespace tenon
