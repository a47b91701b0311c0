#include "transforms/shapes/extent_requirements.h"

#include <span>
#include <vector>

#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/q_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/shapes/value_ranges.h"

namespace tenon {
namespace {

using Demand = DimDemand::Kind;
using DimSpan = std::span<const DimExpr>;

class Demands {
 public:
  Demands(Operation& op, const DemandSink& sink) : op_(op), sink_(sink) {}

  void Run() {
    switch (op_.id()) {
      case ten::ConcatOp::kId:
        return Concat();
      case ten::MatmulOp::kId:
        return Matmul();
      case q::LinearOp::kId:
        return QuantizedLinear();
      case ten::ReshapeOp::kId:
        return Equal(Count(type(0)), Product(op_.context(), ten::ReshapeOp(&op_).shape()));
      case ten::ExpandOp::kId:
        if (type(0).is_tensor()) Broadcast(type(0).dims(), ten::ExpandOp(&op_).shape());
        return;
      case nn::ConvOp::kId:
        return Window<nn::ConvOp>();
      case q::ConvOp::kId:
        return Window<q::ConvOp>();
      case fused::ConvOp::kId:
        return Window<fused::ConvOp>();
      case fused::EmbeddingOp::kId:
        return Embedding();
      case fused::AttentionOp::kId:
        return Attention();
      case fused::GroupOp::kId:
        return Elementwise();
      case fused::SkipLayerNormOp::kId:
      case fused::SkipRmsNormOp::kId:
        if (type(0).is_tensor() && type(1).is_tensor()) Broadcast(type(0).dims(), type(1).dims());
        return;
      default:
        if (op_.Has(Trait::kElementwise)) Elementwise();
    }
  }

 private:
  Type type(unsigned i) const { return op_.operand(i).type(); }

  static bool Known(DimExpr e) { return e && !e.is_unknown(); }
  DimExpr Count(Type t) const {
    return t.is_tensor() ? Product(op_.context(), t.dims()) : DimExpr::Unknown(op_.context());
  }

  void Equal(DimExpr a, DimExpr b) {
    if (Known(a) && Known(b) && a != b) sink_({Demand::kEqual, a, b});
  }
  void Broadcast(DimExpr a, DimExpr b) {
    if (!Known(a) || !Known(b) || a == b || a.is_constant(1) || b.is_constant(1)) return;
    sink_({Demand::kBroadcast, a, b});
  }
  void Broadcast(DimSpan a, DimSpan b) {
    for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i)
      Broadcast(a[a.size() - i], b[b.size() - i]);
  }
  void NonNegative(DimExpr a) {
    if (Known(a)) sink_({Demand::kNonNegative, a, DimExpr()});
  }

  void Concat() {
    const int64_t axis = op_.attr("axis").int_value();
    for (unsigned i = 1; i < op_.num_operands(); ++i) {
      if (!type(0).is_tensor() || !type(i).is_tensor() || type(0).rank() != type(i).rank())
        continue;
      for (int64_t k = 0; k < type(0).rank(); ++k) {
        if (k != axis) Equal(type(0).dim(k), type(i).dim(k));
      }
    }
  }

  void Matmul() {
    if (!type(0).is_tensor() || !type(1).is_tensor()) return;
    if (type(0).rank() < 2 || type(1).rank() < 2) return;
    const ten::MatmulOp matmul(&op_);
    Equal(type(0).dim(matmul.transpose_a() ? -2 : -1), type(1).dim(matmul.transpose_b() ? -1 : -2));
    Broadcast(type(0).dims().first(type(0).rank() - 2), type(1).dims().first(type(1).rank() - 2));
  }

  void QuantizedLinear() {
    if (!type(0).is_tensor() || !type(1).is_tensor() || type(0).rank() < 1) return;
    Equal(type(0).dim(-1), type(1).dim(0));
  }

  // The window fits the padded axis.
  template <typename Conv>
  void Window() {
    const Conv conv(&op_);
    const Type x = type(0), w = type(1);
    if (!x.is_tensor() || !w.is_tensor() || x.rank() != w.rank()) return;
    const bool valid = conv.auto_pad() == "VALID";
    if (!valid && conv.auto_pad() != "NOTSET") return;
    const std::span<const int64_t> pads = conv.pads(), dilations = conv.dilations();
    const size_t spatial = dilations.size();
    if (static_cast<int64_t>(spatial) != x.rank() - 2 || pads.size() != 2 * spatial) return;
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t axis = static_cast<int64_t>(i);
      const int64_t padding = valid ? 0 : pads[i] + pads[spatial + i];
      const DimExpr extent = x.dim(axis + (conv.layout() == "nhwc" ? 1 : 2));
      NonNegative(extent + padding - (w.dim(axis + 2) - 1) * dilations[i] - 1);
    }
  }

  void Embedding() {
    const fused::EmbeddingOp embedding(&op_);
    std::vector<DimSpan> terms;  // without the axis of the rows
    const auto [first, size] = op_.operand_group(3);
    for (unsigned ids = first; ids < first + size; ids += 2) {
      if (type(ids).is_tensor()) terms.push_back(type(ids).dims());
    }
    if (Value added = embedding.added();
        added && added.type().is_tensor() && added.type().rank() > 0)
      terms.push_back(added.type().dims().first(added.type().rank() - 1));
    for (size_t i = 0; i < terms.size(); ++i) {
      for (size_t j = i + 1; j < terms.size(); ++j) Broadcast(terms[i], terms[j]);
    }
  }

  static int64_t SequenceAxis(std::string_view layout) {
    return layout == "bhds" ? 3 : layout == "bhsd" ? 2 : 1;
  }

  // One batch and one sequence of keys; what is added to scores broadcasts to them.
  void Attention() {
    const fused::AttentionOp attention(&op_);
    const Type q = attention.q().type(), k = attention.k().type(), v = attention.v().type();
    if (!q.is_tensor() || !k.is_tensor() || !v.is_tensor()) return;
    const int64_t keys_axis = SequenceAxis(attention.k_layout());
    const int64_t values_axis = SequenceAxis(attention.v_layout());
    if (q.rank() < 3 || k.rank() <= keys_axis || v.rank() <= values_axis) return;
    const DimExpr batch = q.dim(0);
    Equal(batch, k.dim(0));
    Equal(batch, v.dim(0));
    DimExpr keys = k.dim(keys_axis);
    Equal(keys, v.dim(values_axis));
    if (const Value past = attention.past_key()) {
      keys = past.type().is_tensor() ? keys + past.type().dim(2) : DimExpr::Unknown(op_.context());
    }
    const DimExpr heads = DimExpr::Constant(op_.context(), attention.num_heads());
    const DimExpr scores[] = {batch, heads, q.dim(SequenceAxis(attention.q_layout())), keys};
    for (Value added : {attention.mask(), attention.bias()}) {
      if (added && added.type().is_tensor()) Broadcast(added.type().dims(), scores);
    }
    const DimExpr positions[] = {batch, keys};
    if (const Value mask = attention.key_mask(); mask && mask.type().is_tensor())
      Broadcast(mask.type().dims(), positions);
  }

  void Elementwise() {
    for (unsigned i = 0; i < op_.num_operands(); ++i) {
      for (unsigned j = i + 1; j < op_.num_operands(); ++j) {
        if (type(i).is_tensor() && type(j).is_tensor()) Broadcast(type(i).dims(), type(j).dims());
      }
    }
  }

  Operation& op_;
  const DemandSink& sink_;
};

}  // namespace

void ForEachDemand(Operation& op, const DemandSink& sink) { Demands(op, sink).Run(); }

void ForEachIndexDemand(Operation& op, const ShapeData& data, const DemandSink& sink) {
  if (op.id() != ten::GatherOp::kId) return;
  const ten::GatherOp gather(&op);
  const Type x = gather.x().type();
  if (!x.is_tensor() || gather.axis() >= x.rank()) return;
  const DimExpr extent = x.dim(gather.axis());
  const std::optional<ValueRange> range = RangeOfValues(gather.indices(), data);
  if (!range || extent.is_unknown()) return;
  sink({Demand::kNonNegative, extent - 1 - range->greatest, DimExpr()});
  sink({Demand::kNonNegative, extent + range->least, DimExpr()});
}

}  // namespace tenon
