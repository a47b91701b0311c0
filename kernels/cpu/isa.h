// Which instructions the kernels may use on this machine.
#ifndef TENON_KERNELS_CPU_ISA_H_
#define TENON_KERNELS_CPU_ISA_H_

#include <cstdint>
#include <string_view>

namespace tenon::kernels::cpu {

// Each level includes those before it. A source file called foo_avx2.cc, foo_avx512.cc,
// foo_avx512_vnni.cc or foo_avx512_bf16.cc is compiled for that level (and left out where the
// compiler is not for x86-64); what it defines may only run at that level or above.
enum class Isa : uint8_t {
  kPortable,    // what the compiler targets by default
  kAvx2,        // with FMA and F16C
  kAvx512,      // F, BW, DQ, VL
  kAvx512Vnni,  // int8 dot products
  kAvx512Bf16,  // VNNI and bfloat16 dot products
};
inline constexpr Isa kAllIsas[] = {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni,
                                   Isa::kAvx512Bf16};

// "portable", "avx2", "avx512", "avx512_vnni", "avx512_bf16".
std::string_view Name(Isa isa);

// What the CPU and the operating system offer.
Isa DetectedIsa();

// What kernels use: DetectedIsa, or less where the environment variable TENON_ISA names a lower
// level (an unknown name is ignored with a message). Read once, at the first call; also limits the
// targets of Highway and of oneDNN.
Isa ActiveIsa();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ISA_H_
