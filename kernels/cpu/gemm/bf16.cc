#include "kernels/cpu/gemm/bf16.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/gemm/tile.h"
#include "kernels/cpu/isa.h"

namespace tenon::kernels::cpu {

bool HasBf16() { return ActiveIsa() >= Isa::kAvx512Bf16; }

std::string PackedLayoutOfBf16B(int64_t k, int64_t n) {
  return "gemm.bf16." + std::to_string(GemmPanel()) + "x" + std::to_string(k) + "x" +
         std::to_string(n);
}

void PackBf16B(const Bf16Matrix& b, int64_t k, int64_t n, float* packed, ParallelFor& parallel) {
  const int64_t panel = GemmPanel(), pairs = Bf16Pairs(k);
  parallel(GemmPanels(n), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t cols = std::min(panel, n - i * panel);
      auto* out = reinterpret_cast<uint16_t*>(packed + i * panel * pairs);
      const uint16_t* in = b.data + i * panel * b.col;
      std::fill(out, out + 2 * panel * pairs, uint16_t{0});
      for (int64_t p = 0; p < k; ++p) {
        uint16_t* row = out + p / 2 * 2 * panel + p % 2;
        for (int64_t j = 0; j < cols; ++j) row[2 * j] = in[p * b.row + j * b.col];
      }
    }
  });
}

int64_t Bf16RowOfA(int64_t k) { return RowOfCopiedA(Bf16Pairs(k)); }

void ConvertToBf16(const float* a, int64_t m, int64_t k, float* pairs, ParallelFor& parallel) {
#if defined(__x86_64__)
  const int64_t row = Bf16RowOfA(k), grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, k));
  parallel(m, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ConvertToBf16Avx512Bf16(a + i * k, k, pairs + i * row);
  });
#endif
}

}  // namespace tenon::kernels::cpu
