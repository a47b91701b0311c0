#include "kernels/cpu/pointwise/half_cast.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "kernels/cpu/isa.h"
#include "kernels/half.h"

namespace tenon::kernels::cpu {
namespace {

std::vector<HalfCasts> AllCasts() {
  std::vector<HalfCasts> all = {PortableHalfCasts()};
#if defined(__x86_64__)
  if (ActiveIsa() >= Isa::kAvx2) all.push_back(Avx2HalfCasts());
#endif
  return all;
}

template <typename Number>
void ExpectAllAgree(void (*widen)(const uint16_t*, float*, int64_t),
                    void (*narrow)(const float*, uint16_t*, int64_t)) {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  std::vector<float> wide(bits.size());
  widen(bits.data(), wide.data(), static_cast<int64_t>(bits.size()));
  std::vector<float> numbers;
  for (size_t i = 0; i < bits.size(); ++i) {
    Number number;
    number.bits = bits[i];
    const float expected = number;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide[i])) << i;
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]), std::bit_cast<uint32_t>(expected)) << i;
    }
    // The number, its neighbours, and the middle between it and the next.
    const uint32_t b = std::bit_cast<uint32_t>(expected);
    for (const uint32_t near : {b, b + 1, b - 1, b + 0x1000, b + 0x0fff, b + 0x1001, b + 0x8000,
                                b + 0x7fff, b + 0x8001}) {
      numbers.push_back(std::bit_cast<float>(near));
    }
  }
  // Lengths that are no multiple of a vector.
  for (const size_t left_out : {0, 1, 7}) {
    std::vector<uint16_t> narrowed(numbers.size() - left_out);
    narrow(numbers.data(), narrowed.data(), static_cast<int64_t>(narrowed.size()));
    for (size_t i = 0; i < narrowed.size(); ++i) {
      const Number expected(numbers[i]);
      Number actual;
      actual.bits = narrowed[i];
      if (std::isnan(numbers[i])) {
        ASSERT_TRUE(std::isnan(static_cast<float>(actual))) << numbers[i];
      } else {
        ASSERT_EQ(actual.bits, expected.bits) << numbers[i];
      }
    }
  }
}

TEST(HalfCastTest, EveryNumberAndItsNeighbours) {
  for (const HalfCasts& casts : AllCasts()) {
    ExpectAllAgree<Half>(casts.f16_to_f32, casts.f32_to_f16);
    ExpectAllAgree<BFloat16>(casts.bf16_to_f32, casts.f32_to_bf16);
  }
}

}  // namespace
}  // namespace tenon::kernels::cpu
