// Sizes of the inputs of a model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "frontends/onnx/edit/edit_model.h"
#include "frontends/onnx/file/type_proto.h"
#include "ir/base/check.h"
#include "ir/base/limits.h"
#include "ir/base/suggest.h"
#include "ir/core/dims/dim_expr.h"

namespace tenon::onnx {
namespace {

using onnxpb::GraphProto;
using onnxpb::ValueInfoProto;
using Dimension = onnxpb::TensorShapeProto::Dimension;

class SizeFixer {
 public:
  SizeFixer(Context& context, GraphProto& graph) : context_(context), graph_(graph) {
    NameSet weights;
    for (const auto& tensor : graph.initializer()) weights.insert(tensor.name());
    for (ValueInfoProto& input : *graph.mutable_input()) {
      if (weights.contains(input.name())) continue;
      if (!input.has_type()) continue;
      inputs_.push_back(&input);
      if (!input.type().has_tensor_type()) continue;
      for (const Dimension& dim : input.type().tensor_type().shape().dim()) {
        const std::string& name = dim.dim_param();
        if (!name.empty() && std::find(dims_.begin(), dims_.end(), name) == dims_.end())
          dims_.push_back(name);
      }
    }
  }

  absl::Status Run(const std::map<std::string, std::vector<int64_t>>& sizes) {
    // Dimensions first: then a shape that contradicts one is found whatever their names are.
    std::vector<std::pair<ValueInfoProto*, const std::vector<int64_t>*>> shapes;
    for (const auto& entry : sizes) {
      const std::string& name = entry.first;
      const std::vector<int64_t>& numbers = entry.second;
      for (const int64_t size : numbers) {
        if (size < 0)
          return absl::InvalidArgumentError(
              fmt::format("the size of \"{}\" is {} (expected 0 or more)", name, size));
      }
      const bool is_dim = std::find(dims_.begin(), dims_.end(), name) != dims_.end();
      const auto input = std::find_if(inputs_.begin(), inputs_.end(),
                                      [&](ValueInfoProto* info) { return info->name() == name; });
      if (is_dim && numbers.size() == 1) {
        by_name_[name] = {numbers[0], ""};
      } else if (input != inputs_.end()) {
        shapes.emplace_back(*input, &numbers);
      } else if (is_dim) {
        return absl::InvalidArgumentError(fmt::format(
            "\"{}\" is a dimension and has {} sizes (expected one)", name, numbers.size()));
      } else {
        return NoSuchName(name);
      }
    }
    for (const auto& [input, numbers] : shapes) TENON_RETURN_IF_ERROR(SetShape(*input, *numbers));
    for (auto* infos :
         {graph_.mutable_input(), graph_.mutable_output(), graph_.mutable_value_info()}) {
      for (ValueInfoProto& info : *infos) Substitute(info);
    }
    return absl::OkStatus();
  }

 private:
  struct Size {
    int64_t size = 0;
    std::string input;  // whose shape says so; empty: the size of the dimension itself is given
  };

  absl::Status NoSuchName(const std::string& name) const {
    std::vector<std::string> names = dims_;
    for (const ValueInfoProto* input : inputs_) names.push_back(input->name());
    const std::string known = names.empty() ? "there are no inputs"
                                            : fmt::format("there are: {}", fmt::join(names, ", "));
    return absl::InvalidArgumentError(
        fmt::format("there is no input or dimension \"{}\" to give a size{} ({})", name,
                    DidYouMean(name, names), known));
  }

  absl::Status SetShape(ValueInfoProto& input, const std::vector<int64_t>& numbers) {
    if (!input.type().has_tensor_type()) {
      return absl::InvalidArgumentError(
          fmt::format("input \"{}\" is no tensor and has no shape", input.name()));
    }
    onnxpb::TypeProto::Tensor& tensor = *input.mutable_type()->mutable_tensor_type();
    const bool ranked = tensor.has_shape();
    onnxpb::TensorShapeProto& shape = *tensor.mutable_shape();
    if (!ranked && numbers.size() > kMaxRank) {
      return absl::InvalidArgumentError(
          fmt::format("input \"{}\" has {} sizes (expected at most {})", input.name(),
                      numbers.size(), kMaxRank));
    }
    while (!ranked && static_cast<size_t>(shape.dim_size()) < numbers.size()) shape.add_dim();
    if (static_cast<size_t>(shape.dim_size()) != numbers.size()) {
      return absl::InvalidArgumentError(
          fmt::format("input \"{}\" has {} dimensions and is given {} sizes", input.name(),
                      shape.dim_size(), numbers.size()));
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
      Dimension& dim = *shape.mutable_dim(static_cast<int>(i));
      if (dim.has_dim_value() && dim.dim_value() >= 0 && dim.dim_value() != numbers[i]) {
        return absl::InvalidArgumentError(
            fmt::format("dimension {} of input \"{}\" is {} in the model, so it cannot be {}", i,
                        input.name(), dim.dim_value(), numbers[i]));
      }
      const std::string symbol = dim.dim_param();
      dim.set_dim_value(numbers[i]);
      if (symbol.empty() || IsPlaceholderDim(symbol)) continue;
      const auto [known, is_new] = by_name_.emplace(symbol, Size{numbers[i], input.name()});
      if (is_new || known->second.size == numbers[i]) continue;
      return absl::InvalidArgumentError(fmt::format(
          "dimension \"{}\" is {} by the shape of \"{}\", but {}{}", symbol, numbers[i],
          input.name(), known->second.size,
          known->second.input.empty() ? " is given too"
                                      : fmt::format(" by that of \"{}\"", known->second.input)));
    }
    return absl::OkStatus();
  }

  std::optional<int64_t> SizeOf(const std::string& name) const {
    const auto lookup = [this](std::string_view symbol) -> std::optional<int64_t> {
      const auto known = by_name_.find(std::string(symbol));
      return known == by_name_.end() ? std::nullopt : std::optional(known->second.size);
    };
    if (const auto size = lookup(name)) return size;
    if (IsPlaceholderDim(name)) return std::nullopt;
    const std::optional<DimExpr> expression = DimExpr::Parse(context_, name);
    if (!expression) return std::nullopt;
    const std::optional<int64_t> size = expression->Evaluate(lookup);
    return size && *size >= 0 ? size : std::nullopt;
  }

  void Substitute(ValueInfoProto& info) const {
    if (!info.type().has_tensor_type() || !info.type().tensor_type().has_shape()) return;
    onnxpb::TensorShapeProto& shape = *info.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (Dimension& dim : *shape.mutable_dim()) {
      if (dim.dim_param().empty()) continue;
      if (const std::optional<int64_t> size = SizeOf(dim.dim_param())) dim.set_dim_value(*size);
    }
  }

  Context& context_;
  GraphProto& graph_;
  std::vector<ValueInfoProto*> inputs_;
  std::vector<std::string> dims_;        // names of dimensions of inputs, in order
  std::map<std::string, Size> by_name_;  // of dimensions
};

}  // namespace

absl::Status FixSizes(Context& context, const std::map<std::string, std::vector<int64_t>>& sizes,
                      GraphProto& graph) {
  return SizeFixer(context, graph).Run(sizes);
}

}  // namespace tenon::onnx
