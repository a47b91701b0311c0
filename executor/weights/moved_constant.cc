#include "executor/weights/moved_constant.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "executor/weights/large_constant.h"
#include "ir/base/element_order.h"
#include "ir/core/constants/blob.h"
#include "ir/core/constants/constant_bytes.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/core/constants/unpacked_blob.h"
#include "ir/core/context/context.h"
#include "ir/dialect/ten_ops.h"
#include "kernels/calls/strided_layout.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon {
namespace {

using kernels::Dims;
using kernels::StridedLayout;
using kernels::TensorView;

bool IsLargeConstant(Attribute elements) {
  return IsLargeElements(elements) && StoredBytes(elements) >= LargeConstant::kBytes;
}

// The copies that a layout makes, with as few loops as there can be.
ElementOrder OrderOf(const StridedLayout& layout, size_t element_bytes) {
  ElementOrder::Part part = {.plain = 0, .packed = layout.offset};
  int64_t plain = 1;
  for (size_t i = layout.shape.size(); i-- > 0;) {
    const int64_t count = layout.shape[i];
    if (count != 1) {
      ElementOrder::Loop* const last = part.loops.empty() ? nullptr : &part.loops.back();
      if (last != nullptr && layout.strides[i] == last->packed * last->count) {
        last->count *= count;
      } else {
        part.loops.push_back({.count = count, .plain = plain, .packed = layout.strides[i]});
      }
    }
    plain *= count;
  }
  return {.element_bytes = element_bytes, .parts = {std::move(part)}};
}

// Whether the copies take neighbors from neighbors.
bool IsSlice(const ElementOrder& order) {
  const std::vector<ElementOrder::Loop>& loops = order.parts.front().loops;
  return loops.empty() || (loops.size() == 1 && loops.front().packed == 1);
}

// Null: the kernel has to compute it.
Attribute Moved(Context& context, const ConstantBytes& from, const StridedLayout& layout,
                const TensorView& result) {
  const auto size = static_cast<size_t>(result.bytes());
  const size_t element = SizeOf(result.dtype);
  const Type type = Type::Tensor(context, result.dtype, result.shape);
  ElementOrder order = OrderOf(layout, element);
  if (!Fits(order, size, from.size())) return Attribute();
  if (IsSlice(order) && from.stored() != nullptr && size >= LargeConstant::kBytes) {
    const auto first = static_cast<size_t>(layout.offset) * element;
    return Attribute::Elements(
        context, type, Blob::OfFile(from.stored()->bytes().subspan(first, size), from.stored()));
  }
  const std::shared_ptr<const DeferredBlob> deferred = UnpackedBlob(std::move(order), from, size);
  if (size >= LargeConstant::kBytes) return DeferredElements(context, type, deferred);
  const std::shared_ptr<const Blob> bytes = deferred->Bytes();
  return bytes != nullptr ? Attribute::Elements(context, type, bytes) : Attribute();
}

std::optional<std::vector<Attribute>> Joined(Context& context, std::span<const Attribute> constants,
                                             const TensorView& result, int64_t axis) {
  std::vector<ConstantBytes> parts;
  for (const Attribute constant : constants) {
    if (!IsLargeConstant(constant)) return std::nullopt;
    parts.emplace_back(constant);
    for (const std::shared_ptr<const Blob>& source : parts.back().sources()) source->DropPages();
  }
  size_t rows = 1;
  for (int64_t i = 0; i < axis; ++i) rows *= static_cast<size_t>(result.shape[i]);
  return {{DeferredElements(context, Type::Tensor(context, result.dtype, result.shape),
                            JoinBlobs(rows, std::move(parts)))}};
}

}  // namespace

bool OnlyMoves(const Operation& op) {
  return Isa<ten::ConcatOp>(op) || Isa<ten::SplitOp>(op) || Isa<ten::SliceOp>(op) ||
         Isa<ten::TransposeOp>(op);
}

std::optional<std::vector<Attribute>> MoveConstants(const Operation& op,
                                                    std::span<const Attribute> constants,
                                                    std::span<const TensorView> operands,
                                                    std::span<const TensorView> results,
                                                    const void* attrs) {
  Context& context = op.context();
  if (Isa<ten::ConcatOp>(op))
    return Joined(context, constants, results[0],
                  kernels::NormalizeAxis(op.attr("axis").int_value(), results[0].rank()));
  if (!IsLargeConstant(constants[0])) return std::nullopt;
  const ConstantBytes from(constants[0]);
  if (!from.of_files()) return std::nullopt;
  StridedLayout layout;
  const kernels::RunArgs args = {.inputs = operands, .outputs = results, .attrs = attrs};
  if (Isa<ten::SplitOp>(op)) {
    layout.strides = kernels::RowMajorStrides(operands[0].shape);
  } else {
    const kernels::LayoutFn fn =
        Isa<ten::SliceOp>(op) ? kernels::SliceLayout : kernels::TransposeLayout;
    if (!fn(args, layout).ok()) return std::nullopt;
  }
  std::vector<Attribute> moved;
  for (const TensorView& result : results) {
    layout.shape = kernels::ToDims(result.shape);
    moved.push_back(Moved(context, from, layout, result));
    if (!moved.back()) return std::nullopt;
    if (!Isa<ten::SplitOp>(op)) continue;
    const auto axis = static_cast<size_t>(
        kernels::NormalizeAxis(op.attr("axis").int_value(), operands[0].rank()));
    layout.offset += result.shape[axis] * layout.strides[axis];
  }
  for (const std::shared_ptr<const Blob>& source : from.sources()) source->DropPages();
  return moved;
}

}  // namespace tenon
