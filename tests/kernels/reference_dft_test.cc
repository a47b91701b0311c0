// The reference kernel of Fourier transforms against the sums that define it.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "kernels/op_attrs.h"
#include "tests/kernels/reference_test_util.h"

namespace tenon::kernels::testing {
namespace {

using Doubles = std::vector<double>;

// Numbers in [-1, 1] without a pattern.
Doubles Noise(int64_t count) {
  Doubles values(static_cast<size_t>(count));
  uint32_t state = 1;
  for (double& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<double>(state) / 0x1p31 - 1;
  }
  return values;
}

// Transforms pairs of real and imaginary parts.
Doubles BySums(const Doubles& x, bool inverse) {
  const auto n = static_cast<int64_t>(x.size() / 2);
  Doubles out(x.size());
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t i = 0; i < n; ++i) {
      const double turn = static_cast<double>(k * i % n) / static_cast<double>(n);
      const double angle = (inverse ? 2 : -2) * std::numbers::pi * turn;
      out[2 * k] += x[2 * i] * std::cos(angle) - x[2 * i + 1] * std::sin(angle);
      out[2 * k + 1] += x[2 * i] * std::sin(angle) + x[2 * i + 1] * std::cos(angle);
    }
  }
  for (double& value : out) value /= inverse ? static_cast<double>(n) : 1;
  return out;
}

void ExpectClose(const Doubles& actual, const Doubles& expected, int64_t n) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 1e-13 * static_cast<double>(n))
        << "at " << i << " of " << n;
}

const int64_t kLengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 31, 60, 64, 97, 100, 128, 243, 509};

TEST(ReferenceDft, AllLengthsGiveTheSums) {
  for (const int64_t n : kLengths) {
    const Doubles x = Noise(2 * n);
    for (const bool inverse : {false, true}) {
      const ten::DftAttrs attrs{.axis = 0, .inverse = inverse};
      ExpectClose(Eval<double>("ref.dft", {Tensor::Of({n, 2}, x)}, {n, 2}, attrs),
                  BySums(x, inverse), n);
    }
  }
}

TEST(ReferenceDft, HalfOfATransformOfRealNumbersHoldsAllOfIt) {
  for (const int64_t n : kLengths) {
    const Doubles x = Noise(n);
    const int64_t half = n / 2 + 1;
    Doubles complex(static_cast<size_t>(2 * n));
    for (int64_t i = 0; i < n; ++i) complex[2 * i] = x[i];
    Doubles expected = BySums(complex, false);
    expected.resize(static_cast<size_t>(2 * half));
    const Doubles first = Eval<double>("ref.dft", {Tensor::Of({n, 1}, x)}, {half, 2},
                                       ten::DftAttrs{.axis = 0, .onesided = true});
    ExpectClose(first, expected, n);
    const ten::DftAttrs back{.axis = 0, .length = n, .inverse = true, .onesided = true};
    ExpectClose(Eval<double>("ref.dft", {Tensor::Of({half, 2}, first)}, {n, 1}, back), x, n);
  }
}

TEST(ReferenceDft, TransformsAlongTheAxis) {
  // Two sequences of three numbers, side by side.
  const Doubles x = {1, 10, 2, 20, 4, 40};
  const Doubles out =
      Eval<double>("ref.dft", {Tensor::Of({3, 2, 1}, x)}, {3, 2, 2}, ten::DftAttrs{.axis = 0});
  const Doubles one = BySums({1, 0, 2, 0, 4, 0}, false);
  for (size_t k = 0; k < 3; ++k) {
    for (size_t part = 0; part < 2; ++part) {
      EXPECT_NEAR(out[4 * k + part], one[2 * k + part], 1e-12);
      EXPECT_NEAR(out[4 * k + 2 + part], 10 * one[2 * k + part], 1e-12);
    }
  }
}

TEST(ReferenceDft, RefusesPartsThatDoNotFit) {
  const auto refusal = [](Shape shape, Shape out, ten::DftAttrs attrs) {
    int64_t count = 1;
    for (int64_t extent : shape) count *= extent;
    return Refusal("ref.dft", {Tensor::Of(shape, Noise(count))},
                   Tensor(DType::kF64, std::move(out)), MakeAttrs(attrs));
  };
  EXPECT_EQ(refusal({4, 3}, {4, 2}, {.axis = 0}),
            "the last axis of x has 3 elements (expected 1 for real or 2 for complex numbers)");
  EXPECT_EQ(refusal({4, 2}, {3, 2}, {.axis = 0, .onesided = true}),
            "the last axis of x has 2 elements (expected 1: a onesided transform takes real "
            "numbers)");
  EXPECT_EQ(refusal({1, 2}, {1, 1}, {.axis = 0, .inverse = true, .onesided = true}),
            "the transform would have 0 elements (expected 1 or more)");
}

}  // namespace
}  // namespace tenon::kernels::testing
