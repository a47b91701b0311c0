#include "tools/command_line/cases.h"

#include <algorithm>
#include <filesystem>

#include "fmt/format.h"
#include "frontends/onnx/test_data.h"
#include "ir/core/check.h"

namespace tenon::tools {
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

// Files prefix_0.pb, prefix_1.pb, … by number; a tensor that names one of `specs` goes there.
absl::StatusOr<std::vector<Tensor>> ReadFiles(const fs::path& folder, const std::string& prefix,
                                              std::span<const TensorSpec> specs,
                                              const Limits& limits) {
  std::vector<Tensor> tensors(specs.size());
  for (size_t n = 0;; ++n) {
    const fs::path path = folder / fmt::format("{}_{}.pb", prefix, n);
    std::error_code error;
    if (!fs::exists(path, error)) break;
    TENON_ASSIGN_OR_RETURN(const onnx::NamedTensor read,
                           onnx::ReadTensorProto(path.string(), limits));
    size_t slot = n;
    for (size_t i = 0; i < specs.size(); ++i) {
      if (!read.name.empty() && specs[i].name == read.name) slot = i;
    }
    if (slot >= specs.size()) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: the model has {} {}s (expected no such file)", path.string(), specs.size(), prefix));
    }
    if (tensors[slot]) {
      return absl::InvalidArgumentError(fmt::format("{}: a second file for {} '{}' (expected one)",
                                                    path.string(), prefix, specs[slot].name));
    }
    tensors[slot] = ToTensor(read);
  }
  return tensors;
}

absl::StatusOr<Case> ReadCase(const fs::path& folder, const Program& program,
                              const Limits& limits) {
  Case c;
  c.name = folder.filename().string();
  TENON_ASSIGN_OR_RETURN(c.inputs, ReadFiles(folder, "input", program.inputs(), limits));
  TENON_ASSIGN_OR_RETURN(c.expected, ReadFiles(folder, "output", program.outputs(), limits));
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.inputs[i]) continue;
    return absl::InvalidArgumentError(
        fmt::format("{}: no file for input '{}' (expected input_{}.pb)", folder.string(),
                    program.inputs()[i].name, i));
  }
  return c;
}

}  // namespace

Tensor ToTensor(const onnx::TensorData& data) {
  if (data.blob->alignment() < SizeOf(data.dtype))
    return Tensor::Copy(data.dtype, data.dims, data.blob->bytes().data());
  // Inputs are only read.
  return Tensor::Borrow(data.dtype, data.dims, const_cast<std::byte*>(data.blob->bytes().data()),
                        data.blob);
}

absl::StatusOr<std::vector<Case>> ReadCases(const std::string& folder, const Program& program,
                                            const Limits& limits) {
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
  std::vector<Case> cases;
  for (const fs::path& path : folders) {
    TENON_ASSIGN_OR_RETURN(Case c, ReadCase(path, program, limits));
    cases.push_back(std::move(c));
  }
  const bool none = std::none_of(cases.begin(), cases.end(), [](const Case& c) {
    return std::any_of(c.expected.begin(), c.expected.end(),
                       [](const Tensor& t) { return static_cast<bool>(t); });
  });
  if (none && !program.outputs().empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: no expected values (expected output_N.pb)", folder));
  }
  // An output that nothing is compared with must not count as right.
  for (size_t i = 0; i < cases.size(); ++i) {
    for (size_t k = 0; k < program.outputs().size(); ++k) {
      if (cases[i].expected[k]) continue;
      return absl::InvalidArgumentError(
          fmt::format("{}: no file for output '{}' (expected output_{}.pb)", folders[i].string(),
                      program.outputs()[k].name, k));
    }
  }
  return cases;
}

absl::Status SaveCase(const std::string& folder, const Program& program,
                      std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::InvalidArgumentError(fmt::format("{}: {}", folder, error.message()));
  auto write = [&](std::string_view prefix, std::span<const Tensor> tensors,
                   std::span<const TensorSpec> specs) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::string path = (fs::path(folder) / fmt::format("{}_{}.pb", prefix, i)).string();
      if (absl::Status s = onnx::WriteTensorProto(path, FromTensor(tensors[i], specs[i].name));
          !s.ok())
        return s;
    }
    return absl::OkStatus();
  };
  TENON_RETURN_IF_ERROR(write("input", inputs, program.inputs()));
  return write("output", outputs, program.outputs());
}

}  // namespace tenon::tools
