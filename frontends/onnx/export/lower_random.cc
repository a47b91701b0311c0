// Random numbers.
#include "frontends/onnx/export/lowering.h"
#include "frontends/onnx/file/tensor.h"
#include "ir/dialect/random_ops.h"

namespace tenon::onnx {
namespace {

// Writes `node`, such as RandomUniform, or its form for a shape that only a run knows. ONNX has no
// streams: nodes without a seed draw what the runtime likes.
template <typename Attrs>
void Random(Lowering& l, std::string_view node, const Attrs& op, Lowering::Attrs attrs) {
  // Before opset 22 there are no numbers of bf16.
  const bool casts = op.to == DType::kBF16 && l.opset() < 22;
  attrs.emplace_back("dtype", l.Int(OnnxTypeOf(casts ? DType::kF32 : op.to)));
  if (op.seed) attrs.emplace_back("seed", l.Float(static_cast<float>(*op.seed)));
  bool known = true;
  std::vector<int64_t> shape;
  for (const DimExpr extent : op.shape) {
    known = known && extent.is_constant();
    if (known) shape.push_back(extent.constant());
  }
  Value drawn;
  if (known) {
    attrs.emplace_back("shape", l.IntList(shape));
    drawn = l.Node(node, {}, attrs);
  } else {
    const Value zeros = l.Node("ConstantOfShape", {l.Extents(op.shape)});
    drawn = l.Node(std::string(node) + "Like", {zeros}, attrs);
  }
  l.Done(casts ? l.Node("Cast", {drawn}, {{"to", l.Int(OnnxTypeOf(op.to))}}) : drawn);
}

}  // namespace

bool LowerRandom(Lowering& l) {
  if (l.op().id() == random::UniformOp::kId) {
    const auto attrs = random::UniformOp(&l.op()).attrs();
    Random(l, "RandomUniform", attrs, {{"low", l.Float(attrs.low)}, {"high", l.Float(attrs.high)}});
    return true;
  }
  if (l.op().id() == random::NormalOp::kId) {
    const auto attrs = random::NormalOp(&l.op()).attrs();
    Random(l, "RandomNormal", attrs,
           {{"mean", l.Float(attrs.mean)}, {"scale", l.Float(attrs.scale)}});
    return true;
  }
  return false;
}

}  // namespace tenon::onnx
