#include "kernels/cpu/conv/tile.h"

#include <algorithm>

#include "kernels/cpu/conv/tile-inl.h"
#include "kernels/cpu/isa.h"

namespace tenon::kernels::cpu {

const TileKernels& Tiles() {
#if defined(__x86_64__)
  if (ActiveIsa() >= Isa::kAvx512) return TilesAvx512();
  if (ActiveIsa() >= Isa::kAvx2) return TilesAvx2();
#endif
  return kTiles;
}

int64_t BestGroup(const TileKernels& kernels, int64_t width) {
  const auto cost = [&](int64_t group) { return (width + group - 1) / group * (group + 1); };
  int64_t best = kernels.min_group;
  for (int64_t g = kernels.min_group; g <= std::min<int64_t>(kernels.max_group, width); ++g) {
    if (cost(g) <= cost(best)) best = g;
  }
  return best;
}

}  // namespace tenon::kernels::cpu
