// Operators of ai.onnx.ml that replace keys by values, each of them numbers or strings, and maps of
// labels to scores.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "frontends/onnx/file/string_data.h"
#include "frontends/onnx/ops/containers/strings.h"
#include "frontends/onnx/ops/ml/scores.h"
#include "ir/base/check.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx::ml {
namespace {

// Keys or values. Integers of keys are compared as floats would lose bits, so each kind keeps its
// type.
struct Entries {
  DType dtype = DType::kInvalid;     // of numbers
  std::vector<double> numbers;       // empty for strings
  std::vector<std::string> strings;  // empty for numbers

  bool are_strings() const { return dtype == DType::kInvalid; }
  int64_t count() const {
    return static_cast<int64_t>(are_strings() ? strings.size() : numbers.size());
  }
};

Entries OfInts(std::span<const int64_t> ints) {
  return {DType::kI64, {ints.begin(), ints.end()}, {}};
}
Entries OfStrings(std::vector<std::string> strings) { return {DType(), {}, std::move(strings)}; }

// The strings of a TENSOR attribute; nullopt if it is absent or holds numbers.
absl::StatusOr<std::optional<std::vector<std::string>>> TensorStrings(const Node& node,
                                                                      std::string_view name) {
  const onnxpb::AttributeProto* attribute = node.Find(name);
  if (attribute == nullptr || attribute->t().data_type() != onnxpb::TensorProto::STRING) {
    return std::nullopt;
  }
  absl::StatusOr<StringData> data = DecodeStrings(attribute->t());
  if (!data.ok()) {
    return node.Error(fmt::format("attribute \"{}\": {}", name, MessageOf(data.status())));
  }
  return std::move(data->strings);
}

absl::StatusOr<Entries> ReadEntries(const Node& node, std::string_view what) {
  const std::string of_strings = fmt::format("{}_strings", what);
  if (node.Find(of_strings) != nullptr) {
    TENON_ASSIGN_OR_RETURN(std::vector<std::string> strings, Strings(node, of_strings));
    return OfStrings(std::move(strings));
  }
  TENON_ASSIGN_OR_RETURN(const auto ints, node.Ints(fmt::format("{}_int64s", what)));
  if (ints) return OfInts(*ints);
  TENON_ASSIGN_OR_RETURN(const auto floats, node.Floats(fmt::format("{}_floats", what)));
  if (floats) return Entries{DType::kF32, {floats->begin(), floats->end()}, {}};
  const std::string name = fmt::format("{}_tensor", what);
  TENON_ASSIGN_OR_RETURN(auto strings, TensorStrings(node, name));
  if (strings) return OfStrings(*std::move(strings));
  TENON_ASSIGN_OR_RETURN(auto values, TensorNumbers(node, name));
  if (!values) return node.Error(fmt::format("LabelEncoder has no {}", what));
  return Entries{DTypeOf(node.Find(name)->t().data_type()), std::move(*values), {}};
}

// Appends what stands for all that is no key.
absl::Status AddDefault(const Node& node, Entries& values) {
  TENON_ASSIGN_OR_RETURN(const int64_t of_ints, node.Int("default_int64", -1));
  TENON_ASSIGN_OR_RETURN(const float of_floats, node.Float("default_float", -0.0f));
  TENON_ASSIGN_OR_RETURN(std::string of_strings, node.Str("default_string", "_Unused"));
  TENON_ASSIGN_OR_RETURN(auto strings, TensorStrings(node, "default_tensor"));
  if (values.are_strings()) {
    if (strings && !strings->empty()) of_strings = (*strings)[0];
    values.strings.push_back(std::move(of_strings));
    return absl::OkStatus();
  }
  if (strings) return node.Error("default_tensor of LabelEncoder holds strings (expected numbers)");
  TENON_ASSIGN_OR_RETURN(const auto numbers, TensorNumbers(node, "default_tensor"));
  values.numbers.push_back(numbers && !numbers->empty()  ? (*numbers)[0]
                           : values.dtype == DType::kI64 ? static_cast<double>(of_ints)
                                                         : of_floats);
  return absl::OkStatus();
}

// The position of each number among the keys, and behind them for a number that is no key.
absl::StatusOr<Value> PositionsOfNumbers(Formula& f, Node& node, const Entries& keys) {
  const Value x = node.input(0);
  const int64_t count = keys.count();
  if (HasStrings(node, 0) || x.type().dtype() != keys.dtype) {
    return node.Error(fmt::format("{} has keys of {}, got {}", node.op_type(), Name(keys.dtype),
                                  HasStrings(node, 0) ? "strings" : x.type().text()));
  }
  Formula::Dims dims = Formula::DimsOf(x);
  dims.push_back(f.One());
  const Value column = f.Reshape(x, dims);
  const Value table = Table(f, node, keys.dtype, std::span(&count, 1), keys.numbers);
  Value hit = f.Make<ten::EqualOp>(column, table);
  // Since opset 4, a NaN among the keys stands for all NaNs.
  if (IsFloat(keys.dtype) && node.version() >= 4) {
    const Value both = f.And(f.Make<ten::IsNanOp>(column), f.Make<ten::IsNanOp>(table));
    hit = f.Make<ten::OrOp>(hit, both);
  }
  // A column of ones behind the keys catches what is none of them.
  dims.back() = f.One();
  const Value ones = f.Expand(f.Scalar(DType::kI32, 1), dims);
  const int64_t axis = static_cast<int64_t>(dims.size()) - 1;
  const Value parts[] = {f.Cast(hit, DType::kI32), ones};
  const Value all = f.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = axis});
  return f.Make<ten::ArgmaxOp>(all, ten::ArgmaxOp::Attrs{.axis = axis, .keepdims = false});
}

// The position of each string among the keys, and -1 for what is no key.
absl::StatusOr<Value> FindAmongKeys(Formula& f, Node& node, const Entries& keys) {
  const int64_t count = keys.count();
  TENON_ASSIGN_OR_RETURN(const Container x, StringsInput(node, 0));
  TENON_ASSIGN_OR_RETURN(const Container table,
                         ConstantStrings(node, std::span(&count, 1), keys.strings));
  return FindStrings(f, x, table);
}

absl::StatusOr<Value> PositionsOfStrings(Formula& f, Node& node, const Entries& keys) {
  const int64_t count = keys.count();
  TENON_ASSIGN_OR_RETURN(const Value found, FindAmongKeys(f, node, keys));
  const Value none = f.Make<ten::LessOp>(found, f.Scalar(DType::kI64, 0));
  return f.Where(none, f.Scalar(DType::kI64, static_cast<double>(count)), found);
}

// True if the value of each key is its position, and that of what is no key is -1.
bool ArePositions(const Entries& values) {
  if (values.are_strings() || values.dtype != DType::kI64) return false;
  for (size_t i = 0; i + 1 < values.numbers.size(); ++i) {
    if (values.numbers[i] != static_cast<double>(i)) return false;
  }
  return values.numbers.back() == -1;
}

// Replaces each key by its value. The last value stands for what is no key.
absl::Status Replace(Formula& f, Node& node, const Entries& keys, const Entries& values) {
  const int64_t count = keys.count();
  if (values.count() != count + 1 || count == 0) {
    return node.Error(
        fmt::format("{} has {} keys and {} values", node.op_type(), count, values.count() - 1));
  }
  if (keys.are_strings() && ArePositions(values)) {
    TENON_ASSIGN_OR_RETURN(const Value found, FindAmongKeys(f, node, keys));
    return f.Return(found);
  }
  TENON_ASSIGN_OR_RETURN(const Value at, keys.are_strings() ? PositionsOfStrings(f, node, keys)
                                                            : PositionsOfNumbers(f, node, keys));
  TENON_RETURN_IF_ERROR(f.status());
  const int64_t size = values.count();
  if (values.are_strings()) {
    TENON_ASSIGN_OR_RETURN(const Container table,
                           ConstantStrings(node, std::span(&size, 1), values.strings));
    return ReturnStrings(f, node, GatherStrings(f, table, at));
  }
  const Value table = Table(f, node, values.dtype, std::span(&size, 1), values.numbers);
  return f.Return(f.Make<ten::GatherOp>(table, at, ten::GatherOp::Attrs{}));
}

// Strings that are replaced by integers, or the reverse, as the input says.
absl::Status ReplaceEither(Node& node, std::vector<std::string> strings,
                           std::span<const int64_t> ints) {
  Formula f(node);
  Entries words = OfStrings(std::move(strings)), numbers = OfInts(ints);
  const bool to_numbers = HasStrings(node, 0);
  Entries& values = to_numbers ? numbers : words;
  TENON_RETURN_IF_ERROR(AddDefault(node, values));
  return Replace(f, node, to_numbers ? words : numbers, values);
}

// Sorts labels, which must be different. Returns where each of them was.
template <typename T>
absl::StatusOr<std::vector<int64_t>> SortLabels(const Node& node, std::vector<T>& labels) {
  std::vector<int64_t> order(labels.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto label = [&](int64_t i) -> const T& { return labels[static_cast<size_t>(i)]; };
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return label(a) < label(b); });
  std::vector<T> sorted;
  for (const int64_t i : order) {
    if (!sorted.empty() && sorted.back() == label(i)) {
      return node.Error(
          fmt::format("{} has the label {} twice (expected once)", node.op_type(), label(i)));
    }
    sorted.push_back(label(i));
  }
  labels = std::move(sorted);
  return order;
}

}  // namespace

absl::Status ImportMlLabelEncoder(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  if (node.version() < 2) {
    // A class is its position.
    TENON_ASSIGN_OR_RETURN(std::vector<std::string> classes, Strings(node, "classes_strings"));
    std::vector<int64_t> positions;
    for (size_t i = 0; i < classes.size(); ++i) positions.push_back(static_cast<int64_t>(i));
    return ReplaceEither(node, std::move(classes), positions);
  }
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const Entries keys, ReadEntries(node, "keys"));
  TENON_ASSIGN_OR_RETURN(Entries values, ReadEntries(node, "values"));
  TENON_RETURN_IF_ERROR(AddDefault(node, values));
  return Replace(f, node, keys, values);
}

absl::Status ImportMlCategoryMapper(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(std::vector<std::string> words, Strings(node, "cats_strings"));
  TENON_ASSIGN_OR_RETURN(const auto ints, node.Ints("cats_int64s"));
  if (!ints) return node.Error("CategoryMapper has no cats_int64s");
  return ReplaceEither(node, std::move(words), *ints);
}

// All rows of scores have the same labels, which are the keys. Other engines give the entries of a
// map in the order of the keys, so the columns are in that order, too.
absl::Status ImportMlZipMap(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(Labels labels, ReadLabels(node, "classlabels_int64s"));
  Formula f(node);
  Value x = node.input(0);
  const int64_t rank = x.type().rank();
  if (rank != 1 && rank != 2) {
    return node.Error(
        fmt::format("ZipMap of {} (expected one or two dimensions)", x.type().text()));
  }
  const DimExpr columns = x.type().dim(rank - 1);
  if (columns.is_constant() && !columns.is_constant(labels.count)) {
    return node.Error(fmt::format("ZipMap has {} labels for {} scores (expected one for each)",
                                  labels.count, columns.constant()));
  }
  // A vector is the scores of one map. An extent that only a run tells is checked there.
  const DimExpr count = DimExpr::Constant(node.context(), labels.count);
  if (rank == 1 || !columns.is_constant())
    x = f.Reshape(x, {rank == 1 ? f.One() : x.type().dim(0), count});
  const bool of_strings = labels.ints.empty();
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> order, of_strings
                                                               ? SortLabels(node, labels.strings)
                                                               : SortLabels(node, labels.ints));
  const std::span<const int64_t> size(&labels.count, 1);
  if (!std::is_sorted(order.begin(), order.end()))
    x = f.Make<ten::GatherOp>(x, Table(f, node, size, order), ten::GatherOp::Attrs{.axis = 1});
  Value keys, text;
  if (of_strings) {
    TENON_ASSIGN_OR_RETURN(const Container strings, ConstantStrings(node, size, labels.strings));
    keys = strings.spans();
    text = strings.bytes();
  } else {
    keys = Table(f, node, size, labels.ints);
  }
  TENON_RETURN_IF_ERROR(f.status());
  node.SetOutput(0, Wrap(node.builder(), node.location(), MapsOf(keys, text, x)));
  return absl::OkStatus();
}

}  // namespace tenon::onnx::ml
