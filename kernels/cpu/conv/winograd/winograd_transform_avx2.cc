#include "kernels/cpu/conv/winograd/winograd_transform-inl.h"

namespace tenon::kernels::cpu {

const WinogradTransforms& WinogradAvx2() { return kTransforms; }

}  // namespace tenon::kernels::cpu
