#include "kernels/cpu/attention/tile.h"
#include "kernels/cpu/attention/vector_avx512-inl.h"
// The vectors come first: the tiles are written in them.
#include "kernels/cpu/attention/few-inl.h"
#include "kernels/cpu/attention/short-inl.h"
#include "kernels/cpu/attention/tile-inl.h"

namespace tenon::kernels::cpu {

AttentionOps AttentionOpsAvx512() { return {kFewRows, AttendFew, kStripRows, AttendShortOrTile}; }

}  // namespace tenon::kernels::cpu
