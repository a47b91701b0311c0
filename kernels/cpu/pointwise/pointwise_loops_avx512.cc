#include "kernels/cpu/pointwise/pointwise_loops-inl.h"

namespace tenon::kernels::cpu {

const PointwiseLoops& Avx512PointwiseLoops() { return kPointwiseLoops; }

}  // namespace tenon::kernels::cpu
