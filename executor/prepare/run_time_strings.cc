// Shapes of strings and images, which only their values tell.
#include "executor/attr_decode.h"
#include "executor/prepare/kernel_call.h"
#include "executor/prepare/run_time_shapes_internal.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/dialect/image_ops.h"
#include "ir/dialect/str_ops.h"
#include "kernels/calls/found_results.h"
#include "kernels/images/image_file.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"
#include "kernels/strings/string_list.h"

namespace tenon::run_time_shapes {
namespace {

using kernels::KernelStatus;
using kernels::TensorView;

Shape ShapeOf(const TensorView& view) { return Shape(view.shape.begin(), view.shape.end()); }

absl::StatusOr<kernels::StringList> MadeStrings(const OpInfo& info, const void* attrs,
                                                std::span<const TensorView> operands) {
  kernels::StringList made;
  KernelStatus status;
  switch (info.id()) {
    case str::ConcatOp::kId:
      status = kernels::ConcatStrings(operands, made);
      break;
    case str::ChangeCaseOp::kId: {
      const auto& of_case = *static_cast<const str::ChangeCaseAttrs*>(attrs);
      status = kernels::ChangeCase(operands, of_case.to == str::ChangeCaseTo::kUpper, made);
      break;
    }
    case str::FromNumberOp::kId:
      status = kernels::WriteNumbers(operands, made);
      break;
    default:
      status = kernels::PackStrings(operands, made);
  }
  TENON_RETURN_IF_ERROR(ToStatus(status));
  return made;
}

absl::StatusOr<Shapes> SplitShapes(const str::SplitAttrs& attrs,
                                   std::span<const TensorView> operands, KeptResults found) {
  kernels::SplitStrings made;
  TENON_RETURN_IF_ERROR(
      ToStatus(kernels::SplitEach(operands, attrs.delimiter, attrs.maxsplit, made)));
  Shape parts = ShapeOf(operands[0]);
  parts.push_back(made.most);
  kernels::KeepFound(std::move(made), found);
  return Shapes{std::move(parts), ShapeOf(operands[0])};
}

absl::StatusOr<Shapes> ImageShapes(const image::DecodeAttrs& attrs, const TensorView& file) {
  kernels::RgbImage decoded;
  TENON_RETURN_IF_ERROR(
      ToStatus(kernels::DecodeImageFile({file.as<uint8_t>(), static_cast<size_t>(file.numel())},
                                        kernels::ImagePart::kSize, decoded)));
  return Shapes{
      {decoded.height, decoded.width, attrs.format == image::DecodeFormat::kGrayscale ? 1 : 3}};
}

}  // namespace

bool MakesStrings(OpId op) {
  return op == str::ConcatOp::kId || op == str::ChangeCaseOp::kId || op == str::SplitOp::kId ||
         op == str::FromNumberOp::kId || op == str::PackOp::kId || op == image::DecodeOp::kId;
}

absl::StatusOr<Shapes> StringShapes(const OpInfo& info, std::span<const Attribute> slots,
                                    std::span<const TensorView> operands, KeptResults found) {
  for (const TensorView& operand : operands) {
    if (operand.data == nullptr && operand.numel() > 0) {
      return absl::FailedPreconditionError("the values of the operands are not known");
    }
  }
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<const void> attrs, DecodeAttrs(info, slots));
  if (info.id() == str::SplitOp::kId) {
    return SplitShapes(*static_cast<const str::SplitAttrs*>(attrs.get()), operands, found);
  }
  if (info.id() == image::DecodeOp::kId) {
    return ImageShapes(*static_cast<const image::DecodeAttrs*>(attrs.get()), operands[0]);
  }
  TENON_ASSIGN_OR_RETURN(kernels::StringList made, MadeStrings(info, attrs.get(), operands));
  Shape shape = ShapeOf(operands[0]);
  if (info.id() == str::ConcatOp::kId) {
    const kernels::Dims dims = kernels::BroadcastShape(operands[0].shape, operands[2].shape);
    shape.assign(dims.begin(), dims.end());
  }
  const auto size = static_cast<int64_t>(made.text.size());
  kernels::KeepFound(std::move(made), found);
  return Shapes{std::move(shape), {size}};
}

}  // namespace tenon::run_time_shapes
