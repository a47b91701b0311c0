// Kernels that copy rows between several tensors: concat, split, gather.
#include <cstring>
#include <vector>

#include "kernels/cpu/copy_plan.h"
#include "kernels/cpu/support.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

constexpr int64_t kGrainBytes = 4 * cpu::kGrain;

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
  if (outer > 1 || row <= kGrainBytes) {
    parallel(outer, std::max<int64_t>(1, kGrainBytes / row), copy);
    return KernelStatus::Ok();
  }
  // Parts that lie one behind the other.
  char* at = whole.as<char>();
  for (const TensorView& part : parts) {
    const int64_t bytes = part.shape[axis] * inner;
    char* other = part.as<char>();
    if (at != other) {
      parallel(bytes, kGrainBytes, [=](int64_t begin, int64_t end) {
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

// Which rows are read: known before the first run if the indices are constant.
struct GatherState final : KernelState {
  int64_t outer = 0, extent = 0, count = 0, bytes = 0;  // bytes: of one row
  std::vector<int64_t> rows;                            // of constant indices
};

KernelStatus FindRow(const TensorView& indices, int64_t i, int64_t extent, int64_t& row) {
  const int64_t index = IndexAt(indices, i);
  if (index < -extent || index >= extent) {
    return KernelStatus::Invalid("index " + std::to_string(index) +
                                 " is out of range for an axis of " + std::to_string(extent) +
                                 " elements");
  }
  row = index < 0 ? index + extent : index;
  return KernelStatus::Ok();
}

KernelStatus PrepareGather(PrepareArgs& args, std::shared_ptr<KernelState>& state) {
  const TensorView &x = args.inputs[0], &indices = args.inputs[1];
  const int64_t axis =
      NormalizeAxis(static_cast<const ten::GatherAttrs*>(args.attrs)->axis, x.rank());
  auto made = std::make_shared<GatherState>();
  made->outer = Product(x.shape.first(axis));
  made->extent = x.shape[axis];
  made->count = indices.numel();
  made->bytes = Product(x.shape.subspan(axis + 1)) * static_cast<int64_t>(SizeOf(x.dtype));
  // Wrong indices are found by the run.
  bool known = indices.data != nullptr;
  for (int64_t i = 0; i < made->count && known; ++i) {
    int64_t row = 0;
    known = FindRow(indices, i, made->extent, row).ok();
    made->rows.push_back(row);
  }
  if (!known) made->rows.clear();
  state = std::move(made);
  return KernelStatus::Ok();
}

KernelStatus Gather(const RunArgs& args) {
  const auto& state = *static_cast<const GatherState*>(args.state);
  const TensorView& indices = args.inputs[1];
  const bool known = !state.rows.empty();
  for (int64_t i = 0; i < state.count && !known; ++i) {
    int64_t row = 0;
    if (KernelStatus status = FindRow(indices, i, state.extent, row); !status.ok()) return status;
  }
  const int64_t bytes = state.bytes, all = state.outer * state.count;
  if (bytes == 0 || all == 0) return KernelStatus::Ok();
  const char* from = args.inputs[0].as<char>();
  char* to = args.outputs[0].as<char>();
  const cpu::CopyBlocks& blocks = cpu::GetCopyBlocks();
  const auto copy = [&](int64_t begin, int64_t end) {
    int64_t o = begin / state.count, i = begin % state.count;
    for (int64_t r = begin; r < end; ++o, i = 0) {
      const char* base = from + o * state.extent * bytes;
      const int64_t last = std::min(state.count, i + end - r);
      if (known) {
        blocks.pick(base, state.rows.data() + i, to + r * bytes, last - i, bytes);
      } else {
        for (int64_t k = i; k < last; ++k) {
          int64_t row = IndexAt(indices, k);
          row = row < 0 ? row + state.extent : row;
          blocks.pick(base, &row, to + (r + k - i) * bytes, 1, bytes);
        }
      }
      r += last - i;
    }
  };
  (*args.device->parallel)(all, std::max<int64_t>(1, kGrainBytes / bytes), copy);
  return KernelStatus::Ok();
}

}  // namespace

Kernel CpuConcat() {
  return {.op = "ten.concat", .name = "cpu.concat", .priority = 10, .run = Concat};
}
Kernel CpuGather() {
  return {.op = "ten.gather",
          .name = "cpu.gather",
          .priority = 10,
          .run = Gather,
          .prepare = PrepareGather,
          .unaligned_inputs = 1};
}
Kernel CpuSplit() { return {.op = "ten.split", .name = "cpu.split", .priority = 10, .run = Split}; }

}  // namespace tenon::kernels
