#include "kernels/cpu/conv/tile.h"

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

}  // namespace tenon::kernels::cpu
