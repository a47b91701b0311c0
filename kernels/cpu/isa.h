// The instruction sets that kernels may use on this machine.
#ifndef TENON_KERNELS_CPU_ISA_H_
#define TENON_KERNELS_CPU_ISA_H_

#include <cstdint>
#include <string_view>

namespace tenon::kernels::cpu {

// A level of instruction sets. Each includes those before it. A source file named foo_avx2.cc,
// foo_avx512.cc, foo_avx512_vnni.cc or foo_avx512_bf16.cc is compiled for that level. It is left
// out if the compiler is not for x86-64. Its code may run only at that level or above.
enum class Isa : uint8_t {
  kPortable,    // the default target of the compiler
  kAvx2,        // with FMA, F16C, BMI and BMI2
  kAvx512,      // F, BW, DQ, VL
  kAvx512Vnni,  // int8 dot products
  kAvx512Bf16,  // VNNI and bfloat16 dot products
};
// All levels, in order.
inline constexpr Isa kAllIsas[] = {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni,
                                   Isa::kAvx512Bf16};

// Returns "portable", "avx2", "avx512", "avx512_vnni" or "avx512_bf16".
std::string_view Name(Isa isa);

// Returns the highest level of the CPU and the operating system.
Isa DetectedIsa();

// Returns the level that kernels use: DetectedIsa, or a lower one that the environment variable
// TENON_ISA names. An unknown name is ignored with a message. Read once, by the first call. It also
// limits oneDNN.
Isa ActiveIsa();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ISA_H_
