// Declares the kernels of kernels.def. Each function describes one kernel.
#ifndef TENON_KERNELS_KERNEL_LIST_H_
#define TENON_KERNELS_KERNEL_LIST_H_

#include "kernels/kernel.h"

namespace tenon::kernels {

#define TENON_KERNEL(name) Kernel name();
#include "kernels/kernels.def"
#undef TENON_KERNEL

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_KERNEL_LIST_H_
