#include "kernels/cpu/box_overlaps-inl.h"

namespace tenon::kernels::cpu {

const BoxKernels kBoxKernelsAvx512 = {&Overlaps, &Above};

}  // namespace tenon::kernels::cpu
