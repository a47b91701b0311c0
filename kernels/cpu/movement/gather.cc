// Kernels that read at positions which a tensor of indices holds.
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/checked_index.h"
#include "kernels/cpu/movement/copy_plan.h"
#include "kernels/cpu/support.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

constexpr int64_t kGatherGrainBytes = 4 * cpu::kGrain;
constexpr int64_t kIndexBlock = 2048;  // positions that are found before their rows are copied

template <typename T>
bool FindRowsOf(const T* indices, int64_t n, int64_t extent, int64_t* rows) {
  bool wrong = false;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t index = indices[i];
    rows[i] = index + (index < 0 ? extent : 0);
    wrong |= static_cast<uint64_t>(rows[i]) >= static_cast<uint64_t>(extent);
  }
  return !wrong;
}

// The rows that indices `first` to `first + n` name; false if one of them is out of range.
bool FindRows(const TensorView& indices, int64_t first, int64_t n, int64_t extent, int64_t* rows) {
  if (indices.dtype == DType::kI64) {
    return FindRowsOf(indices.as<int64_t>() + first, n, extent, rows);
  }
  if (indices.dtype == DType::kI32) {
    return FindRowsOf(indices.as<int32_t>() + first, n, extent, rows);
  }
  for (int64_t i = 0; i < n; ++i) rows[i] = IndexAt(indices, first + i);
  return FindRowsOf(rows, n, extent, rows);
}

// About the first index that is out of range.
KernelStatus OutOfRange(const TensorView& indices, int64_t extent) {
  int64_t i = 0, row = 0;
  while (i + 1 < indices.numel() && FindRows(indices, i, 1, extent, &row)) ++i;
  return IndexOutOfRange(IndexAt(indices, i), extent);
}

// ---- gather ------------------------------------------------------------------------------------

// Which rows are read: known before the first run if the indices are constant.
struct GatherState final : KernelState {
  int64_t outer = 0, extent = 0, count = 0, bytes = 0;  // bytes: of one row
  std::vector<int64_t> rows;                            // of constant indices
};

KernelStatus PrepareGather(PrepareArgs& args, std::shared_ptr<KernelState>& state) {
  const TensorView &x = args.inputs[0], &indices = args.inputs[1];
  const int64_t axis =
      NormalizeAxis(static_cast<const ten::GatherAttrs*>(args.attrs)->axis, x.rank());
  auto made = std::make_shared<GatherState>();
  made->outer = Product(x.shape.first(axis));
  made->extent = x.shape[axis];
  made->count = indices.numel();
  made->bytes = Product(x.shape.subspan(axis + 1)) * static_cast<int64_t>(SizeOf(x.dtype));
  if (indices.data != nullptr) {
    made->rows.resize(static_cast<size_t>(made->count));
    // Wrong indices are found by the run.
    if (!FindRows(indices, 0, made->count, made->extent, made->rows.data())) made->rows.clear();
  }
  state = std::move(made);
  return KernelStatus::Ok();
}

template <size_t kBytes>
void PickSmall(const char* from, const int64_t* rows, char* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i, to += kBytes) {
    std::memcpy(to, from + rows[i] * static_cast<int64_t>(kBytes), kBytes);
  }
}

// Rows of the size of an element are copied as one.
void Pick(const cpu::CopyBlocks& blocks, const char* from, const int64_t* rows, char* to, int64_t n,
          int64_t bytes) {
  switch (bytes) {
    case 1:
      return PickSmall<1>(from, rows, to, n);
    case 2:
      return PickSmall<2>(from, rows, to, n);
    case 4:
      return PickSmall<4>(from, rows, to, n);
    case 8:
      return PickSmall<8>(from, rows, to, n);
    default:
      return blocks.pick(from, rows, to, n, bytes);
  }
}

KernelStatus Gather(const RunArgs& args) {
  const auto& state = *static_cast<const GatherState*>(args.state);
  const TensorView& indices = args.inputs[1];
  const bool known = !state.rows.empty();
  for (int64_t i = 0; i < state.count && !known; i += kIndexBlock) {
    int64_t rows[kIndexBlock];
    if (!FindRows(indices, i, std::min(kIndexBlock, state.count - i), state.extent, rows)) {
      return OutOfRange(indices, state.extent);
    }
  }
  const int64_t bytes = state.bytes, all = state.outer * state.count;
  if (bytes == 0 || all == 0) return KernelStatus::Ok();
  const char* from = args.inputs[0].as<char>();
  char* to = args.outputs[0].as<char>();
  const cpu::CopyBlocks& blocks = cpu::GetCopyBlocks();
  const auto copy = [&](int64_t begin, int64_t end) {
    int64_t found[kIndexBlock], found_from = -1;
    for (int64_t r = begin; r < end;) {
      const int64_t o = r / state.count, i = r % state.count, block = i / kIndexBlock * kIndexBlock;
      const int64_t last = std::min({state.count, block + kIndexBlock, i + end - r});
      const int64_t* rows = state.rows.data() + i;
      if (!known) {
        if (block != found_from) {
          FindRows(indices, block, std::min(kIndexBlock, state.count - block), state.extent, found);
          found_from = block;
        }
        rows = found + (i - block);
      }
      const char* base = from + o * state.extent * bytes;
      if (state.count > 1) {
        Pick(blocks, base, rows, to + r * bytes, last - i, bytes);
        r += last - i;
      } else if (state.extent > 1) {
        blocks.rows(base + *rows * bytes, state.extent * bytes, to + r * bytes, bytes, end - r,
                    bytes);
        r = end;
      } else {
        std::memcpy(to + r * bytes, base, static_cast<size_t>((end - r) * bytes));
        r = end;
      }
    }
  };
  (*args.device->parallel)(all, std::max<int64_t>(1, kGatherGrainBytes / bytes), copy);
  return KernelStatus::Ok();
}

// ---- gather_elements ---------------------------------------------------------------------------

// Rows are those of the last axis of the indices, whether it is the one that they are for or not.
KernelStatus GatherElements(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &indices = args.inputs[1], &out = args.outputs[0];
  const int64_t axis = NormalizeAxis(args.get<ten::GatherElementsAttrs>().axis, x.rank());
  const int64_t extent = x.shape[axis], last_axis = x.rank() - 1;
  for (int64_t d = 0; d <= last_axis; ++d) {
    if (d != axis && indices.shape[d] > x.shape[d]) {
      return KernelStatus::Invalid("indices have " + std::to_string(indices.shape[d]) +
                                   " elements on axis " + std::to_string(d) + ", x has " +
                                   std::to_string(x.shape[d]) + " (expected no more)");
    }
  }
  if (out.numel() == 0) return KernelStatus::Ok();
  Dims strides = RowMajorStrides(x.shape);
  const int64_t step = strides[static_cast<size_t>(axis)], size = indices.shape[last_axis];
  strides[static_cast<size_t>(axis)] = 0;
  strides.resize(static_cast<size_t>(last_axis));
  return DispatchSize(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::atomic<bool> wrong = false;
    const auto copy = [&](int64_t begin, int64_t end) {
      int64_t rows[kIndexBlock];
      StridedWalk<1> walk(indices.shape.first(last_axis), {strides}, begin);
      for (int64_t r = begin; r < end; ++r, walk.Next()) {
        for (int64_t first = 0; first < size; first += kIndexBlock) {
          const int64_t n = std::min(kIndexBlock, size - first), at = r * size + first;
          if (!FindRows(indices, at, n, extent, rows)) {
            wrong = true;
            return;
          }
          const T* from = x.as<T>() + walk[0];
          T* to = out.as<T>() + at;
          if (axis == last_axis) {
            for (int64_t i = 0; i < n; ++i) to[i] = from[rows[i]];
          } else {
            for (int64_t i = 0; i < n; ++i) to[i] = from[rows[i] * step + first + i];
          }
        }
      }
    };
    (*args.device->parallel)(out.numel() / size, cpu::RowGrain(size), copy);
    return wrong ? OutOfRange(indices, extent) : KernelStatus::Ok();
  });
}

}  // namespace

Kernel CpuGather() {
  return {.op = "ten.gather",
          .name = "cpu.gather",
          .priority = 10,
          .run = Gather,
          .prepare = PrepareGather,
          .unaligned_inputs = 1};
}

Kernel CpuGatherElements() {
  return {.op = "ten.gather_elements",
          .name = "cpu.gather_elements",
          .priority = 10,
          .run = GatherElements};
}

}  // namespace tenon::kernels
