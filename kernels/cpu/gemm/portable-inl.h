// Vectors of four floats, which every compiler of interest maps to the registers of its target (see
// tile-inl.h).
#ifndef TENON_KERNELS_CPU_GEMM_PORTABLE_INL_H_
#define TENON_KERNELS_CPU_GEMM_PORTABLE_INL_H_

#include <cstdint>
#include <cstring>

namespace tenon::kernels::cpu {
namespace {

struct Portable {
  using Reg = float __attribute__((vector_size(16)));
  using Int = int32_t __attribute__((vector_size(16)));
  using Bits = uint32_t __attribute__((vector_size(16)));
  static constexpr int kLanes = 4;
  static constexpr int kMaxRows = 4;
  static constexpr int kRowsOfTwoPanels = 2;
  static constexpr int kRowsOfFourPanels = 1;
  static constexpr int kRowsOfStreams = 1;
  static constexpr int kSteps = 1;
  // Int8 tiles have twice the accumulators up to so many rows, and two factors beyond.
  static constexpr int kInt8SumRows = 2;
  static constexpr int kInt8Rows = 4;
  static constexpr int kInt8RowsOfTwoPanels = 1;

  static constexpr int kLookups = 0;

  static Reg Zero() { return Reg{}; }
  static Reg Set(float x) { return Reg{x, x, x, x}; }
  static Reg Load(const float* p) { return LoadN(p, kLanes); }
  static Reg LoadInt8(const int8_t* p) {
    return Reg{static_cast<float>(p[0]), static_cast<float>(p[1]), static_cast<float>(p[2]),
               static_cast<float>(p[3])};
  }
  static void Store(float* p, Reg x) { StoreN(p, x, kLanes); }
  // The first n <= kLanes elements, zeros beyond.
  static Reg LoadN(const float* p, int64_t n) {
    Reg x = {};
    std::memcpy(&x, p, static_cast<size_t>(n) * sizeof(float));
    return x;
  }
  static void StoreN(float* p, Reg x, int64_t n) {
    std::memcpy(p, &x, static_cast<size_t>(n) * sizeof(float));
  }
  static Reg Add(Reg a, Reg b) { return a + b; }
  static Reg Fma(Reg a, Reg b, Reg c) { return a * b + c; }
  static Reg Select(Int mask, Reg x, Reg y) {
    return reinterpret_cast<Reg>((mask & reinterpret_cast<Int>(x)) |
                                 (~mask & reinterpret_cast<Int>(y)));
  }
  static Reg MaxKeepingNan(Reg x, Reg bound) { return Select(x < bound, bound, x); }
  static Reg MinKeepingNan(Reg x, Reg bound) { return Select(x > bound, bound, x); }
  static Reg IfLess(Reg a, Reg b, Reg x, Reg y) { return Select(a < b, x, y); }
  // x * 2^n for the n + 254 in the lowest nine bits; two factors, because 2^n itself may not be
  // representable. NaN stays whatever it is multiplied with.
  static Reg ScaleByBits(Reg x, Reg bits) {
    const auto sum = reinterpret_cast<Bits>(bits), half = sum >> 1;
    return x * reinterpret_cast<Reg>(half << 23) * reinterpret_cast<Reg>((sum - half) << 23);
  }

  // Columns of a matrix as rows: out[q * out_row + i] = in[i * in_row + q] for q < cols, and 0 for
  // rows <= i < wanted.
  static void Transpose(const float* in, int64_t in_row, int64_t rows, int64_t cols, float* out,
                        int64_t out_row, int64_t wanted) {
    for (int64_t q = 0; q < cols; ++q) {
      for (int64_t i = 0; i < wanted; ++i) {
        out[q * out_row + i] = i < rows ? in[i * in_row + q] : 0.0f;
      }
    }
  }
};

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_PORTABLE_INL_H_
