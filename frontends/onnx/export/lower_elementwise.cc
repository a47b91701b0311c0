// Elementwise operations, products, and those that are a change of name.
#include <algorithm>
#include <cmath>
#include <limits>

#include "fmt/format.h"
#include "frontends/onnx/export/lowering.h"
#include "frontends/onnx/file/tensor.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/q_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

struct Renaming {
  std::string_view onnx, op;
};
constexpr Renaming kRenamings[] = {
#define TENON_ONNX_ONE_TO_ONE(onnx, op) {#onnx, op},
#include "frontends/onnx/ops/one_to_one.inc"
#undef TENON_ONNX_ONE_TO_ONE
};

// The attribute of a node; flags are integers there.
Attribute NodeAttribute(const Lowering& l, const AttrDef& def, Attribute value) {
  return def.type == AttrType::kBool ? l.Int(value.bool_value() ? 1 : 0) : value;
}

void Rename(Lowering& l, std::string_view onnx) {
  Operation& op = l.op();
  const OpDef& def = op.info().def();
  Lowering::Attrs attrs;
  for (unsigned i = 0; i < def.attrs.size(); ++i) {
    if (op.slot(i) == op.info().default_value(static_cast<int>(i))) continue;
    attrs.emplace_back(def.attrs[i].name, NodeAttribute(l, def.attrs[i], op.slot(i)));
  }
  std::vector<Value> inputs;
  for (OpOperand& operand : op.operands()) inputs.push_back(operand.get());
  l.Done(l.Node(onnx, inputs, attrs));
}

bool LowerRenamed(Lowering& l) {
  const auto found =
      std::find_if(std::begin(kRenamings), std::end(kRenamings),
                   [&](const Renaming& renaming) { return renaming.op == l.op().name(); });
  if (found == std::end(kRenamings)) return false;
  if (found->onnx == "BitShift" && !IsUnsignedInt(l.operand(0).type().dtype())) {
    l.Fail("BitShift takes unsigned integers only");
    return true;
  }
  if (l.op().id() == ten::ReluOp::kId && IsInt(l.operand(0).type().dtype())) {
    // ONNX Runtime has no Relu of integers.
    l.Done(l.Node("Max", {l.operand(0), l.Scalar(l.operand(0).type().dtype(), 0)}));
    return true;
  }
  Rename(l, found->onnx);
  return true;
}

// To ONNX Runtime an absent bound of Clip is the largest number of the type, which cuts infinities
// off. So a Clip has two finite bounds.
void Clip(Lowering& l, const ten::ClipOp& op) {
  const DType dtype = op.x().type().dtype();
  const auto attrs = op.attrs();
  if (std::isfinite(attrs.min) && std::isfinite(attrs.max))
    return l.Done(l.Node("Clip", {op.x(), l.Scalar(dtype, attrs.min), l.Scalar(dtype, attrs.max)}));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Value y = op.x();
  if (attrs.min != -kInfinity) y = l.Node("Max", {y, l.Scalar(dtype, attrs.min)});
  if (attrs.max != kInfinity) y = l.Node("Min", {y, l.Scalar(dtype, attrs.max)});
  l.Done(y);
}

void Elu(Lowering& l, const ten::EluOp& op) {
  const auto attrs = op.attrs();
  if (attrs.width == 1 && attrs.gamma == 1) {
    l.Done(l.Node("Elu", {op.x()}, {{"alpha", l.Float(attrs.alpha)}}));
  } else if (attrs.width == 1) {
    l.Done(l.Node("Selu", {op.x()},
                  {{"alpha", l.Float(attrs.alpha)}, {"gamma", l.Float(attrs.gamma)}}));
  } else {
    l.Done(l.Node("Celu", {op.x()}, {{"alpha", l.Float(attrs.alpha)}}));
  }
}

// A product of two floats of 32 bits is exact in 64 bits, so the sum decides the rounding.
void Fma(Lowering& l, const ten::FmaOp& op) {
  const DType dtype = op.a().type().dtype();
  const DType wide = dtype == DType::kF32 || dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const auto widened = [&](Value v) { return dtype == wide ? v : l.CastTo(v, wide); };
  const Value product = l.Node("Mul", {widened(op.a()), widened(op.b())});
  const Value sum = l.Node("Add", {product, widened(op.c())});
  l.Done(dtype == wide ? sum : l.CastTo(sum, dtype));
}

// Swaps the last two axes.
Value SwapLast(Lowering& l, Value x) {
  std::vector<int64_t> perm;
  for (int64_t axis = 0; axis < x.type().rank(); ++axis) perm.push_back(axis);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return l.Transpose(x, perm);
}

void MatMul(Lowering& l, const ten::MatmulOp& op) {
  const auto attrs = op.attrs();
  Value a = op.a(), b = op.b();
  if (!a.type().is_tensor() || !b.type().is_tensor()) return l.Fail("its ranks are not known");
  const bool swap_a = attrs.transpose_a && a.type().rank() > 1;
  const bool swap_b = attrs.transpose_b && b.type().rank() > 1;
  if ((swap_a || swap_b) && a.type().rank() == 2 && b.type().rank() == 2 &&
      IsFloat(a.type().dtype())) {
    return l.Done(l.Node("Gemm", {a, b},
                         {{"transA", l.Int(swap_a ? 1 : 0)}, {"transB", l.Int(swap_b ? 1 : 0)}}));
  }
  if (swap_a) a = SwapLast(l, a);
  if (swap_b) b = SwapLast(l, b);
  l.Done(l.Node("MatMul", {a, b}));
}

// ONNX's Cast to an integer rounds down and keeps the lowest bits.
void EncodeInt(Lowering& l, const q::EncodeOp& op) {
  const auto attrs = op.attrs();
  Value x = op.x();
  const DType from = x.type().dtype();
  if (IsFloat(from) && attrs.rounding == "up")
    return l.Fail("Cast to an integer does not round away from zero");
  if (IsFloat(from) && attrs.rounding == "nearest") x = l.Node("Round", {x});
  if (attrs.saturate) {
    const int bits = BitsOf(attrs.to);
    const double low = HoldsSigned(attrs.to) ? -std::ldexp(1.0, bits - 1) : 0;
    x = l.Node("Clip", {x, l.Scalar(from, low), l.Scalar(from, low + std::ldexp(1.0, bits) - 1)});
  }
  l.Done(l.CastTo(x, attrs.to));
}

void Encode(Lowering& l, const q::EncodeOp& op) {
  const auto attrs = op.attrs();
  if (IsNarrowInt(attrs.to)) return EncodeInt(l, op);
  const bool any_rounding = attrs.to == DType::kF8E8M0FNU;
  if (!any_rounding && attrs.rounding != "nearest")
    return l.Fail("Cast to a float rounds to the nearest number");
  Lowering::Attrs cast = {{"to", l.Int(OnnxTypeOf(attrs.to))}};
  if (any_rounding) cast.push_back({"round_mode", l.Str(attrs.rounding)});
  if (attrs.to != DType::kF4E2M1FN) cast.push_back({"saturate", l.Int(attrs.saturate ? 1 : 0)});
  l.Done(l.Node("Cast", {op.x()}, cast));
}

void QuantizedLinear(Lowering& l, const q::LinearOp& op) {
  const Value sums = l.Node("MatMulInteger", {op.x(), op.w(), op.x_zero(), op.w_zero()});
  l.Done(op->result().type().dtype() == DType::kI32 ? sums : l.CastTo(sums, DType::kF32));
}

}  // namespace

bool HasElementTypes(Lowering& l) {
  const auto has = [&](Type type) {
    return !type.is_any_tensor() || l.Needs(OldestOpset(type.dtype()), Name(type.dtype()));
  };
  for (const OpOperand& operand : l.op().operands())
    if (!has(operand.get().type())) return false;
  for (unsigned i = 0; i < l.op().num_results(); ++i)
    if (!has(l.op().result(i).type())) return false;
  return true;
}

bool LowerElementwise(Lowering& l) {
  Operation& op = l.op();
  switch (op.id()) {
    case ten::ClipOp::kId:
      Clip(l, ten::ClipOp(&op));
      return true;
    case ten::FmaOp::kId:
      Fma(l, ten::FmaOp(&op));
      return true;
    case ten::EluOp::kId:
      Elu(l, ten::EluOp(&op));
      return true;
    case ten::CastOp::kId:
      l.Done(l.CastTo(l.operand(0), ten::CastOp(&op).to()));
      return true;
    case q::DecodeOp::kId:
      l.Done(l.CastTo(l.operand(0), q::DecodeOp(&op).to()));
      return true;
    case q::EncodeOp::kId:
      Encode(l, q::EncodeOp(&op));
      return true;
    case ten::BitcastOp::kId:
      l.Done(
          l.Node("BitCast", {l.operand(0)}, {{"to", l.Int(OnnxTypeOf(ten::BitcastOp(&op).to()))}}));
      return true;
    case ten::MaxOp::kId:
      l.Done(l.Node("Max", {l.operand(0), l.operand(1)}));
      return true;
    case ten::MinOp::kId:
      l.Done(l.Node("Min", {l.operand(0), l.operand(1)}));
      return true;
    case ten::MatmulOp::kId:
      MatMul(l, ten::MatmulOp(&op));
      return true;
    case ten::EinsumOp::kId:
      l.Done(l.Node("Einsum", ten::EinsumOp(&op).inputs(),
                    {{"equation", l.Str(ten::EinsumOp(&op).equation())}}));
      return true;
    case ten::CheckRangeOp::kId:
      // The node that reads the value has the same demand.
      l.Done(l.operand(0));
      return true;
    case nn::MishOp::kId:
      l.Done(l.Node("Mish", {l.operand(0)}));
      return true;
    case q::LinearOp::kId:
      QuantizedLinear(l, q::LinearOp(&op));
      return true;
    default:
      return LowerRenamed(l);
  }
}

}  // namespace tenon::onnx
