#include "kernels/op_cost.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <optional>

#include "ir/base/stacked_layers.h"
#include "kernels/calls/attention_call.h"
#include "kernels/calls/matmul_shape.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

using Views = std::span<const TensorView>;

double Elements(const TensorView& view) { return static_cast<double>(view.numel()); }

double BytesOf(Views views) {
  double bytes = 0;
  for (const TensorView& view : views) {
    if (view.present()) bytes += static_cast<double>(view.bytes());
  }
  return bytes;
}

double MatmulFlops(Views inputs, Views, const void* attrs) {
  const auto& a = *static_cast<const ten::MatmulAttrs*>(attrs);
  const auto shape = MatMulShape::Of(inputs[0], inputs[1], a.transpose_a, a.transpose_b);
  return 2.0 * static_cast<double>(shape.batch_count()) * static_cast<double>(shape.m) *
         static_cast<double>(shape.n) * static_cast<double>(shape.k);
}

double LinearFlops(Views inputs, Views outputs, const void*) {
  return 2 * Elements(outputs[0]) * static_cast<double>(inputs[0].dim(-1));
}

// Two products of one size.
double TwoLinearsFlops(Views inputs, Views outputs, const void* attrs) {
  return 2 * LinearFlops(inputs, outputs, attrs);
}

double LinearChainFlops(Views inputs, Views, const void* attrs) {
  const size_t step = static_cast<const fused::LinearChainAttrs*>(attrs)->biased ? 2 : 1;
  double products = 0;
  for (size_t i = 2; i < inputs.size(); i += step) products += Elements(inputs[i]);
  const int64_t columns = inputs[0].dim(-1);
  return columns == 0 ? 0 : 2 * products * Elements(inputs[0]) / static_cast<double>(columns);
}

// The products of rows [..., C] with matrices: two operations for each row and each element of one.
double MatricesFlops(Views inputs, std::initializer_list<size_t> matrices) {
  double elements = 0;
  for (const size_t i : matrices) {
    if (i < inputs.size() && inputs[i].present()) elements += Elements(inputs[i]);
  }
  const int64_t columns = inputs[0].dim(-1);
  return columns == 0 ? 0 : 2 * elements * Elements(inputs[0]) / static_cast<double>(columns);
}
double AttentionBlockFlops(Views inputs, Views, const void*) {
  return MatricesFlops(inputs, {2, 3, 5, 7});
}
double FeedForwardFlops(Views inputs, Views, const void*) {
  return MatricesFlops(inputs, {2, 3, 5});
}
double TransformerLayerFlops(Views inputs, Views, const void*) {
  return MatricesFlops(inputs, {2, 3, 4, 5, 7, 9, 22});
}

// A stack has rows of one width between its layers.
double TransformerStackFlops(Views inputs, Views, const void* attrs) {
  const StackedLayers layers(static_cast<const fused::TransformerStackAttrs*>(attrs)->has);
  const size_t count = (inputs.size() - 2) / layers.per_layer();
  double flops = 0;
  for (size_t layer = 0; layer < count; ++layer) {
    for (const size_t matrix : {2, 3, 4, 5, 7, 9, 22}) {
      const std::optional<size_t> place = layers.PlaceOf(layer, matrix);
      if (place) flops += MatricesFlops(inputs, {2 + *place});
    }
  }
  return flops;
}

// w is [out channels, in channels of a group, kernel…] in every layout of x.
double ConvFlops(Views inputs, Views outputs, const void*) {
  const TensorView& w = inputs[1];
  return w.dim(0) == 0 ? 0 : 2 * Elements(outputs[0]) * Elements(w) / static_cast<double>(w.dim(0));
}

// w is [in channels, out channels of a group, kernel…].
double ConvTransposeFlops(Views inputs, Views, const void*) {
  const TensorView& w = inputs[1];
  return w.dim(0) == 0 ? 0 : 2 * Elements(inputs[0]) * Elements(w) / static_cast<double>(w.dim(0));
}

double AttentionFlops(const AttentionCall& call) {
  double keys = 0;  // seen by all queries of a head
  for (int64_t i = 0; i < call.q_len; ++i) {
    const AttentionCall::Range range = call.VisibleTo(i);
    keys += static_cast<double>(range.end - range.first);
  }
  return 2 * static_cast<double>(call.batch * call.heads) * keys *
         static_cast<double>(call.dim + call.v_dim);
}
double FusedAttentionFlops(Views inputs, Views outputs, const void* attrs) {
  return AttentionFlops(AttentionCall::OfFused(inputs, outputs, attrs));
}
double NnAttentionFlops(Views inputs, Views outputs, const void* attrs) {
  return AttentionFlops(AttentionCall::OfNn(inputs, outputs, attrs));
}

// r is [columns of x, hidden].
double RecurrenceFlops(Views inputs, Views, const void*) {
  return 2 * Elements(inputs[0]) * static_cast<double>(inputs[1].dim(1));
}

struct CountedOp {
  std::string_view name;
  double (*flops)(Views inputs, Views outputs, const void* attrs);
};
constexpr CountedOp kProducts[] = {
    {"ten.matmul", MatmulFlops},
    {"fused.linear", LinearFlops},
    {"fused.compressed_linear", LinearFlops},
    {"fused.linear_norm", LinearFlops},
    {"fused.norm_linear", LinearFlops},
    {"fused.squared_mat_sub", TwoLinearsFlops},
    {"fused.linear_chain", LinearChainFlops},
    {"fused.attention_block", AttentionBlockFlops},
    {"fused.feed_forward", FeedForwardFlops},
    {"fused.transformer_layer", TransformerLayerFlops},
    {"fused.transformer_stack", TransformerStackFlops},
    {"nn.conv", ConvFlops},
    {"fused.conv", ConvFlops},
    {"q.conv", ConvFlops},
    {"nn.conv_transpose", ConvTransposeFlops},
    {"fused.conv_transpose", ConvTransposeFlops},
    {"fused.attention", FusedAttentionFlops},
    {"nn.attention", NnAttentionFlops},
    {"nn.recurrence", RecurrenceFlops},
    {"fused.expert_linear", LinearFlops},
    {"q.linear", LinearFlops},
};

// One step for each combination of the indices, whatever the equation sums over.
double EinsumFlops(Views inputs, Views, const void* attrs) {
  std::string_view rest = static_cast<const ten::EinsumAttrs*>(attrs)->equation;
  rest = rest.substr(0, rest.find("->"));
  std::array<int64_t, 128> extents;  // by letter
  extents.fill(1);
  double ellipsis = 1;  // the most that one term's dots stand for
  for (const TensorView& input : inputs) {
    const std::string_view term = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), term.size() + 1));
    const auto is_letter = [](char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; };
    const auto letters = static_cast<int>(std::count_if(term.begin(), term.end(), is_letter));
    int axis = 0;
    double dots = 1;
    for (size_t i = 0; i < term.size() && axis < input.rank(); ++i) {
      if (is_letter(term[i])) {
        int64_t& extent = extents[static_cast<size_t>(term[i])];
        extent = std::max(extent, input.dim(axis++));
      } else if (term[i] == '.' && (i == 0 || term[i - 1] != '.')) {
        for (int n = input.rank() - letters; n > 0 && axis < input.rank(); --n)
          dots *= static_cast<double>(input.dim(axis++));
      }
    }
    ellipsis = std::max(ellipsis, dots);
  }
  double steps = ellipsis * static_cast<double>(inputs.size());
  for (const int64_t extent : extents) steps *= static_cast<double>(extent);
  return steps;
}

// Each window, as far as it lies in the image.
template <typename Attrs>
double PoolFlops(Views inputs, Views outputs, const void* attrs) {
  const auto& a = *static_cast<const Attrs*>(attrs);
  double window = 1;
  for (const int64_t extent : a.kernel) {
    int64_t longest = 0;
    for (const int64_t size : inputs[0].shape) longest = std::max(longest, size);
    window *= static_cast<double>(std::min(extent, longest));
  }
  return Elements(outputs[0]) * window;
}

// More than one operation for each element, but no products.
constexpr CountedOp kOthers[] = {
    {"ten.einsum", EinsumFlops},
    {"nn.max_pool", PoolFlops<nn::MaxPoolAttrs>},
    {"nn.average_pool", PoolFlops<nn::AveragePoolAttrs>},
    {"nn.lp_pool", PoolFlops<nn::LpPoolAttrs>},
};

constexpr std::string_view kLookups[] = {"ten.gather", "ten.gather_elements", "ten.gather_nd",
                                         "ten.slice",  "ten.dynamic_slice",   "fused.embedding"};

}  // namespace

bool IsProduct(std::string_view op) {
  return std::any_of(std::begin(kProducts), std::end(kProducts),
                     [&](const CountedOp& product) { return product.name == op; });
}

bool HasManySteps(std::string_view op) {
  return std::any_of(std::begin(kOthers), std::end(kOthers),
                     [&](const CountedOp& other) { return other.name == op; });
}

double BytesRead(std::string_view op, Views inputs, Views outputs, size_t i) {
  if (BytesOf(outputs) == 0) return 0;
  const auto bytes = static_cast<double>(inputs[i].bytes());
  if (std::find(std::begin(kLookups), std::end(kLookups), op) != std::end(kLookups)) {
    return std::min(bytes, BytesOf(outputs));
  }
  // A row of the table for each of the ids.
  if (op == "fused.embedding_pool" && i == 1) {
    const int64_t rows = inputs[1].dim(0);
    if (rows > 0) return std::min(bytes, bytes / static_cast<double>(rows) * Elements(inputs[0]));
  }
  // Each row chooses one expert.
  if (op != "fused.expert_linear" || i != 1 || inputs[1].dim(0) == 0) return bytes;
  const int64_t rows = inputs[0].dim(0), experts = inputs[1].dim(0);
  return bytes * static_cast<double>(std::min(rows, experts)) / static_cast<double>(experts);
}

OpCost CostOf(std::string_view op, Views inputs, Views outputs, const void* attrs) {
  OpCost cost;
  for (const TensorView& output : outputs) {
    if (output.present()) cost.flops += Elements(output);
  }
  cost.bytes = BytesOf(outputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].present()) cost.bytes += BytesRead(op, inputs, outputs, i);
  }
  for (const CountedOp& product : kProducts) {
    if (product.name == op) cost.flops = product.flops(inputs, outputs, attrs);
  }
  for (const CountedOp& other : kOthers) {
    if (other.name == op) cost.flops = other.flops(inputs, outputs, attrs);
  }
  return cost;
}

}  // namespace tenon::kernels
