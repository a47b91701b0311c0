#include "frontends/cpp/samples/sample_inputs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

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
#include "ir/core/constants/constant.h"
#include "ir/dialect/func_ops.h"

namespace tenon {
namespace {

constexpr int kMaxHops = 24;  // from an input to what says its range
constexpr int64_t kMaxElements = 1 << 22;
constexpr double kMostCompared = 9007199254740992;  // 2^53: integers up to it are doubles
constexpr int64_t kShown = 16;                      // elements of an input in a message
constexpr int64_t kNear = 4;                        // distances that every sample goes beyond
constexpr int64_t kFar = 64;                        // … and that a long one does

std::string NameOf(Operation* function, unsigned argument) {
  const Attribute attrs = function->attr("arg_attrs");
  if (attrs && attrs.kind() == Attribute::Kind::kArray && argument < attrs.elements().size()) {
    const Attribute entry = attrs.elements()[argument];
    const Attribute name =
        entry.kind() == Attribute::Kind::kDictionary ? entry.Get("core.name") : Attribute();
    if (name && name.kind() == Attribute::Kind::kString) return std::string(name.str());
  }
  return fmt::format("arg{}", argument);
}

// What the uses of an integer input say of its values.
struct Use {
  int64_t below = std::numeric_limits<int64_t>::max();  // exclusive bound of an index
  std::vector<DimExpr> ends;                            // the same, where they depend on sizes
  bool mask = false;                                    // compared, or taken for a bool
  std::set<int64_t> compared;  // numbers that it is compared with, within 2^53
};

bool IsComparison(const Operation& op) {
  const std::string_view name = op.name();
  return name == "ten.equal" || name.starts_with("ten.less") || name.starts_with("ten.greater");
}

// The number of a constant of one element.
std::optional<int64_t> NumberOf(Value value) {
  const Operation* def = value.defining_op();
  const Attribute elements = ConstantElementsOf(def);
  if (!elements || elements.type().num_elements() != 1) {
    return std::nullopt;
  }
  const double number = elements.ElementAsDouble(0);
  if (std::isnan(number)) return std::nullopt;
  return static_cast<int64_t>(std::clamp(number, -kMostCompared, kMostCompared));
}

// The number of a small constant that `op` compares `value` with.
void AddCompared(Operation* op, Value value, Use& use) {
  if (!IsComparison(*op)) return;
  const Value other = op->operand(op->operand(0) == value ? 1 : 0);
  if (const std::optional<int64_t> number = NumberOf(other)) use.compared.insert(*number);
}

// The largest of the distances up to kFar that comparisons of integers have, as a number that they
// compare with or that is added to what they compare; 0 if there is none.
int64_t FarthestCompared(Operation* function) {
  int64_t farthest = 0;
  auto add = [&](Value value) {
    const std::optional<int64_t> number = NumberOf(value);
    if (number && std::abs(*number) <= kFar) farthest = std::max(farthest, std::abs(*number));
  };
  function->Walk([&](Operation* op) {
    if (!IsComparison(*op)) return;
    for (const OpOperand& operand : op->operands()) {
      const Type type = operand.get().type();
      if (!type.is_tensor() || IsFloat(type.dtype()) || type.dtype() == DType::kBool) return;
      add(operand.get());
      const Operation* def = operand.get().defining_op();
      if (def == nullptr || (def->name() != "ten.add" && def->name() != "ten.sub")) continue;
      for (const OpOperand& summand : def->operands()) add(summand.get());
    }
  });
  return farthest;
}

// The largest numbers of a range that is checked.
void AddRange(Value high, Use& use) {
  if (const std::optional<int64_t> number = NumberOf(high)) {
    use.below = std::min(use.below, *number + 1);
  }
  const Operation* def = high.defining_op();
  if (def == nullptr || def->name() != "core.dims") return;
  for (DimExpr dim : def->attr("dims").dims()) use.ends.push_back(dim + 1);
}

void Follow(Value value, int hops, std::set<ValueImpl*>& seen, Use& use) {
  if (hops == 0 || !seen.insert(value.impl()).second) return;
  for (OpOperand& operand : value.uses()) {
    Operation* op = operand.owner();
    const std::string_view name = op->name();
    AddCompared(op, value, use);
    if (name == "ten.gather" || name == "ten.gather_elements") {
      const Type table = op->operand(0).type();
      const Attribute axis = op->attr("axis");
      if (op->operand(1) != value || !table.is_tensor() || !axis ||
          axis.int_value() >= table.rank())
        continue;
      const DimExpr extent = table.dim(axis.int_value());
      if (extent.is_constant()) use.below = std::min(use.below, extent.constant());
      continue;
    }
    if (name == "ten.check_range" && op->operand(0) == value) AddRange(op->operand(2), use);
    const bool to_bool = op->num_results() == 1 && op->result().type().is_tensor() &&
                         op->result().type().dtype() == DType::kBool &&
                         value.type().dtype() != DType::kBool;
    const bool to_float = op->num_results() == 1 && op->result().type().is_tensor() &&
                          IsFloat(op->result().type().dtype());
    if (to_bool || to_float) {
      use.mask = true;
      continue;
    }
    // An operand of where or concat may be used for something else than the result.
    for (unsigned r = 0; r < op->num_results(); ++r) {
      const Type type = op->result(r).type();
      if (op->num_regions() == 0 && type.is_tensor() &&
          (type.dtype() == value.type().dtype() ||
           (name == "ten.cast" && IsInt(type.dtype()) && IsInt(value.type().dtype()))))
        Follow(op->result(r), hops - 1, seen, use);
    }
  }
}

// Sizes of the symbols, by the kind of sample.
int64_t SizeOfSymbol(std::string_view symbol, size_t position, int kind) {
  static constexpr int64_t kDistinct[] = {5, 7, 3, 6, 9, 4};
  static constexpr int64_t kEqual[] = {0, 1, 4, 8, 16, 32, 64, 224};
  if (ContainsIgnoringCase(symbol, "batch")) return kind == 1 ? 1 : 2;
  if (kind == kEdgeSample) return 4;  // equal extents suit most programs
  if (kind == 0) return kDistinct[position % std::size(kDistinct)];
  return kEqual[static_cast<size_t>(kind)];
}

void Fill(Tensor& tensor, const Use& use, std::string_view name, int kind, SampleRandom& random) {
  const bool edge = kind == kEdgeSample;
  const std::vector<int64_t> compared(use.compared.begin(), use.compared.end());
  const DType dtype = tensor.dtype();
  const int64_t last = tensor.shape().empty() ? 1 : std::max<int64_t>(tensor.shape().back(), 1);
  const bool mask = dtype == DType::kBool || ContainsIgnoringCase(name, "mask") ||
                    (use.mask && use.below == std::numeric_limits<int64_t>::max() &&
                     std::all_of(compared.begin(), compared.end(),
                                 [](int64_t number) { return number == 0 || number == 1; }));
  int64_t ones = last;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    double value = 0;
    if (HoldsFloats(dtype)) {
      value = (2 * random.Uniform() - 1) * (edge ? 1e-3 : kind % 2 == 1 ? 4 : 1);
    } else if (mask) {
      // Rows end in zeros, and have a one.
      if (i % last == 0) ones = 1 + random.Below(last);
      if (edge && i + last >= tensor.numel()) ones = 0;
      value = i % last < ones ? 1 : 0;
    } else if (use.below == std::numeric_limits<int64_t>::max() &&
               ContainsIgnoringCase(name, "position")) {
      value = static_cast<double>(i % last);
    } else if (edge && !compared.empty() && random.Below(3) == 0) {
      const int64_t near =
          compared[static_cast<size_t>(random.Below(static_cast<int64_t>(compared.size())))] +
          random.Below(3) - 1;
      value = static_cast<double>(
          std::clamp<int64_t>(near, 0, std::clamp<int64_t>(use.below, 1, 1 << 30) - 1));
    } else {
      value = static_cast<double>(
          random.Below(std::clamp<int64_t>(use.below, 1, use.below > 1 << 30 ? 8 : use.below)));
    }
    StoreFromDouble(
        dtype, value,
        static_cast<std::byte*>(tensor.data()) + static_cast<size_t>(i) * SizeOf(dtype));
  }
}

std::string Describe(Operation* function, const Sample& sample) {
  std::string text;
  for (const auto& [symbol, size] : sample.sizes)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", symbol, size);
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    const Tensor& tensor = sample.inputs[i];
    text += fmt::format("{}{} : {} = [", text.empty() ? "" : "; ",
                        NameOf(function, static_cast<unsigned>(i)), tensor.type_text());
    const int64_t shown = std::min(kShown, tensor.numel());
    for (int64_t k = 0; k < shown; ++k) {
      const double value =
          LoadAsDouble(tensor.dtype(), static_cast<const std::byte*>(tensor.data()) +
                                           static_cast<size_t>(k) * SizeOf(tensor.dtype()));
      text += fmt::format("{}{:.6g}", k == 0 ? "" : ", ", value);
    }
    text += shown < tensor.numel() ? ", …]" : "]";
  }
  return text;
}

// The spans of strings must lie in their text.
absl::Status FillStrings(Operation* function, SampleRandom& random, std::vector<Tensor>& inputs) {
  std::vector<TensorSpec> specs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    specs.push_back({NameOf(function, static_cast<unsigned>(i)), inputs[i].dtype(), {}});
  }
  for (const StringPorts& ports : FindStrings(specs)) {
    TENON_ASSIGN_OR_RETURN(std::vector<Tensor> tensors,
                           PackStrings(SampleStrings(inputs[ports.first].shape(), random)));
    std::move(tensors.begin(), tensors.end(),
              inputs.begin() + static_cast<std::ptrdiff_t>(ports.first));
  }
  return absl::OkStatus();
}

// The tensors of a sequence must fit each other.
absl::Status FillSequences(Operation* function, int kind, SampleRandom& random,
                           std::vector<Tensor>& inputs) {
  std::vector<TensorSpec> specs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    specs.push_back({NameOf(function, static_cast<unsigned>(i)), inputs[i].dtype(), {}});
  }
  for (const SequencePorts& ports : FindSequences(specs)) {
    SequenceValue value;
    for (const std::vector<int64_t>& shape : SampleShapes(function, ports)) {
      TENON_ASSIGN_OR_RETURN(Tensor element, Tensor::TryMake(ports.dtype, shape));
      Fill(element, Use(), ports.name, kind, random);
      value.elements.push_back(std::move(element));
    }
    TENON_ASSIGN_OR_RETURN(std::vector<Tensor> tensors, PackSequence(ports, value));
    std::move(tensors.begin(), tensors.end(),
              inputs.begin() + static_cast<std::ptrdiff_t>(ports.first));
  }
  return absl::OkStatus();
}

Tensor ToTensor(const onnx::TensorData& data) {
  return Tensor::Copy(data.dtype, data.dims, data.blob->bytes().data());
}

}  // namespace

absl::StatusOr<Sample> SampleInputs(Operation* function, int kind,
                                    const std::map<std::string, int64_t>& sizes) {
  const int64_t most = sizes.empty() ? kMaxElements : int64_t{1} << 31;
  const int64_t farthest = kind == kLongSample ? FarthestCompared(function) : 0;
  if (kind == kLongSample && farthest <= kNear)
    return absl::NotFoundError("the function compares with no distance");
  Sample sample;
  sample.sizes = ChooseSizes(function, sizes, [&](std::string_view symbol, size_t number) {
    if (kind == kLongSample) return ContainsIgnoringCase(symbol, "batch") ? 1 : farthest + kNear;
    return SizeOfSymbol(symbol, number, kind);
  });
  if (kind > 1 && kind != kEdgeSample && sample.sizes.empty())
    return absl::NotFoundError("the function has no sizes to choose");
  SampleRandom random(static_cast<uint64_t>(kind) + 1);
  const auto size_of = [&](std::string_view symbol) {
    return std::optional(sample.sizes[std::string(symbol)]);
  };
  Block& entry = function->region().front();
  for (unsigned i = 0; i < entry.num_arguments(); ++i) {
    const Value argument = entry.argument(i);
    const Type type = argument.type();
    if (!type.is_tensor()) {
      return absl::UnimplementedError(fmt::format(
          "input '{}' is of type {} (expected a ranked tensor)", NameOf(function, i), type.text()));
    }
    std::vector<int64_t> shape;
    int64_t elements = 1;
    for (DimExpr dim : type.dims()) {
      const std::optional<int64_t> extent = dim.is_unknown() ? 2 : dim.Evaluate(size_of);
      if (!extent || *extent < 0 || *extent > most || elements * *extent > most)
        return absl::OutOfRangeError(
            fmt::format("input '{}' has an extent that is negative or too large for a sample",
                        NameOf(function, i)));
      elements *= *extent;
      shape.push_back(*extent);
    }
    TENON_ASSIGN_OR_RETURN(Tensor tensor, Tensor::TryMake(type.dtype(), shape));
    Use use;
    std::set<ValueImpl*> seen;
    if (!IsFloat(type.dtype())) Follow(argument, kMaxHops, seen, use);
    for (DimExpr end : use.ends) {
      if (const std::optional<int64_t> number = end.Evaluate(size_of)) {
        use.below = std::min(use.below, std::max<int64_t>(*number, 1));
      }
    }
    Fill(tensor, use, NameOf(function, i), kind, random);
    sample.inputs.push_back(std::move(tensor));
  }
  TENON_RETURN_IF_ERROR(FillSequences(function, kind, random, sample.inputs));
  TENON_RETURN_IF_ERROR(FillStrings(function, random, sample.inputs));
  sample.text = Describe(function, sample);
  return sample;
}

absl::StatusOr<Sample> ReadInputs(Operation* function, const std::string& folder,
                                  const Limits& limits) {
  namespace fs = std::filesystem;
  Sample sample;
  const unsigned count = function->region().front().num_arguments();
  sample.inputs.resize(count);
  for (unsigned n = 0; n < count; ++n) {
    const fs::path base = fs::path(folder) / fmt::format("input_{}", n);
    std::error_code error;
    onnx::NamedTensor read;
    if (const fs::path pb = base.string() + ".pb"; fs::exists(pb, error)) {
      TENON_ASSIGN_OR_RETURN(read, onnx::ReadTensorProto(pb.string(), limits));
    } else if (const fs::path npy = base.string() + ".npy"; fs::exists(npy, error)) {
      TENON_ASSIGN_OR_RETURN(read, ReadNpy(npy.string(), limits,
                                           function->region().front().argument(n).type().dtype()));
    } else {
      return absl::InvalidArgumentError(
          fmt::format("{}: no input_{}.pb or input_{}.npy", folder, n, n));
    }
    unsigned slot = n;
    for (unsigned i = 0; i < count; ++i) {
      if (!read.name.empty() && NameOf(function, i) == read.name) slot = i;
    }
    sample.inputs[slot] = ToTensor(read);
  }
  for (unsigned i = 0; i < count; ++i) {
    if (!sample.inputs[i]) {
      return absl::InvalidArgumentError(
          fmt::format("{}: no file for input '{}'", folder, NameOf(function, i)));
    }
  }
  sample.text = Describe(function, sample);
  return sample;
}

}  // namespace tenon
