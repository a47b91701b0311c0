// Kernels that copy rows between several tensors: concat, split.
#include <cstring>

#include "kernels/cpu/movement/copy_plan.h"
#include "kernels/cpu/support.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

constexpr int64_t kRowGrainBytes = 4 * cpu::kGrain;

// Copies between `whole` (outer rows of all parts' bytes) and `parts`, in the direction of kJoin.
template <bool kJoin>
KernelStatus CopyParts(const RunArgs& args, const TensorView& whole,
                       std::span<const TensorView> parts, int64_t axis) {
  axis = NormalizeAxis(axis, whole.rank());
  const int64_t outer = Product(whole.shape.first(axis));
  const int64_t inner =
      Product(whole.shape.subspan(axis + 1)) * static_cast<int64_t>(SizeOf(whole.dtype));
  const int64_t row = whole.shape[axis] * inner;
  if (row * outer == 0) return KernelStatus::Ok();
  ParallelFor& parallel = *args.device->parallel;
  const cpu::CopyBlocks& blocks = cpu::GetCopyBlocks();
  const auto copy = [&](int64_t begin, int64_t end) {
    char* at = whole.as<char>();
    for (const TensorView& part : parts) {
      const int64_t bytes = part.shape[axis] * inner;
      if (bytes == 0) continue;
      char *one = at + begin * row, *other = part.as<char>() + begin * bytes;
      // The memory plan may have put the part where it belongs.
      if (one == other) {
        at += bytes;
        continue;
      }
      if (kJoin) {
        blocks.rows(other, bytes, one, row, end - begin, bytes);
      } else {
        blocks.rows(one, row, other, bytes, end - begin, bytes);
      }
      at += bytes;
    }
  };
  if (outer > 1 || row <= kRowGrainBytes) {
    parallel(outer, std::max<int64_t>(1, kRowGrainBytes / row), copy);
    return KernelStatus::Ok();
  }
  // Parts that lie one behind the other.
  char* at = whole.as<char>();
  for (const TensorView& part : parts) {
    const int64_t bytes = part.shape[axis] * inner;
    char* other = part.as<char>();
    if (at != other) {
      parallel(bytes, kRowGrainBytes, [=](int64_t begin, int64_t end) {
        std::memcpy((kJoin ? at : other) + begin, (kJoin ? other : at) + begin,
                    static_cast<size_t>(end - begin));
      });
    }
    at += bytes;
  }
  return KernelStatus::Ok();
}

KernelStatus Concat(const RunArgs& args) {
  return CopyParts<true>(args, args.outputs[0], args.inputs, args.get<ten::ConcatAttrs>().axis);
}

KernelStatus Split(const RunArgs& args) {
  return CopyParts<false>(args, args.inputs[0], args.outputs, args.get<ten::SplitAttrs>().axis);
}

}  // namespace

Kernel CpuConcat() {
  return {.op = "ten.concat", .name = "cpu.concat", .priority = 10, .run = Concat};
}
Kernel CpuSplit() { return {.op = "ten.split", .name = "cpu.split", .priority = 10, .run = Split}; }

}  // namespace tenon::kernels
