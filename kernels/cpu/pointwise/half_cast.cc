// Casts from and to 16-bit floats.
#include "kernels/cpu/pointwise/half_cast.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/support.h"
#include "kernels/half.h"
#include "kernels/reference/dispatch.h"

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

// The elements of a tile, which stays in the first cache.
constexpr int64_t kTile = 2048;

// Where 16-bit floats are read and written by way of f32.
using Tile = std::array<float, kTile>;

void HalvesToFloats(const HalfCasts& casts, const TensorView& x, int64_t at, float* to, int64_t n) {
  const auto convert = x.dtype == DType::kF16 ? casts.f16_to_f32 : casts.bf16_to_f32;
  convert(x.as<uint16_t>() + at, to, n);
}

void FloatsToHalves(const HalfCasts& casts, const float* from, const TensorView& out, int64_t at,
                    int64_t n) {
  const auto convert = out.dtype == DType::kF16 ? casts.f32_to_f16 : casts.f32_to_bf16;
  convert(from, out.as<uint16_t>() + at, n);
}

// Writes numbers that f32 holds exactly, or rounds them to odd, so that the rounding to 16 bits
// gives what the rounding of the number itself would give.
template <typename From>
void ToOddFloats(const From* from, float* to, int64_t n) {
  constexpr bool kExact = std::is_integral_v<From> && sizeof(From) <= 2;
  for (int64_t i = 0; i < n; ++i) {
    to[i] = kExact ? static_cast<float>(from[i])
                   : half_internal::RoundToOdd(static_cast<double>(from[i]));
  }
}

// Converts elements [at, at + n) of 16-bit floats to those of another type than f32.
void FromHalves(const HalfCasts& casts, const TensorView& x, const TensorView& out, int64_t at,
                int64_t n) {
  Tile tile;
  HalvesToFloats(casts, x, at, tile.data(), n);
  if (IsHalf(out.dtype)) {
    FloatsToHalves(casts, tile.data(), out, at, n);
  } else if (out.dtype == DType::kBool) {
    for (int64_t i = 0; i < n; ++i) out.as<uint8_t>()[at + i] = tile[static_cast<size_t>(i)] != 0;
  } else {
    (void)DispatchNumber(out.dtype, [&](auto tag) {  // IsHalfCast knows the type
      using To = typename decltype(tag)::type;
      To* const to = out.as<To>() + at;
      for (int64_t i = 0; i < n; ++i) to[i] = Convert<To>(tile[static_cast<size_t>(i)]);
      return KernelStatus::Ok();
    });
  }
}

// Converts elements of another type than f32 and 16-bit floats.
void ToHalves(const HalfCasts& casts, const TensorView& x, const TensorView& out, int64_t at,
              int64_t n) {
  Tile tile;
  (void)DispatchAny(x.dtype, [&](auto tag) {  // IsHalfCast knows the type
    using From = typename decltype(tag)::type;
    ToOddFloats(x.as<From>() + at, tile.data(), n);
    return KernelStatus::Ok();
  });
  FloatsToHalves(casts, tile.data(), out, at, n);
}

bool IsNumberOrBool(DType dtype) {
  return dtype == DType::kBool ||
         DispatchNumber(dtype, [](auto) { return KernelStatus::Ok(); }).ok();
}

}  // namespace

HalfCasts PortableHalfCasts() {
  return {ToFloat<Half>, ToNumber<Half>, ToFloat<BFloat16>, ToNumber<BFloat16>};
}

bool IsHalfCast(DType from, DType to) {
  return (IsHalf(from) && IsNumberOrBool(to)) || (IsNumberOrBool(from) && IsHalf(to));
}

void RunHalfCast(const RunArgs& args) {
  const HalfCasts casts = ActiveCasts();
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  (*args.device->parallel)(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    if (out.dtype == DType::kF32) {
      HalvesToFloats(casts, x, begin, out.as<float>() + begin, end - begin);
    } else if (x.dtype == DType::kF32) {
      FloatsToHalves(casts, x.as<float>() + begin, out, begin, end - begin);
    } else {
      const auto convert = IsHalf(x.dtype) ? FromHalves : ToHalves;
      for (int64_t at = begin; at < end; at += kTile)
        convert(casts, x, out, at, std::min(kTile, end - at));
    }
  });
}

}  // namespace tenon::kernels::cpu
