// Packed bytes that a kernel trusts.
#ifndef TENON_KERNELS_TRUSTED_LAYOUT_H_
#define TENON_KERNELS_TRUSTED_LAYOUT_H_

#include <string_view>

namespace tenon::kernels {

// What layouts of packed bytes begin with that hold positions, which their kernel follows without a
// check. All other packed bytes are numbers: wrong ones give wrong results and nothing worse. A
// store takes trusted bytes from no file that a stranger may have written.
inline constexpr std::string_view kTrustedLayout = "trusted.";

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_TRUSTED_LAYOUT_H_
