#include "kernels/cpu/attention/tile.h"
#include "kernels/cpu/attention/vector_portable-inl.h"
// The vectors come first: the tiles are written in them.
#include "kernels/cpu/attention/few-inl.h"
#include "kernels/cpu/attention/tile-inl.h"

namespace tenon::kernels::cpu {

AttentionOps AttentionOpsPortable() { return {kFewRows, AttendFew, kStripRows, AttendTile}; }

}  // namespace tenon::kernels::cpu
