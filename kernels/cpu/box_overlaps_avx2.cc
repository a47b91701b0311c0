#include "kernels/cpu/box_overlaps-inl.h"

namespace tenon::kernels::cpu {

const BoxKernels kBoxKernelsAvx2 = {&Overlaps, &Above};

}  // namespace tenon::kernels::cpu
