#include "frontends/cpp/files/test_cases.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "fmt/format.h"
#include "frontends/cpp/files/sequences.h"
#include "frontends/cpp/files/strings.h"
#include "frontends/onnx/file/test_data.h"
#include "ir/base/check.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

onnx::NamedTensor FromTensor(const Tensor& tensor, const std::string& name) {
  onnx::NamedTensor data;
  data.dtype = tensor.dtype();
  data.dims.assign(tensor.shape().begin(), tensor.shape().end());
  data.blob = Blob::Copy({static_cast<const std::byte*>(tensor.data()), tensor.num_bytes()});
  data.name = name;
  return data;
}

onnx::SequenceData FromSequence(const SequenceValue& value, const std::string& name) {
  onnx::SequenceData data;
  data.name = name;
  data.present = value.present;
  for (const Tensor& element : value.elements) data.elements.push_back(FromTensor(element, ""));
  return data;
}

// An input or output of the model: a tensor of the program, or the tensors of a sequence or of
// strings.
struct ModelPort {
  std::string name;
  size_t first = 0, count = 1;
  std::optional<SequencePorts> sequence{};
  bool strings = false;
};

std::vector<ModelPort> PortsOf(std::span<const TensorSpec> specs) {
  std::vector<ModelPort> ports;
  const std::vector<SequencePorts> sequences = FindSequences(specs);
  const std::vector<StringPorts> strings = FindStrings(specs);
  size_t next = 0, next_strings = 0;
  for (size_t i = 0; i < specs.size();) {
    if (next_strings < strings.size() && strings[next_strings].first == i) {
      ports.push_back({strings[next_strings++].name, i, 2, std::nullopt, /*strings=*/true});
    } else if (next < sequences.size() && sequences[next].first == i) {
      const SequencePorts& sequence = sequences[next++];
      ports.push_back({sequence.name, i, sequence.count, sequence});
    } else {
      ports.push_back({specs[i].name, i});
    }
    i += ports.back().count;
  }
  return ports;
}

// What a file says of a port of this kind: its name, and its tensors.
struct PortFile {
  std::string name;
  std::vector<Tensor> tensors;
};

absl::StatusOr<PortFile> ReadFile(const std::string& path, const ModelPort& port,
                                  const Limits& limits) {
  if (port.sequence) {
    TENON_ASSIGN_OR_RETURN(SequenceFile file, ReadSequenceFile(path, *port.sequence, limits));
    return PortFile{std::move(file.name), std::move(file.tensors)};
  }
  if (port.strings) {
    TENON_ASSIGN_OR_RETURN(onnx::StringData read, onnx::ReadStringTensorProto(path, limits));
    TENON_ASSIGN_OR_RETURN(std::vector<Tensor> tensors,
                           PackStrings({std::move(read.dims), std::move(read.strings)}));
    return PortFile{std::move(read.name), std::move(tensors)};
  }
  TENON_ASSIGN_OR_RETURN(const onnx::NamedTensor read, onnx::ReadTensorProto(path, limits));
  return PortFile{read.name, {AsTensor(read)}};
}

// Files prefix_0.pb, prefix_1.pb, … by number; a value that names one of `specs` goes there.
absl::StatusOr<std::vector<Tensor>> ReadFiles(const fs::path& folder, const std::string& prefix,
                                              std::span<const TensorSpec> specs,
                                              const Limits& limits) {
  std::vector<Tensor> tensors(specs.size());
  const std::vector<ModelPort> ports = PortsOf(specs);
  for (size_t n = 0;; ++n) {
    const fs::path path = folder / fmt::format("{}_{}.pb", prefix, n);
    std::error_code error;
    if (!fs::exists(path, error)) break;
    const ModelPort* port = n < ports.size() ? &ports[n] : nullptr;
    TENON_ASSIGN_OR_RETURN(PortFile read,
                           ReadFile(path.string(), port == nullptr ? ModelPort() : *port, limits));
    for (const ModelPort& other : ports) {
      const bool named = !read.name.empty() && other.name == read.name;
      if (named && other.count == read.tensors.size()) port = &other;
    }
    if (port == nullptr) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: the model has {} {}s (expected no such file)", path.string(), ports.size(), prefix));
    }
    if (tensors[port->first]) {
      return absl::InvalidArgumentError(fmt::format("{}: a second file for {} '{}' (expected one)",
                                                    path.string(), prefix, port->name));
    }
    std::move(read.tensors.begin(), read.tensors.end(),
              tensors.begin() + static_cast<std::ptrdiff_t>(port->first));
  }
  return tensors;
}

// An error for the first port without a file.
absl::Status CheckAllGiven(const std::string& folder, const std::string& prefix,
                           std::span<const Tensor> tensors, std::span<const TensorSpec> specs) {
  const std::vector<ModelPort> ports = PortsOf(specs);
  for (size_t i = 0; i < ports.size(); ++i) {
    if (tensors[ports[i].first]) continue;
    return absl::InvalidArgumentError(fmt::format("{}: no file for {} '{}' (expected {}_{}.pb)",
                                                  folder, prefix, ports[i].name, prefix, i));
  }
  return absl::OkStatus();
}

absl::StatusOr<TestCase> ReadTestCase(const fs::path& folder, const Program& program,
                                      const Limits& limits) {
  TestCase c;
  c.name = folder.filename().string();
  TENON_ASSIGN_OR_RETURN(c.inputs, ReadFiles(folder, "input", program.inputs(), limits));
  TENON_ASSIGN_OR_RETURN(c.expected, ReadFiles(folder, "output", program.outputs(), limits));
  TENON_RETURN_IF_ERROR(CheckAllGiven(folder.string(), "input", c.inputs, program.inputs()));
  return c;
}

}  // namespace

Tensor AsTensor(const onnx::TensorData& data) {
  if (data.blob->alignment() < SizeOf(data.dtype))
    return Tensor::Copy(data.dtype, data.dims, data.blob->bytes().data());
  // Inputs are only read.
  return Tensor::Borrow(data.dtype, data.dims, const_cast<std::byte*>(data.blob->bytes().data()),
                        data.blob);
}

absl::StatusOr<SequenceFile> ReadSequenceFile(const std::string& path, const SequencePorts& ports,
                                              const Limits& limits) {
  TENON_ASSIGN_OR_RETURN(const onnx::SequenceData read,
                         onnx::ReadSequenceProto(path, ports.count > 3, limits));
  SequenceValue value;
  value.present = read.present;
  for (const onnx::NamedTensor& element : read.elements)
    value.elements.push_back(AsTensor(element));
  SequenceFile file;
  file.name = read.name;
  TENON_ASSIGN_OR_RETURN(file.tensors, PackSequence(ports, value));
  return file;
}

absl::StatusOr<std::vector<TestCase>> ReadTestCases(const std::string& folder,
                                                    const Program& program, const Limits& limits) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return absl::InvalidArgumentError(
        fmt::format("{}: not a folder (expected input_N.pb and output_N.pb in it)", folder));
  }
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with("test_data_set_"))
      folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  if (folders.empty() || fs::exists(fs::path(folder) / "input_0.pb", error))
    folders = {fs::path(folder)};
  std::vector<TestCase> cases;
  for (const fs::path& path : folders) {
    TENON_ASSIGN_OR_RETURN(TestCase c, ReadTestCase(path, program, limits));
    cases.push_back(std::move(c));
  }
  const bool none = std::none_of(cases.begin(), cases.end(), [](const TestCase& c) {
    return std::any_of(c.expected.begin(), c.expected.end(),
                       [](const Tensor& t) { return static_cast<bool>(t); });
  });
  if (none && !program.outputs().empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: no expected values (expected output_N.pb)", folder));
  }
  // An output that nothing is compared with must not count as right.
  for (size_t i = 0; i < cases.size(); ++i) {
    TENON_RETURN_IF_ERROR(
        CheckAllGiven(folders[i].string(), "output", cases[i].expected, program.outputs()));
  }
  return cases;
}

absl::Status SaveTestCase(const std::string& folder, const Program& program,
                          std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::InvalidArgumentError(fmt::format("{}: {}", folder, error.message()));
  auto write = [&](std::string_view prefix, std::span<const Tensor> tensors,
                   std::span<const TensorSpec> specs) -> absl::Status {
    const std::vector<ModelPort> ports = PortsOf(specs);
    for (size_t i = 0; i < ports.size(); ++i) {
      const std::string path = (fs::path(folder) / fmt::format("{}_{}.pb", prefix, i)).string();
      const std::span<const Tensor> given = tensors.subspan(ports[i].first, ports[i].count);
      if (ports[i].strings) {
        TENON_ASSIGN_OR_RETURN(StringTensor value, UnpackStrings(given[0], given[1]));
        TENON_RETURN_IF_ERROR(onnx::WriteStringTensorProto(
            path, {ports[i].name, std::move(value.shape), std::move(value.strings)}));
        continue;
      }
      if (!ports[i].sequence) {
        TENON_RETURN_IF_ERROR(onnx::WriteTensorProto(path, FromTensor(given[0], ports[i].name)));
        continue;
      }
      TENON_ASSIGN_OR_RETURN(const SequenceValue value, UnpackSequence(*ports[i].sequence, given));
      TENON_RETURN_IF_ERROR(
          onnx::WriteSequenceProto(path, FromSequence(value, ports[i].name), ports[i].count > 3));
    }
    return absl::OkStatus();
  };
  TENON_RETURN_IF_ERROR(write("input", inputs, program.inputs()));
  return write("output", outputs, program.outputs());
}

}  // namespace tenon
