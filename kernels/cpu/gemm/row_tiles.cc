#include "kernels/cpu/gemm/row_tiles.h"

#include "kernels/cpu/caches.h"
#include "kernels/cpu/isa.h"

namespace tenon::kernels::cpu {
namespace {

const GemmKernels& ChooseKernels() {
#if defined(__x86_64__)
  if (ActiveIsa() >= Isa::kAvx512) return GemmKernelsAvx512();
  if (ActiveIsa() >= Isa::kAvx2) return GemmKernelsAvx2();
#endif
  return GemmKernelsPortable();
}

}  // namespace

const GemmKernels& ActiveGemmKernels() {
  static const GemmKernels& kernels = ChooseKernels();
  return kernels;
}

// Rows a multiple of 4 KiB apart do.
bool RowsCollide(int64_t a_row) {
  constexpr int64_t kPage = 4096 / sizeof(float);
  return a_row % kPage == 0;
}

RowTiles TilesOfPackedA(int64_t m) { return {m, ActiveGemmKernels().max_rows}; }

RowTiles TilesOf(const GemmArgs& g) {
  int64_t most = ActiveGemmKernels().max_rows;
  if (!g.a_packed && RowsCollide(g.a_row))
    most = std::min<int64_t>(most, ActiveCaches().first_ways);
  return {g.m, most};
}

}  // namespace tenon::kernels::cpu
