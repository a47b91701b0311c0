// Nodes that ONNX has one operator for: what the importer has taken apart, put together again.
#include <algorithm>
#include <cmath>

#include "frontends/onnx/export/lowering.h"
#include "frontends/onnx/onnx.pb.h"
#include "ir/core/block.h"
#include "ir/dialect/core_ops.h"

namespace tenon::onnx {
namespace {

// The node of ONNX's own operator `type` that computes a value; null if it is none.
Operation* NodeBehind(Value value, std::string_view type) {
  Operation* op = value ? value.defining_op() : nullptr;
  if (op == nullptr || op->info().dialect() != "onnx" || op->info().is_registered()) return nullptr;
  const Attribute entries = op->slot(0);
  const bool plain = !entries || (!entries.Get("domain") && !entries.Get("present"));
  return plain && op->name().substr(5) == type ? op : nullptr;
}

// The same for a value that one other node reads, once.
Operation* OwnNode(Value value, std::string_view type) {
  return value && value.has_one_use() ? NodeBehind(value, type) : nullptr;
}

// An integer entry of a node, which has a default.
int64_t IntOf(const Operation& node, std::string_view name, int64_t otherwise) {
  const Attribute value = node.slot(0) ? node.slot(0).Get(name) : Attribute();
  return value ? value.int_value() : otherwise;
}

// The constant that a Cast of it has: zero points are cast where nothing has been evaluated.
Value BehindCast(Value value) {
  Operation* const cast = NodeBehind(value, "Cast");
  const bool of_constant = cast != nullptr && ConstantOf(cast->operand(0));
  return of_constant ? cast->operand(0) : value;
}

bool IsF32OrF64(Type type) {
  return type.is_tensor() && (type.dtype() == DType::kF32 || type.dtype() == DType::kF64);
}

// A constant with one axis of more than one element at most, beside `x`: an element for each index
// of that axis, or one for all (axis -1). It must not give the result more axes than x has.
struct PerAxis {
  Attribute value;
  int64_t axis = -1, size = 1;
  explicit operator bool() const { return static_cast<bool>(value); }
};
PerAxis PerAxisOf(Value constant, Type x) {
  PerAxis found;
  const Attribute value = ConstantOf(constant);
  if (!value || !x.is_tensor() || value.type().rank() > x.rank()) return found;
  const int64_t offset = x.rank() - value.type().rank();
  for (int64_t i = 0; i < value.type().rank(); ++i) {
    const int64_t size = value.type().dim(i).constant();
    if (size == 1) continue;
    if (found.axis >= 0 || size == 0 || !x.dim(offset + i).is_constant(size)) return PerAxis();
    found.axis = offset + i;
    found.size = size;
  }
  found.value = value;
  return found;
}

class Combiner {
 public:
  Combiner(int64_t opset, DimValues& dims) : opset_(opset), dims_(dims) {}

  absl::Status Visit(Operation& op) {
    Lowering l(op, opset_, dims_);
    if (op.num_results() != 1) return absl::OkStatus();
    if (NodeBehind(op.result(), "Add") != nullptr) {
      if (!Gemm(l)) BatchNormalization(l);
    } else if (NodeBehind(op.result(), "Mul") != nullptr) {
      DequantizeLinear(l);
    } else if (NodeBehind(op.result(), "Cast") != nullptr) {
      QuantizeLinear(l);
    } else if (NodeBehind(op.result(), "Transpose") != nullptr) {
      Transpose(l);
    }
    return l.status();
  }

 private:
  // A constant vector for each index of the axis, or a number.
  Value Vector(Lowering& l, const PerAxis& of, int64_t size) {
    const Type type =
        size < 0 ? Type::Tensor(l.context(), of.value.type().dtype(), std::span<const int64_t>())
                 : Type::Tensor(l.context(), of.value.type().dtype(), std::span(&size, 1));
    const std::shared_ptr<const Blob> dense = of.value.DenseBlob();
    const Attribute value = of.size == 1 ? Attribute::Splat(l.context(), type, dense->bytes())
                                         : Attribute::Elements(l.context(), type, dense->bytes());
    const auto made = core::ConstantOp::Create(l.builder(), l.op().location(), {.value = value});
    return made.ok() ? made->out() : Value();
  }

  void Replace(Lowering& l, Value made, std::initializer_list<Value> unused) {
    for (const Value value : unused) l.MayBeUnused(value);
    l.Done(made);
  }

  // Two in a row.
  void Transpose(Lowering& l) {
    const Value between = l.operand(0);
    Operation* const first = OwnNode(between, "Transpose");
    const Attribute outer = l.op().slot(0).Get("perm");
    const Attribute inner = first != nullptr ? first->slot(0).Get("perm") : Attribute();
    if (!outer || !inner || outer.ints().size() != inner.ints().size()) return;
    const auto before = inner.ints(), after = outer.ints();
    std::vector<int64_t> perm;
    for (size_t i = 0; i < after.size(); ++i) {
      if (after[i] < 0 || after[i] >= static_cast<int64_t>(before.size())) return;
      perm.push_back(before[static_cast<size_t>(after[i])]);
    }
    const bool same = std::is_sorted(perm.begin(), perm.end());
    Replace(l, same ? first->operand(0) : l.Transpose(first->operand(0), perm), {between});
  }

  // a * b + c of matrices.
  bool Gemm(Lowering& l) {
    const Type type = l.op().result().type();
    if (!IsF32OrF64(type) || type.rank() != 2) return false;
    for (unsigned i = 0; i < 2; ++i) {
      const Value product = l.operand(i), c = l.operand(1 - i);
      Operation* node = OwnNode(product, "MatMul");
      if (node == nullptr) node = OwnNode(product, "Gemm");
      if (node == nullptr || node->num_operands() != 2 || node->slot(0).Get("alpha")) continue;
      const Value a = node->operand(0), b = node->operand(1);
      const bool matrices = IsF32OrF64(a.type()) && a.type().rank() == 2 && b.type().is_tensor() &&
                            b.type().rank() == 2 && product.type().is_tensor();
      if (!matrices || !c.type().is_tensor() || c.type().rank() > 2) continue;
      bool spreads = true;
      for (int64_t axis = 1; axis <= c.type().rank(); ++axis) {
        const DimExpr dim = c.type().dim(-axis);
        spreads &= dim.is_constant(1) || DimExpr::ProvablyEqual(dim, product.type().dim(-axis));
      }
      if (!spreads) continue;
      const Value made = l.Node("Gemm", {a, b, c},
                                {{"transA", l.Int(IntOf(*node, "transA", 0))},
                                 {"transB", l.Int(IntOf(*node, "transB", 0))}});
      Replace(l, made, {product});
      return true;
    }
    return false;
  }

  // x * k + c with a number for each channel: a norm with the mean 0 and the variance 1.
  void BatchNormalization(Lowering& l) {
    const Value product = l.operand(0);
    Operation* const mul = OwnNode(product, "Mul");
    if (mul == nullptr) return;
    const Value x = mul->operand(0);
    if (!IsF32OrF64(x.type()) || x.type().rank() < 3) return;
    const PerAxis k = PerAxisOf(mul->operand(1), x.type()), c = PerAxisOf(l.operand(1), x.type());
    if (!k || !c || k.axis != 1 || c.axis != 1) return;
    const DType dtype = x.type().dtype();
    const Value made = l.Node(
        "BatchNormalization",
        {x, Vector(l, k, k.size), Vector(l, c, c.size), l.Scalar(dtype, 0, std::span(&k.size, 1)),
         l.Scalar(dtype, 1, std::span(&k.size, 1))},
        {{"epsilon", l.Float(0)}});
    Replace(l, made, {product});
  }

  bool IsByte(DType dtype) const {
    return dtype == DType::kI8 || dtype == DType::kU8 ||
           (opset_ >= 21 && (dtype == DType::kI16 || dtype == DType::kU16));
  }

  // The zero point as a constant of the quantized type; null if it is none. Absent: zeros. It is
  // `sign` times what `zero` holds.
  Value ZeroPoint(Lowering& l, const PerAxis& zero, const PerAxis& scale, DType dtype,
                  double sign = 1) {
    const int64_t size = scale.axis < 0 ? -1 : scale.size;
    if (!zero) return l.Scalar(dtype, 0, std::span(&size, size < 0 ? 0 : 1));
    if (zero.axis >= 0 && zero.axis != scale.axis) return Value();
    std::vector<std::byte> bytes;
    const Range range = RangeOf(dtype);
    for (int64_t i = 0; i < std::max<int64_t>(size, 1); ++i) {
      const double value = sign * zero.value.ElementAsDouble(zero.size == 1 ? 0 : i);
      if (value != std::round(value) || value < range.min || value > range.max) return Value();
      bytes.resize(bytes.size() + SizeOf(dtype));
      StoreFromDouble(dtype, value, bytes.data() + bytes.size() - SizeOf(dtype));
    }
    const Type type = Type::Tensor(l.context(), dtype, std::span(&size, size < 0 ? 0 : 1));
    const auto made = core::ConstantOp::Create(
        l.builder(), l.op().location(), {.value = Attribute::Elements(l.context(), type, bytes)});
    return made.ok() ? made->out() : Value();
  }

  static Lowering::Attrs AxisOf(const Lowering& l, const PerAxis& scale) {
    if (scale.axis < 0) return {};
    return {{"axis", l.Int(scale.axis)}};
  }

  // (cast(q) - zero) * scale, with a difference or with a sum
  void DequantizeLinear(Lowering& l) {
    const Value difference = l.operand(0);
    Operation* const add = OwnNode(difference, "Add");
    Operation* const sub = add != nullptr ? add : OwnNode(difference, "Sub");
    const Value wide = sub != nullptr ? sub->operand(0) : difference;
    Operation* const cast = OwnNode(wide, "Cast");
    if (cast == nullptr || IntOf(*cast, "to", 0) != onnxpb::TensorProto::FLOAT) return;
    const Value q = cast->operand(0);
    if (!q.type().is_tensor() || !IsByte(q.type().dtype())) return;
    const PerAxis scale = PerAxisOf(l.operand(1), q.type());
    const PerAxis zero =
        sub != nullptr ? PerAxisOf(BehindCast(sub->operand(1)), q.type()) : PerAxis();
    if (!scale || (sub != nullptr && !zero)) return;
    const Value point = ZeroPoint(l, zero, scale, q.type().dtype(), add != nullptr ? -1 : 1);
    if (!point) return;
    const Value made =
        l.Node("DequantizeLinear", {q, Vector(l, scale, scale.axis < 0 ? -1 : scale.size), point},
               AxisOf(l, scale));
    Replace(l, made, {difference});
  }

  // cast(clip(round(x / scale) + zero)), cut to the range of the type.
  void QuantizeLinear(Lowering& l) {
    const Type type = l.op().result().type();
    const Value clipped = l.operand(0);
    Operation* const clip = OwnNode(clipped, "Clip");
    if (clip == nullptr || clip->num_operands() != 3 || !type.is_tensor() || !IsByte(type.dtype()))
      return;
    const Range range = RangeOf(type.dtype());
    const Attribute min = ConstantOf(clip->operand(1)), max = ConstantOf(clip->operand(2));
    if (!min || !max || min.ElementAsDouble(0) != range.min || max.ElementAsDouble(0) != range.max)
      return;
    const Value sum = clip->operand(0);
    Operation* const add = OwnNode(sum, "Add");
    Operation* const round = OwnNode(add != nullptr ? add->operand(0) : sum, "Round");
    Operation* const div = round != nullptr ? OwnNode(round->operand(0), "Div") : nullptr;
    if (div == nullptr || !IsF32OrF64(div->operand(0).type()) ||
        div->operand(0).type().dtype() != DType::kF32) {
      return;
    }
    const Value x = div->operand(0);
    const PerAxis scale = PerAxisOf(div->operand(1), x.type());
    const PerAxis zero =
        add != nullptr ? PerAxisOf(BehindCast(add->operand(1)), x.type()) : PerAxis();
    if (!scale || (add != nullptr && !zero)) return;
    const Value point = ZeroPoint(l, zero, scale, type.dtype());
    if (!point) return;
    const Value made =
        l.Node("QuantizeLinear", {x, Vector(l, scale, scale.axis < 0 ? -1 : scale.size), point},
               AxisOf(l, scale));
    Replace(l, made, {clipped});
  }

  struct Range {
    double min = 0, max = 0;
  };
  static Range RangeOf(DType dtype) {
    const double span = std::ldexp(1, static_cast<int>(8 * SizeOf(dtype)));
    return IsUnsignedInt(dtype) ? Range{0, span - 1} : Range{-span / 2, span / 2 - 1};
  }

  const int64_t opset_;
  DimValues& dims_;
};

}  // namespace

absl::Status CombineNodes(Operation& function, int64_t opset, DimValues& dims) {
  std::vector<Operation*> nodes;
  function.Walk([&](Operation* op) {
    if (op->info().dialect() == "onnx" && !op->info().is_registered()) nodes.push_back(op);
  });
  Combiner combiner(opset, dims);
  for (Operation* node : nodes) {
    const absl::Status status = combiner.Visit(*node);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace tenon::onnx
