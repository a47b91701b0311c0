// The loops of pointwise_loops.h, for the instruction set of the file that includes this. All of it
// has internal linkage, so that no other file runs this file's copy.
#ifndef TENON_KERNELS_CPU_POINTWISE_POINTWISE_LOOPS_INL_H_
#define TENON_KERNELS_CPU_POINTWISE_POINTWISE_LOOPS_INL_H_

#include <cstdint>

#include "kernels/cpu/pointwise/pointwise_loops.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")  // below that GCC leaves most of these loops scalar
#endif

namespace tenon::kernels::cpu {
namespace {

// A result may stand where an operand stood, element for element, so iterations are independent.
#if defined(__clang__)
#define TENON_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TENON_INDEPENDENT _Pragma("GCC ivdep")
#endif

template <typename T, int kOp>
void CompareLoop(const void* pa, const void* pb, const void*, void* py, int64_t n) {
  const T* a = static_cast<const T*>(pa);
  const T* b = static_cast<const T*>(pb);
  uint8_t* y = static_cast<uint8_t*>(py);
  TENON_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const bool result = kOp == kCompareEqual          ? a[i] == b[i]
                        : kOp == kCompareGreater      ? a[i] > b[i]
                        : kOp == kCompareGreaterEqual ? a[i] >= b[i]
                        : kOp == kCompareLess         ? a[i] < b[i]
                                                      : a[i] <= b[i];
    y[i] = static_cast<uint8_t>(result);
  }
}

// Wraps around: U is T without a sign.
template <typename T, typename U, int kOp>
void IntegerLoop(const void* pa, const void* pb, const void*, void* py, int64_t n) {
  const T* a = static_cast<const T*>(pa);
  const T* b = static_cast<const T*>(pb);
  T* y = static_cast<T*>(py);
  TENON_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const U x = static_cast<U>(a[i]);
    if constexpr (kOp == kIntegerAbs) {
      y[i] = static_cast<T>(a[i] < 0 ? U{0} - x : x);
    } else if constexpr (kOp == kIntegerNeg) {
      y[i] = static_cast<T>(U{0} - x);
    } else {
      const U z = static_cast<U>(b[i]);
      y[i] = kOp == kIntegerAdd   ? static_cast<T>(x + z)
             : kOp == kIntegerSub ? static_cast<T>(x - z)
             : kOp == kIntegerMul ? static_cast<T>(x * z)
             : kOp == kIntegerMax ? (a[i] < b[i] ? b[i] : a[i])
                                  : (b[i] < a[i] ? b[i] : a[i]);
    }
  }
}

template <int kOp>
void LogicLoop(const void* pa, const void* pb, const void*, void* py, int64_t n) {
  const uint8_t* a = static_cast<const uint8_t*>(pa);
  const uint8_t* b = static_cast<const uint8_t*>(pb);
  uint8_t* y = static_cast<uint8_t*>(py);
  TENON_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const int x = a[i] != 0;
    if constexpr (kOp == kLogicNot) {
      y[i] = static_cast<uint8_t>(x ^ 1);
    } else {
      const int z = b[i] != 0;
      y[i] = static_cast<uint8_t>(kOp == kLogicAnd ? x & z : kOp == kLogicOr ? x | z : x ^ z);
    }
  }
}

template <typename T>
void SelectLoop(const void* pa, const void* pb, const void* pc, void* py, int64_t n) {
  const uint8_t* a = static_cast<const uint8_t*>(pa);
  const T* b = static_cast<const T*>(pb);
  const T* c = static_cast<const T*>(pc);
  T* y = static_cast<T*>(py);
  TENON_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const T yes = b[i], no = c[i];
    y[i] = a[i] != 0 ? yes : no;
  }
}

void FmaLoop(const void* pa, const void* pb, const void* pc, void* py, int64_t n) {
  const float* a = static_cast<const float*>(pa);
  const float* b = static_cast<const float*>(pb);
  const float* c = static_cast<const float*>(pc);
  float* y = static_cast<float*>(py);
  TENON_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = __builtin_fmaf(a[i], b[i], c[i]);
}

// Floats become integers by truncation, saturated; NaN becomes 0. Saturation
// happens at 64 bits, then the integer is cut to its own size, as the reference kernel does.

template <typename To, typename From>
inline To ConvertOne(From x) {
  return static_cast<To>(x);
}
template <>
inline int64_t ConvertOne<int64_t, float>(float x) {
  if (x != x) return 0;
  if (x >= 0x1p63f) return INT64_MAX;
  return x < -0x1p63f ? INT64_MIN : static_cast<int64_t>(x);
}
template <>
inline int32_t ConvertOne<int32_t, float>(float x) {
  if (x != x) return 0;
  if (x >= 0x1p63f) return INT32_MAX;
  return x < -0x1p63f ? INT32_MIN : static_cast<int32_t>(static_cast<int64_t>(x));
}
// Floats of 2^31 and more are multiples of 256, of which a byte keeps nothing.
template <>
inline uint8_t ConvertOne<uint8_t, float>(float x) {
  const float low = x > -0x1p31f && x < 0x1p31f ? x : 0.0f;
  const auto byte = static_cast<uint8_t>(static_cast<int32_t>(low));
  return x >= 0x1p63f ? UINT8_MAX : byte;
}
template <>
inline int8_t ConvertOne<int8_t, float>(float x) {
  const float low = x > -0x1p31f && x < 0x1p31f ? x : 0.0f;
  const auto byte = static_cast<int8_t>(static_cast<int32_t>(low));
  return x >= 0x1p63f ? INT8_MAX : x < -0x1p63f ? INT8_MIN : byte;
}

template <typename From, typename To>
void CastLoop(const void* pa, const void*, const void*, void* py, int64_t n) {
  const From* a = static_cast<const From*>(pa);
  To* y = static_cast<To*>(py);
  TENON_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = ConvertOne<To, From>(a[i]);
}

template <typename From>
void CastToBool(const void* pa, const void*, const void*, void* py, int64_t n) {
  const From* a = static_cast<const From*>(pa);
  uint8_t* y = static_cast<uint8_t*>(py);
  TENON_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<uint8_t>(a[i] != From{0});
}

#undef TENON_INDEPENDENT

#define TENON_COMPARE(op)                                                       \
  {                                                                             \
    CompareLoop<float, op>, CompareLoop<int32_t, op>, CompareLoop<int64_t, op>, \
        CompareLoop<uint8_t, op>                                                \
  }
#define TENON_INTEGER(op) \
  { IntegerLoop<int32_t, uint32_t, op>, IntegerLoop<int64_t, uint64_t, op> }
#define TENON_CAST(from)                                                                       \
  {                                                                                            \
    CastLoop<from, float>, CastLoop<from, int32_t>, CastLoop<from, int64_t>, CastToBool<from>, \
        CastLoop<from, uint8_t>, CastLoop<from, int8_t>                                        \
  }

constexpr PointwiseLoops kPointwiseLoops = {
    {TENON_COMPARE(kCompareEqual), TENON_COMPARE(kCompareGreater),
     TENON_COMPARE(kCompareGreaterEqual), TENON_COMPARE(kCompareLess),
     TENON_COMPARE(kCompareLessEqual)},
    {TENON_INTEGER(kIntegerAbs), TENON_INTEGER(kIntegerNeg), TENON_INTEGER(kIntegerAdd),
     TENON_INTEGER(kIntegerSub), TENON_INTEGER(kIntegerMul), TENON_INTEGER(kIntegerMax),
     TENON_INTEGER(kIntegerMin)},
    {LogicLoop<kLogicAnd>, LogicLoop<kLogicOr>, LogicLoop<kLogicXor>, LogicLoop<kLogicNot>},
    {SelectLoop<uint32_t>, SelectLoop<uint32_t>, SelectLoop<uint64_t>, SelectLoop<uint8_t>},
    {TENON_CAST(float), TENON_CAST(int32_t), TENON_CAST(int64_t), TENON_CAST(uint8_t),
     TENON_CAST(uint8_t), TENON_CAST(int8_t)},
    FmaLoop,
};

#undef TENON_COMPARE
#undef TENON_INTEGER
#undef TENON_CAST

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_POINTWISE_POINTWISE_LOOPS_INL_H_
