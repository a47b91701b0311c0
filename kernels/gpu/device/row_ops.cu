// Softmax, norms and embeddings: one block a row, reductions in registers and shared memory.
#include "kernels/gpu/device/device_code.h"
#include "kernels/gpu/device/vector_rows.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kMostThreads = 256;

template <typename T>
__global__ void __launch_bounds__(kMostThreads) Softmax(TENON_GRID_CONSTANT SoftmaxParams p) {
  __shared__ float parts[kWarp];
  for (int64_t row = blockIdx.x; row < p.outer * p.inner; row += gridDim.x) {
    int64_t outer = row;
    const int64_t column = DivMod(outer, p.inner);
    const int64_t first = outer * p.n * p.inner + column;
    const T* in = As<T>(p.in) + first;
    T* out = static_cast<T*>(p.out) + first;
    float most = -INFINITY, sum = 0;
    for (int64_t i = threadIdx.x; i < p.n; i += blockDim.x) {
      most = fmaxf(most, Widen(in[i * p.inner]));
    }
    most = BlockMax(most, parts);
    for (int64_t i = threadIdx.x; i < p.n; i += blockDim.x) {
      sum += expf(Widen(in[i * p.inner]) - most);
    }
    sum = BlockSum(sum, parts);
    const float log_sum = logf(sum);
    for (int64_t i = threadIdx.x; i < p.n; i += blockDim.x) {
      const float shifted = Widen(in[i * p.inner]) - most;
      out[i * p.inner] = Narrow<T>(p.log ? shifted - log_sum : expf(shifted) / sum);
    }
  }
}

// The moments of a row that this block has just written, each thread its own elements.
template <typename T>
__device__ inline Moments MomentsOfRow(const T* row, int64_t n, NormKind kind, float epsilon,
                                       float* parts) {
  const auto sum_of = [&](auto f) {
    float part = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) part += f(Widen(row[i]));
    return BlockSum(part, parts);
  };
  return MomentsOf(sum_of, static_cast<float>(n), kind, epsilon);
}

template <typename T>
__global__ void __launch_bounds__(kMostThreads) Norm(TENON_GRID_CONSTANT NormParams p) {
  __shared__ float parts[kWarp];
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const Positions<4> base = Locate(p.outer, row);
    T* out = static_cast<T*>(p.out) + row * p.n;
    for (int64_t i = threadIdx.x; i < p.n; i += blockDim.x) {
      const Positions<4> at = Locate(p.inner, i);
      float v = Widen(As<T>(p.in[0])[base.at[0] + at.at[0]]);
      if (p.in[1] != nullptr) v += Widen(As<T>(p.in[1])[base.at[1] + at.at[1]]);
      out[i] = Narrow<T>(v);
      if (p.sum != nullptr) static_cast<T*>(p.sum)[row * p.n + i] = out[i];
    }
    const Moments m = MomentsOfRow(out, p.n, p.kind, p.epsilon, parts);
    for (int64_t i = threadIdx.x; i < p.n; i += blockDim.x) {
      const Positions<4> at = Locate(p.inner, i);
      float v = m.Of(Widen(out[i]));
      if (p.in[2] != nullptr) v *= Widen(As<T>(p.in[2])[base.at[2] + at.at[2]]);
      if (p.in[3] != nullptr) v += Widen(As<T>(p.in[3])[base.at[3] + at.at[3]]);
      out[i] = Narrow<T>(v);
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kMostThreads) Embedding(TENON_GRID_CONSTANT EmbeddingParams p) {
  __shared__ float parts[kWarp];
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    constexpr int kMostTables = EmbeddingParams::kMostTables;
    const Positions<kMostTables + 1> base = Locate(p.outer, row);
    int64_t from[kMostTables];
    for (int k = 0; k < p.num_tables; ++k) {
      from[k] = CheckedIndex(LoadIndex(p.ids[k], p.wide_ids[k], base.at[k]), p.table_rows[k],
                             p.error, DeviceError::kEmbeddingIndex);
    }
    T* out = static_cast<T*>(p.out) + row * p.n;
    for (int64_t i = threadIdx.x; i < p.n; i += blockDim.x) {
      T v = Narrow<T>(0.0f);
      for (int k = 0; k < p.num_tables; ++k) {
        if (from[k] < 0) continue;
        const T w = As<T>(p.tables[k])[from[k] * p.n + i];
        v = k == 0 ? w : Narrow<T>(Widen(v) + Widen(w));
      }
      if (p.added != nullptr) {
        v = Narrow<T>(Widen(v) + Widen(As<T>(p.added)[base.at[kMostTables] + i * p.added_step]));
      }
      out[i] = v;
      if (p.sum != nullptr) static_cast<T*>(p.sum)[row * p.n + i] = v;
    }
    if (p.kind == NormKind::kNone) continue;
    const Moments m = MomentsOfRow(out, p.n, p.kind, p.epsilon, parts);
    for (int64_t i = threadIdx.x; i < p.n; i += blockDim.x) {
      float v = m.Of(Widen(out[i]));
      if (p.scale != nullptr) v *= Widen(As<T>(p.scale)[i]);
      if (p.bias != nullptr) v += Widen(As<T>(p.bias)[i]);
      out[i] = Narrow<T>(v);
    }
  }
}

}  // namespace

void LaunchOn(StreamHandle stream, const SoftmaxParams& p) {
  DispatchFloats(p.dtype, [&]<typename T>() {
    TENON_LAUNCH(Softmax<T>, BlocksFor(p.outer * p.inner, 1), ThreadsForRow(p.n, kMostThreads), 0,
                 stream, p);
  });
}

void LaunchOn(StreamHandle stream, const NormParams& p) {
  if (LaunchVectors(stream, p)) return;
  DispatchFloats(p.dtype, [&]<typename T>() {
    TENON_LAUNCH(Norm<T>, BlocksFor(p.rows, 1), ThreadsForRow(p.n, kMostThreads), 0, stream, p);
  });
}

void LaunchOn(StreamHandle stream, const EmbeddingParams& p) {
  if (LaunchVectors(stream, p)) return;
  DispatchFloats(p.dtype, [&]<typename T>() {
    TENON_LAUNCH(Embedding<T>, BlocksFor(p.rows, 1), ThreadsForRow(p.n, kMostThreads), 0, stream,
                 p);
  });
}

}  // namespace tenon::kernels::gpu
