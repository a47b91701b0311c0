// The reference kernel of resize against values computed by hand.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "kernels/op_attrs.h"
#include "tests/kernels/reference_test_util.h"

namespace tenon::kernels::testing {
namespace {

TEST(ReferenceResize, Modes) {
  ten::ResizeAttrs attrs;
  auto resize = [&](int64_t out) {
    return Eval("ref.resize", {F({1, 1, 1, 2}, {0, 8})}, {1, 1, 1, out}, attrs);
  };
  EXPECT_EQ(resize(4), (Floats{0, 0, 8, 8}));
  attrs.mode = ten::ResizeMode::kLinear;
  EXPECT_EQ(resize(4), (Floats{0, 2, 6, 8}));
  attrs.coordinate_mode = ten::ResizeCoordinateMode::kAsymmetric;
  EXPECT_EQ(resize(4), (Floats{0, 4, 8, 8}));
  attrs.coordinate_mode = ten::ResizeCoordinateMode::kAlignCorners;
  ExpectNear(resize(5), {0, 2, 4, 6, 8});
  attrs.coordinate_mode = ten::ResizeCoordinateMode::kHalfPixel;
  attrs.antialias = true;
  EXPECT_EQ(Eval("ref.resize", {F({4}, {0, 2, 4, 6})}, {2}, attrs), (Floats{1.25f, 4.75f}));
  attrs.antialias = false;
  attrs.mode = ten::ResizeMode::kCubic;
  ExpectNear(Eval("ref.resize", {F({4}, {1, 2, 3, 4})}, {8}, attrs),
             {0.8945312f, 1.1914062f, 1.6679688f, 2.296875f, 2.703125f, 3.3320312f, 3.8085938f,
              4.1054688f});
}

// Cubic weights overshoot: integers end at the limits of their types, and are rounded. Linear
// interpolation truncates, with antialiasing it rounds.
TEST(ReferenceResize, Integers) {
  ten::ResizeAttrs attrs{.mode = ten::ResizeMode::kCubic};
  EXPECT_EQ(Evaluate<uint8_t>("ref.resize", {Tensor::Of<uint8_t>({4}, {0, 0, 255, 255})}, {8},
                              MakeAttrs(attrs)),
            (std::vector<uint8_t>{0, 0, 0, 58, 197, 255, 255, 255}));
  EXPECT_EQ(Evaluate<int8_t>("ref.resize", {Tensor::Of<int8_t>({4}, {-128, -128, 127, 127})}, {8},
                             MakeAttrs(attrs)),
            (std::vector<int8_t>{-128, -128, -128, -70, 69, 127, 127, 127}));
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> ends =
      Evaluate<int64_t>("ref.resize", {Tensor::Of<int64_t>({4}, {kLeast, kLeast, kMost, kMost})},
                        {8}, MakeAttrs(attrs));
  EXPECT_EQ(ends[2], kLeast);
  EXPECT_EQ(ends[5], kMost);
  attrs.mode = ten::ResizeMode::kLinear;
  const Tensor x = Tensor::Of<int32_t>({4}, {0, 3, 4, 7});
  EXPECT_EQ(Evaluate<int32_t>("ref.resize", {x}, {8}, MakeAttrs(attrs)),
            (std::vector<int32_t>{0, 0, 2, 3, 3, 4, 6, 7}));
  attrs.antialias = true;
  EXPECT_EQ(Evaluate<int32_t>("ref.resize", {x}, {8}, MakeAttrs(attrs)),
            (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

// The nearest element is copied, whatever numbers a double holds.
TEST(ReferenceResize, NearestOfLargeIntegers) {
  constexpr int64_t kOdd = (int64_t{1} << 53) + 1;
  EXPECT_EQ(Eval<int64_t>("ref.resize", {Tensor::Of<int64_t>({2}, {kOdd, -kOdd})}, {4},
                          ten::ResizeAttrs()),
            (std::vector<int64_t>{kOdd, kOdd, -kOdd, -kOdd}));
}

// However small the scale of a lone element is, the taps stay within a few lengths of the input;
// a position that no tap of the input reaches takes the element next to it.
TEST(ReferenceResize, BoundedTaps) {
  ten::ResizeAttrs attrs{.scales = {1e-9f}, .mode = ten::ResizeMode::kLinear, .antialias = true};
  ExpectNear(Eval("ref.resize", {F({2}, {3, 3})}, {1}, attrs), {3});
  attrs = {.scales = {0.25f},
           .mode = ten::ResizeMode::kCubic,
           .coordinate_mode = ten::ResizeCoordinateMode::kAsymmetric,
           .exclude_outside = true};
  EXPECT_EQ(Eval("ref.resize", {F({4}, {1, 2, 3, 4})}, {3}, attrs)[2], 4);
  attrs.scales = {1e-30f};
  attrs.mode = ten::ResizeMode::kNearest;
  EXPECT_EQ(Eval("ref.resize", {F({4}, {1, 2, 3, 4})}, {2}, attrs), (Floats{1, 4}));
}

// Corners fall on corners: which element is the nearest one follows from whole numbers.
TEST(ReferenceResize, NearestOfAlignedCorners) {
  ten::ResizeAttrs attrs;
  attrs.coordinate_mode = ten::ResizeCoordinateMode::kAlignCorners;
  for (int64_t in = 2; in <= 40; ++in) {
    Tensor x(DType::kF32, {in});
    std::iota(x.data<float>(), x.data<float>() + in, 0.0f);
    for (int64_t out = 2; out <= 128; ++out) {
      const int64_t n = in - 1, d = out - 1;  // output o is at o * n / d
      const auto expect = [&](ten::ResizeNearestMode mode, auto nearest) {
        attrs.nearest_mode = mode;
        const Floats y = Eval("ref.resize", {x}, {out}, attrs);
        for (int64_t o = 0; o < out; ++o) {
          EXPECT_EQ(y[static_cast<size_t>(o)], static_cast<float>(nearest(o)))
              << in << " to " << out << " at " << o << ", mode " << static_cast<int>(mode);
        }
      };
      expect(ten::ResizeNearestMode::kFloor, [&](int64_t o) { return o * n / d; });
      expect(ten::ResizeNearestMode::kCeil, [&](int64_t o) { return (o * n + d - 1) / d; });
      expect(ten::ResizeNearestMode::kRoundPreferCeil,
             [&](int64_t o) { return (2 * o * n + d) / (2 * d); });
      expect(ten::ResizeNearestMode::kRoundPreferFloor,
             [&](int64_t o) { return (2 * o * n + d - 1) / (2 * d); });
    }
  }
}

}  // namespace
}  // namespace tenon::kernels::testing
