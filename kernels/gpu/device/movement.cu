// Elements moved unchanged: strided copies, parts of concat and split, gathers, padding.
#include "kernels/gpu/device/device_code.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kThreads = 256;

struct alignas(16) Bytes16 {
  uint64_t low, high;
};

// Calls f.template operator()<T>() for an unsigned type of `size` bytes.
template <typename F>
void DispatchSize(int size, F&& f) {
  switch (size) {
    case 1:
      f.template operator()<uint8_t>();
      break;
    case 2:
      f.template operator()<uint16_t>();
      break;
    case 4:
      f.template operator()<uint32_t>();
      break;
    case 8:
      f.template operator()<uint64_t>();
      break;
    default:
      f.template operator()<Bytes16>();
      break;
  }
}

// The largest power of two up to 16 that divides all of them.
int CommonSize(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  const uint64_t all = a | b | c | d | 16;
  return static_cast<int>(all & (0 - all));
}
uint64_t Address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

template <typename T>
__global__ void __launch_bounds__(kThreads) StridedCopy(TENON_GRID_CONSTANT StridedCopyParams p) {
  const T* in = As<T>(p.in) + p.offset;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    static_cast<T*>(p.out)[i] = in[Locate(p.at, i).at[0]];
  }
}

// Widths and pitches are in elements of T here.
template <typename T>
__global__ void __launch_bounds__(kThreads) PieceCopy(TENON_GRID_CONSTANT PieceCopyParams p) {
  const int64_t n = p.rows * p.width;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    int64_t row = i;
    const int64_t column = DivMod(row, p.width);
    static_cast<T*>(p.out)[row * p.out_pitch + column] = As<T>(p.in)[row * p.in_pitch + column];
  }
}

// Widths and strides are in elements of T here.
template <typename T>
__global__ void __launch_bounds__(kThreads) AppendRows(TENON_GRID_CONSTANT AppendRowsParams p) {
  const int64_t rows = p.batch * p.heads * p.length;
  const int64_t keys = rows * p.keys.width, n = keys + rows * p.values.width;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const AppendRowsParams::Part& part = i < keys ? p.keys : p.values;
    const int64_t to = i < keys ? i : i - keys;
    int64_t both = to;
    const int64_t column = DivMod(both, part.width), row = DivMod(both, p.length);
    int64_t b = both;
    const int64_t h = DivMod(b, p.heads);
    static_cast<T*>(part.present)[to] =
        row < p.past_len ? As<T>(part.past)[(both * p.past_len + row) * part.width + column]
                         : As<T>(part.now)[b * part.batch + h * part.head +
                                           (row - p.past_len) * part.row + column];
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) Gather(TENON_GRID_CONSTANT GatherParams p) {
  const int64_t n = p.outer * p.count * p.width;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    int64_t slice = i;
    const int64_t column = DivMod(slice, p.width);
    const int64_t which = DivMod(slice, p.count);
    const int64_t index = CheckedIndex(LoadIndex(p.indices, p.wide_indices, which), p.extent,
                                       p.error, DeviceError::kGatherIndex);
    static_cast<T*>(p.out)[i] =
        index < 0 ? T{} : As<T>(p.in)[(slice * p.extent + index) * p.width + column];
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    GatherElements(TENON_GRID_CONSTANT GatherElementsParams p) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const int64_t index = CheckedIndex(LoadIndex(p.indices, p.wide_indices, i), p.extent, p.error,
                                       DeviceError::kGatherElementsIndex);
    static_cast<T*>(p.out)[i] =
        index < 0 ? T{} : As<T>(p.in)[Locate(p.at, i).at[0] + index * p.step];
  }
}

__global__ void __launch_bounds__(kThreads) CheckRange(TENON_GRID_CONSTANT CheckRangeParams p) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const Positions<3> place = Locate(p.at, i);
    const int64_t v = LoadIndex(p.x, p.wide, place.at[0]);
    const int64_t low = LoadIndex(p.low, p.wide, place.at[1]);
    const int64_t high = LoadIndex(p.high, p.wide, place.at[2]);
    if (v < low || v > high) ReportRange(p.error, v, low, high, p.what);
    if (p.wide) {
      static_cast<int64_t*>(p.out)[i] = v;
    } else {
      static_cast<int32_t*>(p.out)[i] = static_cast<int32_t>(v);
    }
  }
}

// Where position `at` of an axis that is padded but not cut comes from; -1: from the constant.
__device__ inline int64_t PadSourceUncut(int64_t at, int64_t extent, PadMode mode) {
  if (at >= 0 && at < extent) return at;
  if (mode == PadMode::kConstant) return -1;
  if (mode == PadMode::kEdge) return at < 0 ? 0 : extent - 1;
  const int64_t period = mode == PadMode::kWrap ? extent : 2 * (extent - 1);
  if (period == 0) return 0;
  const int64_t rest = (at % period + period) % period;
  return rest < extent ? rest : period - rest;
}

// Where position `i` of a padded axis comes from: PadSource of kernels/calls/pad_source.h.
__device__ inline int64_t PadSource(int64_t i, int64_t extent, int64_t before, int64_t behind,
                                    PadMode mode) {
  const int64_t cut = before < 0 ? -before : 0, cut_behind = behind < 0 ? -behind : 0;
  const int64_t rest = extent - cut - cut_behind;
  if (cut + cut_behind == 0 || rest <= 0 || mode == PadMode::kConstant)
    return PadSourceUncut(i - before, extent, mode);
  return cut + PadSourceUncut(i - (before < 0 ? 0 : before), rest, mode);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) Pad(TENON_GRID_CONSTANT PadParams p) {
  const T value = p.value != nullptr ? *As<T>(p.value) : T{};
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    int64_t rest = i, from = 0;
    bool inside = true;
    for (int axis = p.rank - 1; axis >= 0; --axis) {
      const int64_t begin = p.begins[axis], extent = p.in_shape[axis];
      const int64_t at = PadSource(DivMod(rest, p.out_shape[axis]), extent, begin,
                                   p.out_shape[axis] - extent - begin, p.mode);
      inside = inside && at >= 0;
      from += at * p.strides[axis];
    }
    static_cast<T*>(p.out)[i] = inside ? As<T>(p.in)[from] : value;
  }
}

}  // namespace

void LaunchOn(StreamHandle stream, const StridedCopyParams& p) {
  DispatchSize(p.size, [&]<typename T>() {
    TENON_LAUNCH(StridedCopy<T>, BlocksFor(p.n, kThreads), kThreads, 0, stream, p);
  });
}

void LaunchOn(StreamHandle stream, const PieceCopyParams& params) {
  PieceCopyParams p = params;
  const int size =
      CommonSize(Address(p.in) | Address(p.out), static_cast<uint64_t>(p.width),
                 static_cast<uint64_t>(p.in_pitch), static_cast<uint64_t>(p.out_pitch));
  p.width /= size;
  p.in_pitch /= size;
  p.out_pitch /= size;
  DispatchSize(size, [&]<typename T>() {
    TENON_LAUNCH(PieceCopy<T>, BlocksFor(p.rows * p.width, kThreads), kThreads, 0, stream, p);
  });
}

void LaunchOn(StreamHandle stream, const AppendRowsParams& params) {
  AppendRowsParams p = params;
  uint64_t all = 0;
  for (const AppendRowsParams::Part* part : {&p.keys, &p.values}) {
    all |= Address(part->past) | Address(part->now) | Address(part->present);
    for (int64_t bytes : {part->width, part->batch, part->head, part->row}) {
      all |= static_cast<uint64_t>(bytes);
    }
  }
  const int size = CommonSize(all, 0, 0, 0);
  for (AppendRowsParams::Part* part : {&p.keys, &p.values}) {
    for (int64_t* bytes : {&part->width, &part->batch, &part->head, &part->row}) *bytes /= size;
  }
  const int64_t n = p.batch * p.heads * p.length * (p.keys.width + p.values.width);
  DispatchSize(size, [&]<typename T>() {
    TENON_LAUNCH(AppendRows<T>, BlocksFor(n, kThreads), kThreads, 0, stream, p);
  });
}

void LaunchOn(StreamHandle stream, const GatherParams& params) {
  GatherParams p = params;
  const int size = CommonSize(Address(p.in), Address(p.out), static_cast<uint64_t>(p.width), 16);
  p.width /= size;
  DispatchSize(size, [&]<typename T>() {
    TENON_LAUNCH(Gather<T>, BlocksFor(p.outer * p.count * p.width, kThreads), kThreads, 0, stream,
                 p);
  });
}

void LaunchOn(StreamHandle stream, const GatherElementsParams& p) {
  DispatchSize(p.size, [&]<typename T>() {
    TENON_LAUNCH(GatherElements<T>, BlocksFor(p.n, kThreads), kThreads, 0, stream, p);
  });
}

void LaunchOn(StreamHandle stream, const CheckRangeParams& p) {
  TENON_LAUNCH(CheckRange, BlocksFor(p.n, kThreads), kThreads, 0, stream, p);
}

void LaunchOn(StreamHandle stream, const PadParams& p) {
  DispatchSize(p.size, [&]<typename T>() {
    TENON_LAUNCH(Pad<T>, BlocksFor(p.n, kThreads), kThreads, 0, stream, p);
  });
}

}  // namespace tenon::kernels::gpu
