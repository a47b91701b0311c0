#include "kernels/cpu/isa.h"

#include <cstdio>
#include <cstdlib>

#include "dnnl.hpp"

namespace tenon::kernels::cpu {
namespace {

Isa DetectIsa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // The compiler's check covers the operating system's support of the registers too.
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2")) {
    return Isa::kPortable;
  }
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
    return Isa::kAvx2;
  }
  if (!__builtin_cpu_supports("avx512vnni")) return Isa::kAvx512;
  return __builtin_cpu_supports("avx512bf16") ? Isa::kAvx512Bf16 : Isa::kAvx512Vnni;
#else
  return Isa::kPortable;
#endif
}

// oneDNN must not use more than we do.
void LimitOnednn(Isa isa) {
#if defined(__x86_64__)
  if (isa < Isa::kAvx2) {
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::sse41);
  } else if (isa < Isa::kAvx512) {
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
  } else if (isa < Isa::kAvx512Vnni) {
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core);
  } else if (isa < Isa::kAvx512Bf16) {
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_vnni);
  }
#endif
}

Isa ChooseIsa() {
  const Isa detected = DetectedIsa();
  const char* wanted = std::getenv("TENON_ISA");
  if (wanted == nullptr || *wanted == '\0') return detected;
  for (Isa isa : kAllIsas) {
    if (Name(isa) != wanted) continue;
    if (isa > detected) {
      std::fprintf(stderr, "TENON_ISA=%s: this CPU has no more than %s\n", wanted,
                   Name(detected).data());
      return detected;
    }
    if (isa < detected) LimitOnednn(isa);
    return isa;
  }
  std::fprintf(stderr,
               "TENON_ISA=%s is ignored (expected portable, avx2, avx512, avx512_vnni or "
               "avx512_bf16)\n",
               wanted);
  return detected;
}

}  // namespace

std::string_view Name(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return "portable";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Vnni:
      return "avx512_vnni";
    case Isa::kAvx512Bf16:
      return "avx512_bf16";
  }
  return "portable";
}

Isa DetectedIsa() {
  static const Isa detected = DetectIsa();
  return detected;
}

Isa ActiveIsa() {
  static const Isa active = ChooseIsa();
  return active;
}

}  // namespace tenon::kernels::cpu
