// Layers of the dialect nn that ONNX has as nodes.
#include <algorithm>

#include "fmt/format.h"
#include "frontends/onnx/export/lowering.h"
#include "frontends/onnx/file/tensor.h"
#include "frontends/onnx/onnx.pb.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/q_ops.h"

namespace tenon::onnx {
namespace {

// Moves the channels of an image behind its spatial axes, or back to axis 1.
std::vector<int64_t> ChannelsLast(int64_t rank) {
  std::vector<int64_t> perm = {0};
  for (int64_t axis = 2; axis < rank; ++axis) perm.push_back(axis);
  perm.push_back(1);
  return perm;
}
std::vector<int64_t> ChannelsFirst(int64_t rank) {
  std::vector<int64_t> perm = {0, rank - 1};
  for (int64_t axis = 1; axis + 1 < rank; ++axis) perm.push_back(axis);
  return perm;
}

// A node on images with channels first, from an operation of either layout.
void ImageNode(Lowering& l, std::string_view type, std::string_view layout,
               const Lowering::Attrs& attrs) {
  std::vector<Value> inputs;
  for (OpOperand& operand : l.op().operands()) inputs.push_back(operand.get());
  if (layout == "nchw") return l.Done(l.Node(type, inputs, attrs));
  if (!inputs[0].type().is_tensor()) return l.Fail("its rank is not known");
  const int64_t rank = inputs[0].type().rank();
  inputs[0] = l.Transpose(inputs[0], ChannelsFirst(rank));
  l.Done(l.Transpose(l.Node(type, inputs, attrs), ChannelsLast(rank)));
}

// The attributes that all windows have.
template <typename A>
Lowering::Attrs WindowAttrs(const Lowering& l, const A& attrs) {
  Lowering::Attrs made = {{"strides", l.IntList(attrs.strides)},
                          {"dilations", l.IntList(attrs.dilations)}};
  if constexpr (requires { attrs.auto_pad; }) {
    if (attrs.auto_pad != "NOTSET") {
      made.emplace_back("auto_pad", l.Str(attrs.auto_pad));
      return made;
    }
  }
  made.emplace_back("pads", l.IntList(attrs.pads));
  return made;
}

// True if a pool has as many windows as one whose extents are rounded down. Before opset 22, ONNX
// counts a last window that begins in the padding where they are rounded up.
template <typename A>
bool RoundsDown(const Lowering& l, const A& attrs) {
  const Type from = l.operand(0).type(), to = l.op().result(0).type();
  if (!from.is_static() || !to.is_static()) return false;
  int64_t axis = 2;
  if constexpr (requires { attrs.layout; }) axis = attrs.layout == "nhwc" ? 1 : 2;
  if constexpr (requires { attrs.auto_pad; }) {
    if (attrs.auto_pad != "NOTSET") return false;
  }
  const size_t axes = attrs.kernel.size();
  if (from.rank() != static_cast<int64_t>(axes) + 2 || attrs.strides.size() != axes ||
      attrs.dilations.size() != axes || attrs.pads.size() != 2 * axes) {
    return false;
  }
  for (size_t i = 0; i < axes; ++i, ++axis) {
    const int64_t window = attrs.dilations[i] * (attrs.kernel[i] - 1) + 1;
    const int64_t padded = from.dim(axis).constant() + attrs.pads[i] + attrs.pads[axes + i];
    if (padded < window || !to.dim(axis).is_constant((padded - window) / attrs.strides[i] + 1))
      return false;
  }
  return true;
}

template <typename A>
Lowering::Attrs PoolAttrs(const Lowering& l, const A& attrs) {
  Lowering::Attrs made = WindowAttrs(l, attrs);
  made.emplace_back("kernel_shape", l.IntList(attrs.kernel));
  if (attrs.ceil_mode && !RoundsDown(l, attrs)) made.emplace_back("ceil_mode", l.Int(1));
  return made;
}

bool AllOnes(std::span<const int64_t> values) {
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 1; });
}

void Drop(Lowering::Attrs& attrs, std::string_view name) {
  std::erase_if(attrs, [&](const auto& attr) { return attr.first == name; });
}

void Conv(Lowering& l, const nn::ConvOp& op) {
  const auto attrs = op.attrs();
  Lowering::Attrs made = WindowAttrs(l, attrs);
  made.emplace_back("group", l.Int(attrs.group));
  ImageNode(l, "Conv", attrs.layout, made);
}

// Sums by ConvInteger, bytes by QLinearConv, whose scales are those of the result.
void QuantizedConv(Lowering& l, const q::ConvOp& op) {
  const auto attrs = op.attrs();
  Lowering::Attrs made = WindowAttrs(l, attrs);
  made.emplace_back("group", l.Int(attrs.group));
  Value x = op.x();
  if (!x.type().is_tensor()) return l.Fail("its rank is not known");
  const int64_t rank = x.type().rank();
  const bool channels_last = attrs.layout == "nhwc";
  if (channels_last) x = l.Transpose(x, ChannelsFirst(rank));
  Value y;
  // Engines have no kernel for signed bytes with filters of unsigned ones: numbers that hold the
  // sums exactly stand for them.
  const bool in_floats = x.type().dtype() == DType::kI8 && op.w().type().dtype() == DType::kU8;
  const auto along_filters = [&](Value v) {
    if (!v.type().is_tensor() || v.type().rank() == 0) return v;
    std::vector<int64_t> along(static_cast<size_t>(rank), 1);
    along[1] = -1;
    return l.Node("Reshape", {v, l.Ints(along)});
  };
  if (in_floats && op.scale()) {
    const Value one = l.Scalar(DType::kF32, 1);
    const auto number = [&](Value bytes, Value zero, int64_t axis) {
      const bool each = zero.type().is_tensor() && zero.type().rank() == 1;
      if (!each) return l.Node("DequantizeLinear", {bytes, one, zero});
      const Value ones = l.Node(
          "Add", {l.Node("Mul", {l.Node("Cast", {zero}, {{"to", l.Int(OnnxTypeOf(DType::kF32))}}),
                                 l.Scalar(DType::kF32, 0)}),
                  one});
      return l.Node("DequantizeLinear", {bytes, ones, zero}, {{"axis", l.Int(axis)}});
    };
    Value sums = l.Node("Conv", {number(x, op.x_zero(), 1), number(op.w(), op.w_zero(), 0)}, made);
    if (op.bias()) {
      const Value bias = l.Node("Cast", {op.bias()}, {{"to", l.Int(OnnxTypeOf(DType::kF32))}});
      sums = l.Node("Add", {sums, along_filters(bias)});
    }
    const Value zero = op.out_zero() ? op.out_zero() : l.Scalar(attrs.to, 0);
    y = l.Node("QuantizeLinear", {l.Node("Mul", {sums, along_filters(op.scale())}), one, zero});
  } else if (op.scale()) {
    const Value one = l.Scalar(DType::kF32, 1);
    const Value zero = op.out_zero() ? op.out_zero() : l.Scalar(attrs.to, 0);
    std::vector<Value> inputs = {x, one, op.x_zero(), op.w(), op.scale(), op.w_zero(), one, zero};
    if (op.bias()) inputs.push_back(op.bias());
    y = l.Node("QLinearConv", inputs, made);
  } else {
    y = l.Node("ConvInteger", {x, op.w(), op.x_zero(), op.w_zero()}, made);
    if (op.bias()) {
      std::vector<int64_t> along(static_cast<size_t>(rank), 1);
      along[1] = -1;
      y = l.Node("Add", {y, l.Node("Reshape", {op.bias(), l.Ints(along)})});
    }
    if (attrs.to == DType::kF32) y = l.Node("Cast", {y}, {{"to", l.Int(OnnxTypeOf(DType::kF32))}});
  }
  l.Done(channels_last ? l.Transpose(y, ChannelsLast(rank)) : y);
}

void ConvTranspose(Lowering& l, const nn::ConvTransposeOp& op) {
  const auto attrs = op.attrs();
  Lowering::Attrs made = WindowAttrs(l, attrs);
  made.emplace_back("group", l.Int(attrs.group));
  made.emplace_back("output_padding", l.IntList(attrs.output_padding));
  ImageNode(l, "ConvTranspose", attrs.layout, made);
}

void AveragePool(Lowering& l, const nn::AveragePoolOp& op) {
  const auto attrs = op.attrs();
  Lowering::Attrs made = PoolAttrs(l, attrs);
  if (attrs.count_include_pad) made.emplace_back("count_include_pad", l.Int(1));
  if (AllOnes(attrs.dilations)) Drop(made, "dilations");
  ImageNode(l, "AveragePool", attrs.layout, made);
}

void LpPool(Lowering& l, const nn::LpPoolOp& op) {
  const auto attrs = op.attrs();
  Lowering::Attrs made = PoolAttrs(l, attrs);
  made.emplace_back("p", l.Int(attrs.p));
  if (AllOnes(attrs.dilations)) Drop(made, "dilations");
  l.Done(l.Node("LpPool", {op.x()}, made));
}

void PoolWithIndices(Lowering& l, const nn::MaxPoolWithIndicesOp& op) {
  const auto attrs = op.attrs();
  Lowering::Attrs made = PoolAttrs(l, attrs);
  if (attrs.column_major) made.emplace_back("storage_order", l.Int(1));
  Operation* node = l.Nodes("MaxPool", {op.x()}, made, 2);
  if (node == nullptr) return;
  const Value results[] = {node->result(0), node->result(1)};
  l.Done(results);
}

void GridSample(Lowering& l, const nn::GridSampleOp& op) {
  const auto attrs = op.attrs();
  std::string mode = attrs.mode;
  if (l.opset() < 20) {
    if (op.x().type().is_tensor() && op.x().type().rank() != 4 &&
        !l.Needs(20, "GridSample of other ranks than 4"))
      return;
    if (mode != "nearest") mode = mode == "linear" ? "bilinear" : "bicubic";
  }
  l.Done(l.Node("GridSample", {op.x(), op.grid()},
                {{"mode", l.Str(mode)},
                 {"padding_mode", l.Str(attrs.padding)},
                 {"align_corners", l.Int(attrs.align_corners ? 1 : 0)}}));
}

// The type in which statistics are computed.
int64_t StashType(DType dtype) {
  return dtype == DType::kF64 ? onnxpb::TensorProto::DOUBLE : onnxpb::TensorProto::FLOAT;
}

// The extents from `axis` on, if all are numbers.
std::vector<int64_t> StaticFrom(Type type, int64_t axis) {
  std::vector<int64_t> dims;
  for (; axis < type.rank(); ++axis) {
    if (!type.dim(axis).is_constant()) return {};
    dims.push_back(type.dim(axis).constant());
  }
  return dims;
}

// True if `value` has the extents of x from `axis` on.
bool Covers(Value value, Type x, int64_t axis) {
  const Type type = value.type();
  if (!type.is_tensor() || type.rank() != x.rank() - axis) return false;
  for (int64_t i = 0; i < type.rank(); ++i) {
    if (!DimExpr::ProvablyEqual(type.dim(i), x.dim(axis + i))) return false;
  }
  return true;
}

// Norms of the last axes. A scale of another shape is a product behind the norm.
void Norm(Lowering& l, std::string_view node, int64_t axis, float epsilon, Value scale,
          Value bias) {
  const Value x = l.operand(0);
  const Type type = x.type();
  const bool inside = scale && Covers(scale, type, axis) && (!bias || Covers(bias, type, axis));
  const Value factor = inside ? scale : l.Scalar(type.dtype(), 1, StaticFrom(type, axis));
  Value y = l.Node(node, {x, factor, inside ? bias : Value()},
                   {{"axis", l.Int(axis)},
                    {"epsilon", l.Float(epsilon)},
                    {"stash_type", l.Int(StashType(type.dtype()))}});
  if (!inside && scale) y = l.Node("Mul", {y, scale});
  if (!inside && bias) y = l.Node("Add", {y, bias});
  l.Done(y);
}

void GroupNorm(Lowering& l, const nn::GroupNormOp& op) {
  const auto attrs = op.attrs();
  const Value x = op.x();
  const std::vector<int64_t> channels = {x.type().dim(1).constant()};
  const Value scale = op.scale() ? op.scale() : l.Scalar(x.type().dtype(), 1, channels);
  const Value bias = op.bias() ? op.bias() : l.Scalar(x.type().dtype(), 0, channels);
  if (attrs.groups == channels[0]) {
    return l.Done(
        l.Node("InstanceNormalization", {x, scale, bias}, {{"epsilon", l.Float(attrs.epsilon)}}));
  }
  l.Done(l.Node("GroupNormalization", {x, scale, bias},
                {{"num_groups", l.Int(attrs.groups)},
                 {"epsilon", l.Float(attrs.epsilon)},
                 {"stash_type", l.Int(StashType(x.type().dtype()))}}));
}

void Attention(Lowering& l, const nn::AttentionOp& op) {
  const auto attrs = op.attrs();
  Lowering::Attrs made;
  if (attrs.q_num_heads > 0) made.emplace_back("q_num_heads", l.Int(attrs.q_num_heads));
  if (attrs.kv_num_heads > 0) made.emplace_back("kv_num_heads", l.Int(attrs.kv_num_heads));
  if (attrs.scale != 0) made.emplace_back("scale", l.Float(attrs.scale));
  if (attrs.softcap != 0) made.emplace_back("softcap", l.Float(attrs.softcap));
  if (attrs.is_causal) made.emplace_back("is_causal", l.Int(1));
  l.Done(l.Node("Attention", {op.q(), op.k(), op.v(), op.mask()}, made));
}

void RotaryEmbedding(Lowering& l, const nn::RotaryEmbeddingOp& op) {
  const auto attrs = op.attrs();
  Lowering::Attrs made;
  if (attrs.interleaved) made.emplace_back("interleaved", l.Int(1));
  if (attrs.num_heads > 0) made.emplace_back("num_heads", l.Int(attrs.num_heads));
  if (attrs.rotary_dim > 0) made.emplace_back("rotary_embedding_dim", l.Int(attrs.rotary_dim));
  l.Done(l.Node("RotaryEmbedding", {op.x(), op.cos(), op.sin(), op.position_ids()}, made));
}

void Axis(Lowering& l, std::string_view node, int64_t axis) {
  l.Done(l.Node(node, {l.operand(0)}, {{"axis", l.Int(axis)}}));
}

bool LowerPool(Lowering& l) {
  Operation& op = l.op();
  switch (op.id()) {
    case nn::MaxPoolOp::kId: {
      const auto attrs = nn::MaxPoolOp(&op).attrs();
      ImageNode(l, "MaxPool", attrs.layout, PoolAttrs(l, attrs));
      return true;
    }
    case nn::MaxPoolWithIndicesOp::kId:
      PoolWithIndices(l, nn::MaxPoolWithIndicesOp(&op));
      return true;
    case nn::AveragePoolOp::kId:
      AveragePool(l, nn::AveragePoolOp(&op));
      return true;
    case nn::LpPoolOp::kId:
      LpPool(l, nn::LpPoolOp(&op));
      return true;
    default:
      return false;
  }
}

bool LowerNorm(Lowering& l) {
  Operation& op = l.op();
  switch (op.id()) {
    case nn::LayerNormOp::kId: {
      const nn::LayerNormOp norm(&op);
      Norm(l, "LayerNormalization", norm.axis(), norm.epsilon(), norm.scale(), norm.bias());
      return true;
    }
    case nn::RmsNormOp::kId: {
      const nn::RmsNormOp norm(&op);
      Norm(l, "RMSNormalization", norm.axis(), norm.epsilon(), norm.scale(), Value());
      return true;
    }
    case nn::GroupNormOp::kId:
      GroupNorm(l, nn::GroupNormOp(&op));
      return true;
    case nn::BatchNormOp::kId: {
      const nn::BatchNormOp norm(&op);
      l.Done(l.Node("BatchNormalization",
                    {norm.x(), norm.scale(), norm.bias(), norm.mean(), norm.var()},
                    {{"epsilon", l.Float(norm.epsilon())}}));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

bool LowerLayer(Lowering& l) {
  Operation& op = l.op();
  switch (op.id()) {
    case nn::SoftmaxOp::kId:
      Axis(l, "Softmax", nn::SoftmaxOp(&op).axis());
      return true;
    case nn::HardmaxOp::kId:
      Axis(l, "Hardmax", nn::HardmaxOp(&op).axis());
      return true;
    case nn::LogSoftmaxOp::kId:
      Axis(l, "LogSoftmax", nn::LogSoftmaxOp(&op).axis());
      return true;
    case q::ConvOp::kId:
      QuantizedConv(l, q::ConvOp(&op));
      return true;
    case nn::ConvOp::kId:
      Conv(l, nn::ConvOp(&op));
      return true;
    case nn::ConvTransposeOp::kId:
      ConvTranspose(l, nn::ConvTransposeOp(&op));
      return true;
    case nn::GridSampleOp::kId:
      GridSample(l, nn::GridSampleOp(&op));
      return true;
    case nn::AttentionOp::kId:
      Attention(l, nn::AttentionOp(&op));
      return true;
    case nn::RotaryEmbeddingOp::kId:
      RotaryEmbedding(l, nn::RotaryEmbeddingOp(&op));
      return true;
    default:
      return LowerPool(l) || LowerNorm(l);
  }
}

}  // namespace tenon::onnx
