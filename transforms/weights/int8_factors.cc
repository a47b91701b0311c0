#include "transforms/weights/int8_factors.h"

#include <cstring>

namespace tenon {
namespace {

#if defined(__x86_64__) && defined(__GNUC__)
#define TENON_INT8_AVX2 1
#endif

struct FourLanes {
  using Floats [[gnu::vector_size(16)]] = float;
  using Bits [[gnu::vector_size(16)]] = int;
};
struct EightLanes {
  using Floats [[gnu::vector_size(32)]] = float;
  using Bits [[gnu::vector_size(32)]] = int;
};

// Written once over vectors, and inlined into a function for each instruction set. None of them has
// a fused multiply-add, which would round once instead of twice.
template <typename Lanes>
[[gnu::always_inline]] inline void ChooseLanes(const float* rows, size_t count, float* out) {
  using Floats = typename Lanes::Floats;
  using Bits = typename Lanes::Bits;
  constexpr int kCandidates = 8;
  const Floats zero = {};
  Floats x, largest = zero, not_finite = zero;
  for (size_t p = 0; p < count; ++p) {
    std::memcpy(&x, rows + p * kInt8Columns, sizeof(x));
    const Floats magnitude = reinterpret_cast<Floats>(reinterpret_cast<Bits>(x) & 0x7fffffff);
    largest = magnitude > largest ? magnitude : largest;
    not_finite += 0 * x;
  }
  Floats chosen = zero, least = zero;
  for (int candidate = 0; candidate < kCandidates; ++candidate) {
    const float steps = 127 - 0.5f * static_cast<float>(candidate);
    // Factors near the smallest number would have no inverse.
    const Floats factor = largest < 1e-35f ? zero : largest / steps;
    const Floats inverse = factor == 0 ? zero : 1 / factor;
    Floats error = zero;
    for (size_t p = 0; p < count; ++p) {
      std::memcpy(&x, rows + p * kInt8Columns, sizeof(x));
      const Floats off = x - factor * (x * inverse + kToInteger - kToInteger);
      error += off * off;
    }
    const Bits worse = error >= least;
    const Bits kept = candidate == 0 ? Bits{} : worse;
    least = kept ? least : error;
    chosen = kept ? chosen : factor;
  }
  chosen += not_finite;
  std::memcpy(out, &chosen, sizeof(chosen));
}

#ifdef TENON_INT8_AVX2
[[gnu::target("avx2")]] void ChooseAvx2(const float* rows, size_t count, float* out) {
  for (size_t first = 0; first < kInt8Columns; first += 8) {
    ChooseLanes<EightLanes>(rows + first, count, out + first);
  }
}
#endif

}  // namespace

Int8Columns ChooseInt8FactorsPortable(std::span<const Int8Columns> rows) {
  Int8Columns factors = {};
  for (size_t first = 0; first < kInt8Columns && !rows.empty(); first += 4) {
    ChooseLanes<FourLanes>(rows[0].data() + first, rows.size(), factors.data() + first);
  }
  return factors;
}

Int8Columns ChooseInt8Factors(std::span<const Int8Columns> rows) {
#ifdef TENON_INT8_AVX2
  if (__builtin_cpu_supports("avx2") && !rows.empty()) {
    Int8Columns factors;
    ChooseAvx2(rows[0].data(), rows.size(), factors.data());
    return factors;
  }
#endif
  return ChooseInt8FactorsPortable(rows);
}

Int8Columns InverseInt8Factors(const Int8Columns& factors) {
  Int8Columns inverse;
  for (size_t j = 0; j < kInt8Columns; ++j) inverse[j] = factors[j] == 0 ? 0 : 1 / factors[j];
  return inverse;
}

}  // namespace tenon
