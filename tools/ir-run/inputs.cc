#include "tools/ir-run/inputs.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "fmt/format.h"
#include "frontends/api/npy.h"
#include "frontends/api/sample_random.h"
#include "frontends/api/sample_sizes.h"
#include "frontends/onnx/test_data.h"
#include "ir/core/block.h"
#include "ir/core/check.h"

namespace tenon::ir_run {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxExtent = int64_t{1} << 31;  // of random inputs

Tensor ToTensor(const onnx::TensorData& data) {
  if (data.blob->alignment() < SizeOf(data.dtype))
    return Tensor::Copy(data.dtype, data.dims, data.blob->bytes().data());
  // Inputs are only read.
  return Tensor::Borrow(data.dtype, data.dims, const_cast<std::byte*>(data.blob->bytes().data()),
                        data.blob);
}

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

void Fill(Tensor& tensor, std::string_view name, SampleRandom& random) {
  const DType dtype = tensor.dtype();
  const int64_t last = tensor.shape().empty() ? 1 : std::max<int64_t>(tensor.shape().back(), 1);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    double value = 0;
    if (IsFloat(dtype)) {
      value = 2 * random.Uniform() - 1;
    } else if (ContainsIgnoringCase(name, "mask")) {
      value = 1;
    } else if (ContainsIgnoringCase(name, "type") || ContainsIgnoringCase(name, "segment")) {
      value = 0;
    } else if (ContainsIgnoringCase(name, "position")) {
      value = static_cast<double>(i % last);
    } else {
      value = static_cast<double>(random.Next() % (dtype == DType::kBool ? 2 : 8));
    }
    StoreFromDouble(
        dtype, value,
        static_cast<std::byte*>(tensor.data()) + static_cast<size_t>(i) * SizeOf(dtype));
  }
}

// Sizes of the symbols of the inputs: what was asked for and what files have (`given`), and a note
// for each other.
std::map<std::string, int64_t> SizesOf(Operation* function,
                                       const std::map<std::string, int64_t>& given,
                                       std::vector<std::string>& notes) {
  std::map<std::string, int64_t> sizes =
      ChooseSizes(function, given, [](std::string_view symbol, size_t) -> int64_t {
        return ContainsIgnoringCase(symbol, "batch") ? 1 : 8;
      });
  for (const auto& [symbol, size] : sizes) {
    if (given.count(symbol) != 0) continue;
    notes.push_back(
        fmt::format("dimension '{}' is {} (--shape {}=N sets it)", symbol, size, symbol));
  }
  return sizes;
}

absl::StatusOr<int64_t> SizeOf(DimExpr dim, const std::map<std::string, int64_t>& sizes) {
  if (dim.is_unknown()) return 1;
  const std::optional<int64_t> extent =
      dim.Evaluate([&](std::string_view symbol) -> std::optional<int64_t> {
        const auto it = sizes.find(std::string(symbol));
        return it == sizes.end() ? std::nullopt : std::optional(it->second);
      });
  if (!extent || *extent < 0 || *extent > kMaxExtent) {
    return absl::InvalidArgumentError(
        fmt::format("--shape makes the extent '{}' {} (expected 0 to {})", dim.text(),
                    extent ? std::to_string(*extent) : "too large", kMaxExtent));
  }
  return *extent;
}

}  // namespace

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
  return cases;
}

absl::StatusOr<Case> MakeCase(const Options& options, const Model& model, const Program& program,
                              std::vector<std::string>& notes) {
  Case c;
  c.name = "random";
  c.inputs.resize(program.inputs().size());
  Block& entry = model.main()->region().front();
  std::map<std::string, int64_t> given = options.shape;
  std::string known;
  std::vector<std::string_view> symbols;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    known += (i == 0 ? "" : ", ") + program.inputs()[i].name;
    const Type type = entry.argument(static_cast<unsigned>(i)).type();
    for (DimExpr dim : type.dims()) dim.CollectSymbols(symbols);
  }
  for (const auto& [symbol, size] : options.shape) {
    if (std::find(symbols.begin(), symbols.end(), symbol) != symbols.end()) continue;
    return absl::InvalidArgumentError(
        fmt::format("--shape names '{}', which no input has (there {})", symbol,
                    symbols.empty() ? "is no named dimension"
                                    : fmt::format("are: {}", fmt::join(symbols, ", "))));
  }
  for (const auto& [name, file] : options.inputs) {
    size_t slot = c.inputs.size();
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      if (program.inputs()[i].name == name) slot = i;
    }
    if (slot == c.inputs.size()) {
      return absl::InvalidArgumentError(
          fmt::format("--input names '{}', which the model has not (there are: {})", name, known));
    }
    if (file.ends_with(".npy")) {
      TENON_ASSIGN_OR_RETURN(const onnx::NamedTensor read, ReadNpy(file, options.limits.library));
      c.inputs[slot] = ToTensor(read);
    } else {
      TENON_ASSIGN_OR_RETURN(const onnx::NamedTensor read,
                             onnx::ReadTensorProto(file, options.limits.library));
      c.inputs[slot] = ToTensor(read);
    }
    const Type type = entry.argument(static_cast<unsigned>(slot)).type();
    for (int64_t axis = 0; axis < std::min<int64_t>(type.rank(), c.inputs[slot].shape().size());
         ++axis) {
      const DimExpr dim = type.dim(axis);
      if (dim.kind() != DimExpr::Kind::kSymbol) continue;
      const int64_t extent = c.inputs[slot].shape()[axis];
      const auto [it, is_new] = given.emplace(std::string(dim.symbol()), extent);
      if (is_new || it->second == extent) continue;
      return absl::InvalidArgumentError(
          fmt::format("'{}' is {} in {}, and {} elsewhere (--shape or another --input)",
                      dim.symbol(), extent, file, it->second));
    }
  }
  const bool any_random =
      std::any_of(c.inputs.begin(), c.inputs.end(), [](const Tensor& input) { return !input; });
  TENON_RETURN_IF_ERROR(tools::RefuseUnless(options.given, any_random, "seed",
                                            "where files give every input, or there is none"));
  const std::map<std::string, int64_t> sizes = SizesOf(model.main(), given, notes);
  SampleRandom random(options.seed);
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.inputs[i]) continue;
    const Type type = entry.argument(static_cast<unsigned>(i)).type();
    std::vector<int64_t> shape;
    for (DimExpr dim : type.dims()) {
      TENON_ASSIGN_OR_RETURN(const int64_t extent, SizeOf(dim, sizes));
      shape.push_back(extent);
    }
    TENON_ASSIGN_OR_RETURN(c.inputs[i], Tensor::TryMake(type.dtype(), shape));
    Fill(c.inputs[i], program.inputs()[i].name, random);
  }
  return c;
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

}  // namespace tenon::ir_run
