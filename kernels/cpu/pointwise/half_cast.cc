// Casts between f32 and 16-bit floats.
#include "kernels/cpu/pointwise/half_cast.h"

#include "kernels/cpu/isa.h"
#include "kernels/cpu/support.h"
#include "kernels/half.h"

namespace tenon::kernels::cpu {
namespace {

template <typename Number>
void ToFloat(const uint16_t* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    Number number;
    number.bits = from[i];
    to[i] = number;
  }
}

template <typename Number>
void ToNumber(const float* from, uint16_t* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = Number(from[i]).bits;
}

HalfCasts ActiveCasts() {
#if defined(__x86_64__)
  if (ActiveIsa() >= Isa::kAvx2) return Avx2HalfCasts();
#endif
  return PortableHalfCasts();
}

bool IsHalf(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

}  // namespace

HalfCasts PortableHalfCasts() {
  return {ToFloat<Half>, ToNumber<Half>, ToFloat<BFloat16>, ToNumber<BFloat16>};
}

bool IsHalfCast(DType from, DType to) {
  return (IsHalf(from) && to == DType::kF32) || (from == DType::kF32 && IsHalf(to));
}

void RunHalfCast(const RunArgs& args) {
  const HalfCasts casts = ActiveCasts();
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  (*args.device->parallel)(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    if (IsHalf(x.dtype)) {
      const auto convert = x.dtype == DType::kF16 ? casts.f16_to_f32 : casts.bf16_to_f32;
      convert(x.as<uint16_t>() + begin, out.as<float>() + begin, end - begin);
    } else {
      const auto convert = out.dtype == DType::kF16 ? casts.f32_to_f16 : casts.f32_to_bf16;
      convert(x.as<float>() + begin, out.as<uint16_t>() + begin, end - begin);
    }
  });
}

}  // namespace tenon::kernels::cpu
