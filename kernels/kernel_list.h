// Declares every kernel of kernels.def: a function without arguments that describes the kernel.
#ifndef TENON_KERNELS_KERNEL_LIST_H_
#define TENON_KERNELS_KERNEL_LIST_H_

#include "kernels/kernel.h"

namespace tenon::kernels {

#define TENON_KERNEL(name) Kernel name();
#include "kernels/kernels.def"
#undef TENON_KERNEL

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_KERNEL_LIST_H_
