#include "frontends/cpp/inspect/symbolic_cost.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/base/dtype.h"
#include "ir/base/stacked_layers.h"
#include "ir/core/block.h"
#include "ir/core/type.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

Type TypeOf(const Operation& op, unsigned operand) { return op.operand(operand).type(); }

DimExpr ElementsIn(const Operation& op, Value value) {
  return ElementsOf(value.type(), op.context());
}
DimExpr ElementsIn(const Operation& op, unsigned operand) {
  return ElementsIn(op, op.operand(operand));
}
DimExpr Results(const Operation& op) { return ElementsIn(op, op.result(0)); }

// The extent of an axis, counted from the end if it is negative. Unknown if there is none.
DimExpr Extent(const Operation& op, Type type, int64_t axis) {
  if (!type.is_tensor()) return DimExpr::Unknown(op.context());
  if (axis < 0) axis += type.rank();
  return axis < 0 || axis >= type.rank() ? DimExpr::Unknown(op.context()) : type.dim(axis);
}

// The product of all extents but the first `front` and the last `back`.
DimExpr Inner(const Operation& op, Type type, size_t front, size_t back) {
  if (!type.is_tensor() || static_cast<size_t>(type.rank()) < front + back)
    return DimExpr::Unknown(op.context());
  const std::vector<DimExpr> dims(type.dims().begin(), type.dims().end());
  return Product(op.context(), std::span(dims).subspan(front, dims.size() - front - back));
}

DimExpr MatmulFlops(const Operation& op) {
  const Type a = TypeOf(op, 0);
  const bool transposed = op.slot(0).bool_value() && a.is_tensor() && a.rank() > 1;
  return Results(op) * Extent(op, a, transposed ? -2 : -1) * 2;
}

DimExpr LinearFlops(const Operation& op) { return Results(op) * Extent(op, TypeOf(op, 0), -1) * 2; }

// Two products of one size.
DimExpr TwoLinearsFlops(const Operation& op) { return LinearFlops(op) * 2; }

// Rows [..., C] times the matrices that these operand groups are.
DimExpr MatricesFlops(const Operation& op, std::initializer_list<unsigned> groups) {
  DimExpr elements = DimExpr::Constant(op.context(), 0);
  for (const unsigned group : groups) {
    const auto [first, count] = op.operand_group(group);
    for (unsigned i = 0; i < count; ++i) elements = elements + ElementsIn(op, first + i);
  }
  return elements * Inner(op, TypeOf(op, 0), 0, 1) * 2;
}
DimExpr LinearChainFlops(const Operation& op) {
  DimExpr elements = DimExpr::Constant(op.context(), 0);
  const auto [first, count] = op.operand_group(2);
  const unsigned step = Cast<fused::LinearChainOp>(&const_cast<Operation&>(op)).biased() ? 2 : 1;
  for (unsigned i = 0; i < count; i += step) elements = elements + ElementsIn(op, first + i);
  return elements * Inner(op, TypeOf(op, 0), 0, 1) * 2;
}
DimExpr AttentionBlockFlops(const Operation& op) { return MatricesFlops(op, {2, 3, 5, 7}); }
DimExpr FeedForwardFlops(const Operation& op) { return MatricesFlops(op, {2, 3, 5}); }
DimExpr StackFlops(const Operation& op) {
  const auto stack = Cast<fused::TransformerStackOp>(&const_cast<Operation&>(op));
  const StackedLayers layers(stack.has());
  const size_t count = stack.layers().size() / layers.per_layer();
  DimExpr elements = DimExpr::Constant(op.context(), 0);
  for (size_t layer = 0; layer < count; ++layer) {
    for (const size_t matrix : {2, 3, 4, 5, 7, 9, 22}) {
      const std::optional<size_t> place = layers.PlaceOf(layer, matrix);
      if (place) elements = elements + ElementsIn(op, static_cast<unsigned>(2 + *place));
    }
  }
  return elements * Inner(op, TypeOf(op, 0), 0, 1) * 2;
}
DimExpr LayerFlops(const Operation& op) { return MatricesFlops(op, {2, 3, 4, 5, 7, 9, 22}); }

// w is [out channels, in channels of a group, kernel…].
DimExpr ConvFlops(const Operation& op) { return Results(op) * Inner(op, TypeOf(op, 1), 1, 0) * 2; }
// w is [in channels, out channels of a group, kernel…].
DimExpr ConvTransposeFlops(const Operation& op) {
  return ElementsIn(op, 0U) * Inner(op, TypeOf(op, 1), 1, 0) * 2;
}

// Every element of q meets every key, and every element of the result is a sum over the keys.
DimExpr AttentionFlops(const Operation& op, DimExpr keys) {
  return (ElementsIn(op, 0U) + Results(op)) * keys * 2;
}
DimExpr NnAttentionFlops(const Operation& op) {
  const Type k = TypeOf(op, 1);
  return AttentionFlops(op, Extent(op, k, k.is_tensor() && k.rank() == 4 ? 2 : 1));
}
DimExpr FusedAttentionFlops(const Operation& op) {
  const auto attention = Cast<fused::AttentionOp>(&const_cast<Operation&>(op));
  const auto length = [&](Type type, std::string_view layout) {
    return Extent(op, type, layout == "bhds" ? 3 : layout == "bhsd" ? 2 : 1);
  };
  DimExpr keys = length(attention.k().type(), attention.k_layout());
  if (attention.past_key()) keys = keys + length(attention.past_key().type(), "bhsd");
  // q may lie beside other columns: its elements are those of the heads.
  const DimExpr queries = length(attention.q().type(), attention.q_layout());
  const DimExpr batch = Extent(op, attention.q().type(), 0);
  if (attention.head_dim() < 0) return AttentionFlops(op, keys);
  const DimExpr columns =
      DimExpr::Constant(op.context(), attention.num_heads() * attention.head_dim());
  return (batch * queries * columns + Results(op)) * keys * 2;
}

// r is [columns of x, hidden].
DimExpr RecurrenceFlops(const Operation& op) {
  return ElementsIn(op, 0U) * Extent(op, TypeOf(op, 1), 1) * 2;
}

// One step for each combination of the letters, in each operand but the first.
DimExpr EinsumFlops(const Operation& op) {
  std::string_view rest = Cast<ten::EinsumOp>(&const_cast<Operation&>(op)).equation();
  rest = rest.substr(0, rest.find("->"));
  std::array<DimExpr, 128> extents;
  DimExpr ellipsis = DimExpr::Constant(op.context(), 1);
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    const std::string_view term = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), term.size() + 1));
    const auto is_letter = [](char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; };
    const auto letters = static_cast<int64_t>(std::count_if(term.begin(), term.end(), is_letter));
    const Type type = TypeOf(op, i);
    if (!type.is_tensor()) return DimExpr::Unknown(op.context());
    int64_t axis = 0;
    DimExpr dots = DimExpr::Constant(op.context(), 1);
    for (size_t c = 0; c < term.size() && axis < type.rank(); ++c) {
      if (is_letter(term[c])) {
        DimExpr& extent = extents[static_cast<size_t>(term[c])];
        extent = extent ? Broadcast(extent, type.dim(axis)) : type.dim(axis);
        ++axis;
      } else if (term[c] == '.' && (c == 0 || term[c - 1] != '.')) {
        for (int64_t n = type.rank() - letters; n > 0; --n) dots = dots * type.dim(axis++);
      }
    }
    ellipsis = Broadcast(ellipsis, dots);
  }
  DimExpr steps = ellipsis * std::max<int64_t>(2 * (int64_t{op.num_operands()} - 1), 1);
  for (const DimExpr extent : extents) {
    if (extent) steps = steps * extent;
  }
  return steps;
}

struct CountedOp {
  std::string_view name;
  DimExpr (*flops)(const Operation& op);
};
constexpr CountedOp kCounted[] = {
    {"ten.matmul", MatmulFlops},
    {"ten.einsum", EinsumFlops},
    {"fused.linear", LinearFlops},
    {"fused.compressed_linear", LinearFlops},
    {"fused.linear_norm", LinearFlops},
    {"fused.norm_linear", LinearFlops},
    {"fused.squared_mat_sub", TwoLinearsFlops},
    {"fused.expert_linear", LinearFlops},
    {"q.linear", LinearFlops},
    {"fused.linear_chain", LinearChainFlops},
    {"fused.attention_block", AttentionBlockFlops},
    {"fused.feed_forward", FeedForwardFlops},
    {"fused.transformer_layer", LayerFlops},
    {"fused.transformer_stack", StackFlops},
    {"nn.conv", ConvFlops},
    {"fused.conv", ConvFlops},
    {"q.conv", ConvFlops},
    {"nn.conv_transpose", ConvTransposeFlops},
    {"fused.conv_transpose", ConvTransposeFlops},
    {"nn.attention", NnAttentionFlops},
    {"fused.attention", FusedAttentionFlops},
    {"nn.recurrence", RecurrenceFlops},
};

DimExpr BytesOf(const Operation& op, Value value) {
  const Type type = value.type();
  if (!type.is_tensor()) return DimExpr::Unknown(op.context());
  return ElementsIn(op, value) * static_cast<int64_t>(SizeOf(type.dtype()));
}

}  // namespace

DimExpr ElementsOf(Type type, Context& context) {
  return type.is_tensor() ? Product(context, type.dims()) : DimExpr::Unknown(context);
}

SymbolicCost CostOf(const Operation& op) {
  SymbolicCost cost{DimExpr::Constant(op.context(), 0), DimExpr::Constant(op.context(), 0)};
  const auto* const counted =
      std::find_if(std::begin(kCounted), std::end(kCounted),
                   [&](const CountedOp& candidate) { return candidate.name == op.name(); });
  if (counted != std::end(kCounted)) cost.flops = counted->flops(op);
  for (unsigned i = 0; i < op.num_operands(); ++i)
    cost.bytes = cost.bytes + BytesOf(op, op.operand(i));
  for (unsigned i = 0; i < op.num_results(); ++i)
    cost.bytes = cost.bytes + BytesOf(op, op.result(i));
  return cost;
}

}  // namespace tenon
