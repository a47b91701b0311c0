// Fourier transforms, object detection and convolutions with offsets.
#include "frontends/onnx/export/lowering.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

Lowering::Attrs TransformAttrs(const Lowering& l, bool inverse, bool onesided) {
  Lowering::Attrs attrs;
  if (inverse) attrs.emplace_back("inverse", l.Int(1));
  if (onesided) attrs.emplace_back("onesided", l.Int(1));
  return attrs;
}

void Dft(Lowering& l) {
  const auto attrs = ten::DftOp(&l.op()).attrs();
  Lowering::Attrs made = TransformAttrs(l, attrs.inverse, attrs.onesided);
  std::vector<Value> inputs = {l.operand(0), Value()};
  if (attrs.length > 0) inputs[1] = l.Scalar(DType::kI64, static_cast<double>(attrs.length));
  if (l.opset() < 20) {
    made.emplace_back("axis", l.Int(attrs.axis));
  } else {
    inputs.push_back(l.Scalar(DType::kI64, static_cast<double>(attrs.axis)));
  }
  l.Done(l.Node("DFT", inputs, made));
}

// An operand of one element as an i64 scalar.
Value OneNumber(Lowering& l, Value x) {
  if (!x) return x;
  const Value number = l.ToI64(x);
  const bool scalar = x.type().is_tensor() && x.type().rank() == 0;
  return scalar ? number : l.Node("Reshape", {number, l.Ints(std::span<const int64_t>())});
}

void DynamicDft(Lowering& l) {
  const ten::DynamicDftOp op(&l.op());
  const auto attrs = op.attrs();
  Lowering::Attrs made = TransformAttrs(l, attrs.inverse, attrs.onesided);
  std::vector<Value> inputs = {op.x(), OneNumber(l, op.length())};
  const Operation* axis = op.axis().defining_op();
  if (l.opset() >= 20) {
    inputs.push_back(OneNumber(l, op.axis()));
  } else if (axis != nullptr && axis->id() == core::ConstantOp::kId) {
    made.emplace_back("axis", l.Int(axis->attr("value").ElementAsInt(0)));
  } else {
    l.Needs(20, "DFT along an axis that only a run knows");
    return;
  }
  l.Done(l.Node("DFT", inputs, made));
}

void DeformConv(Lowering& l) {
  const nn::DeformConvOp op(&l.op());
  const auto attrs = op.attrs();
  l.Done(l.Node("DeformConv", {op.x(), op.w(), op.offset(), op.bias(), op.mask()},
                {{"strides", l.IntList(attrs.strides)},
                 {"pads", l.IntList(attrs.pads)},
                 {"dilations", l.IntList(attrs.dilations)},
                 {"group", l.Int(attrs.group)},
                 {"offset_group", l.Int(attrs.offset_group)}}));
}

void RoiAlign(Lowering& l) {
  const nn::RoiAlignOp op(&l.op());
  const auto attrs = op.attrs();
  Lowering::Attrs made = {{"output_height", l.Int(attrs.output_height)},
                          {"output_width", l.Int(attrs.output_width)},
                          {"sampling_ratio", l.Int(attrs.sampling_ratio)},
                          {"spatial_scale", l.Float(attrs.spatial_scale)},
                          {"mode", l.Str(attrs.mode)}};
  // Nodes without the attribute have the second mode.
  const std::optional<NodeForm> form = FormOf("RoiAlign", l.opset());
  if (attrs.half_pixel || (form && form->HasAttribute("coordinate_transformation_mode"))) {
    made.emplace_back("coordinate_transformation_mode",
                      l.Str(attrs.half_pixel ? "half_pixel" : "output_half_pixel"));
  }
  l.Done(l.Node("RoiAlign", {op.x(), op.rois(), l.ToI64(op.batch_indices())}, made));
}

void NonMaxSuppression(Lowering& l) {
  const nn::NonMaxSuppressionOp op(&l.op());
  l.Done(
      l.Node("NonMaxSuppression",
             {op.boxes(), op.scores(), op.max_output(), op.iou_threshold(), op.score_threshold()},
             {{"center_point_box", l.Int(op.center_point_box() ? 1 : 0)}}));
}

}  // namespace

bool LowerSignal(Lowering& l) {
  switch (l.op().id()) {
    case ten::DftOp::kId:
      Dft(l);
      return true;
    case ten::DynamicDftOp::kId:
      DynamicDft(l);
      return true;
    case nn::DeformConvOp::kId:
      DeformConv(l);
      return true;
    case nn::RoiAlignOp::kId:
      RoiAlign(l);
      return true;
    case nn::NonMaxSuppressionOp::kId:
      NonMaxSuppression(l);
      return true;
    default:
      return false;
  }
}

}  // namespace tenon::onnx
