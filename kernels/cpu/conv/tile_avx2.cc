#include "kernels/cpu/conv/tile-inl.h"

namespace tenon::kernels::cpu {

const TileKernels& TilesAvx2() { return kTiles; }

}  // namespace tenon::kernels::cpu
