#include "tools/ir-run/inputs.h"

#include <algorithm>
#include <optional>

#include "fmt/format.h"
#include "frontends/cpp/files/npy.h"
#include "frontends/cpp/files/sequences.h"
#include "frontends/cpp/files/strings.h"
#include "frontends/cpp/samples/sample_random.h"
#include "frontends/cpp/samples/sample_sizes.h"
#include "frontends/cpp/samples/sample_strings.h"
#include "frontends/onnx/file/test_data.h"
#include "ir/base/check.h"
#include "ir/core/block.h"

namespace tenon::ir_run {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 31;  // of random inputs

void Fill(Tensor& tensor, std::string_view name, SampleRandom& random) {
  const DType dtype = tensor.dtype();
  const int64_t last = tensor.shape().empty() ? 1 : std::max<int64_t>(tensor.shape().back(), 1);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    double value = 0;
    if (HoldsFloats(dtype)) {
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

// The elements of a sequence: one file with all of them, or .npy files with commas between.
absl::StatusOr<std::vector<Tensor>> ReadSequenceInput(const SequencePorts& ports,
                                                      std::string_view files,
                                                      const Limits& limits) {
  if (!files.ends_with(".npy")) {
    TENON_ASSIGN_OR_RETURN(SequenceFile file, ReadSequenceFile(std::string(files), ports, limits));
    return std::move(file.tensors);
  }
  SequenceValue value;
  while (!files.empty()) {
    const size_t comma = std::min(files.find(','), files.size());
    TENON_ASSIGN_OR_RETURN(const onnx::NamedTensor read,
                           ReadNpy(std::string(files.substr(0, comma)), limits));
    value.elements.push_back(AsTensor(read));
    files.remove_prefix(std::min(comma + 1, files.size()));
  }
  return PackSequence(ports, value);
}

absl::StatusOr<std::vector<Tensor>> RandomSequence(Operation* function, const SequencePorts& ports,
                                                   SampleRandom& random,
                                                   std::vector<std::string>& notes) {
  SequenceValue value;
  for (const std::vector<int64_t>& shape : SampleShapes(function, ports)) {
    TENON_ASSIGN_OR_RETURN(value.elements.emplace_back(), Tensor::TryMake(ports.dtype, shape));
    Fill(value.elements.back(), ports.name, random);
  }
  notes.push_back(fmt::format("sequence '{}' has {} elements (--input {}=FILES sets them)",
                              ports.name, value.elements.size(), ports.name));
  return PackSequence(ports, value);
}

// Adds the sizes of a type's symbols that a file has; an error if one is another elsewhere.
absl::Status NoteSizes(Type type, const Tensor& input, std::string_view file,
                       std::map<std::string, int64_t>& given) {
  for (int64_t axis = 0; axis < std::min<int64_t>(type.rank(), input.shape().size()); ++axis) {
    const DimExpr dim = type.dim(axis);
    if (dim.kind() != DimExpr::Kind::kSymbol) continue;
    const int64_t extent = input.shape()[axis];
    const auto [it, is_new] = given.emplace(std::string(dim.symbol()), extent);
    if (is_new || it->second == extent) continue;
    return absl::InvalidArgumentError(
        fmt::format("'{}' is {} in {}, and {} elsewhere (--shape or another --input)", dim.symbol(),
                    extent, file, it->second));
  }
  return absl::OkStatus();
}

// The strings of a file: a TensorProto.
absl::StatusOr<std::vector<Tensor>> ReadStringsInput(const std::string& file,
                                                     const Limits& limits) {
  TENON_ASSIGN_OR_RETURN(onnx::StringData read, onnx::ReadStringTensorProto(file, limits));
  return PackStrings({std::move(read.dims), std::move(read.strings)});
}

// The extent of a text is no size to choose.
void NoteTexts(const Block& entry, std::span<const StringPorts> strings,
               std::span<const Tensor> inputs, std::map<std::string, int64_t>& given) {
  for (const StringPorts& ports : strings) {
    const DimExpr dim = entry.argument(static_cast<unsigned>(ports.first) + 1).type().dim(0);
    if (dim.kind() != DimExpr::Kind::kSymbol) continue;
    const Tensor& text = inputs[ports.first + 1];
    given.emplace(std::string(dim.symbol()), text ? text.shape()[0] : 0);
  }
}

// True if an operation of the model draws random numbers.
bool DrawsNumbers(const Model& model) {
  bool found = false;
  model.module()->Walk([&](Operation* op) { found = found || op->Has(Trait::kRandom); });
  return found;
}

}  // namespace

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
  const std::vector<SequencePorts> sequences = FindSequences(program.inputs());
  const std::vector<StringPorts> strings = FindStrings(program.inputs());
  for (const auto& [name, file] : options.inputs) {
    const auto of_strings = std::find_if(strings.begin(), strings.end(),
                                         [&](const StringPorts& s) { return s.name == name; });
    if (of_strings != strings.end()) {
      TENON_ASSIGN_OR_RETURN(std::vector<Tensor> tensors,
                             ReadStringsInput(file, options.limits.library));
      std::move(tensors.begin(), tensors.end(),
                c.inputs.begin() + static_cast<std::ptrdiff_t>(of_strings->first));
      TENON_RETURN_IF_ERROR(
          NoteSizes(entry.argument(static_cast<unsigned>(of_strings->first)).type(),
                    c.inputs[of_strings->first], file, given));
      continue;
    }
    const auto sequence = std::find_if(sequences.begin(), sequences.end(),
                                       [&](const SequencePorts& s) { return s.name == name; });
    if (sequence != sequences.end()) {
      TENON_ASSIGN_OR_RETURN(std::vector<Tensor> tensors,
                             ReadSequenceInput(*sequence, file, options.limits.library));
      std::move(tensors.begin(), tensors.end(),
                c.inputs.begin() + static_cast<std::ptrdiff_t>(sequence->first));
      continue;
    }
    size_t slot = c.inputs.size();
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      if (program.inputs()[i].name == name) slot = i;
    }
    if (slot == c.inputs.size()) {
      return absl::InvalidArgumentError(
          fmt::format("--input names '{}', which the model has not (there are: {})", name, known));
    }
    if (file.ends_with(".npy")) {
      const DType dtype = entry.argument(static_cast<unsigned>(slot)).type().dtype();
      TENON_ASSIGN_OR_RETURN(const onnx::NamedTensor read,
                             ReadNpy(file, options.limits.library, dtype));
      c.inputs[slot] = AsTensor(read);
    } else {
      TENON_ASSIGN_OR_RETURN(const onnx::NamedTensor read,
                             onnx::ReadTensorProto(file, options.limits.library));
      c.inputs[slot] = AsTensor(read);
    }
    TENON_RETURN_IF_ERROR(
        NoteSizes(entry.argument(static_cast<unsigned>(slot)).type(), c.inputs[slot], file, given));
  }
  const bool any_random =
      std::any_of(c.inputs.begin(), c.inputs.end(), [](const Tensor& input) { return !input; });
  TENON_RETURN_IF_ERROR(tools::RefuseUnless(
      options.given, any_random || DrawsNumbers(model), "seed",
      "where files give every input, or there is none, and no operation draws random numbers"));
  SampleRandom random(options.seed);
  for (const SequencePorts& sequence : sequences) {
    if (c.inputs[sequence.first]) continue;
    TENON_ASSIGN_OR_RETURN(std::vector<Tensor> tensors,
                           RandomSequence(model.main(), sequence, random, notes));
    std::move(tensors.begin(), tensors.end(),
              c.inputs.begin() + static_cast<std::ptrdiff_t>(sequence.first));
  }
  // The extents of packed sequences are no sizes to choose.
  for (const SequencePorts& sequence : sequences) {
    for (size_t i = sequence.first; i < sequence.first + sequence.count; ++i) {
      const Type type = entry.argument(static_cast<unsigned>(i)).type();
      for (int64_t axis = 0; axis < type.rank(); ++axis) {
        if (type.dim(axis).kind() != DimExpr::Kind::kSymbol) continue;
        given.emplace(std::string(type.dim(axis).symbol()), c.inputs[i].shape()[axis]);
      }
    }
  }
  NoteTexts(entry, strings, c.inputs, given);
  std::vector<StringPorts> random_strings;
  std::copy_if(strings.begin(), strings.end(), std::back_inserter(random_strings),
               [&](const StringPorts& ports) { return !c.inputs[ports.first]; });
  const std::map<std::string, int64_t> sizes = SizesOf(model.main(), given, notes);
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
  for (const StringPorts& ports : random_strings) {
    TENON_ASSIGN_OR_RETURN(std::vector<Tensor> tensors,
                           PackStrings(SampleStrings(c.inputs[ports.first].shape(), random)));
    std::move(tensors.begin(), tensors.end(),
              c.inputs.begin() + static_cast<std::ptrdiff_t>(ports.first));
  }
  return c;
}

}  // namespace tenon::ir_run
