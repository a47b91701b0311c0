// Products of small matrices by tensor cores, and loads of their operands. All lanes of a warp call
// these functions together. Lane L has row L / 4 and the neighboring columns L % 4 * 2 and + 1 of
// each 8x8 matrix. For the .cu files only.
// The layout of operands is that of mma.m16n8k16 and ldmatrix in NVIDIA's PTX ISA.
#ifndef TENON_KERNELS_GPU_DEVICE_TENSOR_CORE_H_
#define TENON_KERNELS_GPU_DEVICE_TENSOR_CORE_H_

#include "kernels/gpu/device/device_code.h"

namespace tenon::kernels::gpu {

inline constexpr int kMatrix = 8;  // rows and columns of a matrix

// Two neighboring elements of 16 bits: what a lane has of a matrix.
template <typename T>
using Pair = Pack<T, 2>;

// Adds a 16x16 matrix by a 16x8 one to a 16x8 sum in f32.
// a: the matrices at rows 0 and 8 of the first 8 columns, then those of the last 8.
// b: rows 0 to 7, then rows 8 to 15. A lane's pair goes down a column: it has column L / 4 and
//    the rows L % 4 * 2 and + 1 of each.
// sum: two neighbors of the first 8 rows, then two of the last 8.
template <typename T>
__device__ inline void MultiplyAdd(float (&sum)[4], const Pair<T> (&a)[4], const Pair<T> (&b)[2]) {
#if defined(__CUDACC__)
  const auto word = [](const Pair<T>& pair) { return *reinterpret_cast<const uint32_t*>(&pair); };
  if constexpr (sizeof(T) != 2) {
    static_assert(sizeof(T) == 2);
  } else if constexpr (std::is_same_v<T, F16>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(word(a[0])), "r"(word(a[1])), "r"(word(a[2])), "r"(word(a[3])), "r"(word(b[0])),
          "r"(word(b[1])));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(word(a[0])), "r"(word(a[1])), "r"(word(a[2])), "r"(word(a[3])), "r"(word(b[0])),
          "r"(word(b[1])));
  }
#else
  // The exchange takes words of 64 bits: two pairs.
  const auto word = [](const Pair<T>& first, const Pair<T>& second) {
    const Pair<T> both[2] = {first, second};
    uint64_t bits;
    std::memcpy(&bits, both, sizeof(bits));
    return bits;
  };
  const auto pick = [](uint64_t bits, int lane, T(&to)[4]) {
    bits = __shfl_sync(kAllLanes, bits, lane);
    std::memcpy(static_cast<void*>(to), &bits, sizeof(bits));
  };
  const uint64_t rows[2] = {word(a[0], a[2]), word(a[1], a[3])}, columns = word(b[0], b[1]);
  const int lane = static_cast<int>(threadIdx.x % kWarp), row = lane / 4, column = lane % 4 * 2;
  for (int part = 0; part < 4; ++part) {
    T left[2][4], right[2][4];
    for (int i = 0; i < 2; ++i) {
      pick(rows[i], row * 4 + part, left[i]);
      pick(columns, (column + i) * 4 + part, right[i]);
    }
    for (int i = 0; i < 4; ++i) {
      for (int k = 0; k < 4; ++k) sum[i] += Widen(left[i / 2][k]) * Widen(right[i % 2][k]);
    }
  }
#endif
}

// Loads four matrices from shared memory, each transposed: a lane gets two neighbors of a column.
// Lane L gives the address of row L % 8 of matrix L / 8, a multiple of 16.
template <typename T>
__device__ inline void LoadTransposed(Pair<T> (&to)[4], const T* row) {
#if defined(__CUDACC__)
  uint32_t word[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
#pragma unroll
  for (int i = 0; i < 4; ++i) to[i] = *reinterpret_cast<const Pair<T>*>(&word[i]);
#else
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  for (int i = 0; i < 4; ++i) {
    for (int e = 0; e < 2; ++e) {
      const T* const from = __shfl_sync(kAllLanes, row, i * kMatrix + lane % 4 * 2 + e);
      to[i].at[e] = from[lane / 4];
    }
  }
#endif
}

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_DEVICE_TENSOR_CORE_H_
