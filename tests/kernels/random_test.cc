// Random numbers: the generator against its published values, and what draws depend on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "kernels/draws.h"
#include "kernels/half.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/philox.h"
#include "kernels/threads/thread_pool.h"

namespace tenon::kernels {
namespace {

// From kat_vectors of Random123, the authors' own implementation.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(Philox({0, 0}, {0, 0, 0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(Philox({kOnes, kOnes}, {kOnes, kOnes, kOnes, kOnes}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

template <typename Attrs>
std::vector<float> Draw(const Kernel& kernel, const Attrs& attrs, Draws& draws, int64_t count,
                        int threads = 1) {
  std::vector<float> values(static_cast<size_t>(count));
  ThreadPool pool(threads);
  DeviceContext device{.parallel = &pool, .draws = &draws};
  const TensorView out{values.data(), DType::kF32, std::span(&count, 1)};
  RunArgs args{.outputs = std::span(&out, 1), .attrs = &attrs, .device = &device};
  EXPECT_TRUE(kernel.run(args).ok());
  return values;
}

std::vector<float> Uniform(const random::UniformAttrs& attrs, Draws& draws, int64_t count = 100,
                           int threads = 1) {
  return Draw(RefRandomUniform(), attrs, draws, count, threads);
}

TEST(Random, ARunRepeatsAndACallDoesNot) {
  Draws draws;
  const random::UniformAttrs attrs{.stream = 3};
  draws.BeginRun(7);
  const std::vector<float> first = Uniform(attrs, draws), second = Uniform(attrs, draws);
  EXPECT_NE(first, second);
  draws.BeginRun(7);
  EXPECT_EQ(Uniform(attrs, draws), first);
  EXPECT_EQ(Uniform(attrs, draws), second);
  draws.BeginRun(8);
  EXPECT_NE(Uniform(attrs, draws), first);
  // Another stream neither draws the same nor disturbs this one.
  draws.BeginRun(7);
  EXPECT_NE(Uniform({.stream = 4}, draws), first);
  EXPECT_EQ(Uniform(attrs, draws), first);
}

TEST(Random, ASeedOfAnOpStandsForThatOfTheRun) {
  Draws a, b;
  a.BeginRun(1);
  b.BeginRun(2);
  const random::UniformAttrs attrs{.seed = 5.0, .stream = 1}, other{.seed = 5.0, .stream = 2};
  const std::vector<float> first = Uniform(attrs, a);
  EXPECT_EQ(Uniform(attrs, b), first);
  EXPECT_EQ(Uniform(other, b), first);
  EXPECT_NE(Uniform(attrs, b), first);
  EXPECT_NE(Uniform({.seed = 6.0, .stream = 3}, b), first);
}

TEST(Random, ThreadsChangeNothing) {
  Draws one, three;
  const std::vector<float> expected = Uniform({}, one, 100'001);
  EXPECT_EQ(Uniform({}, three, 100'001, 3), expected);
}

TEST(Random, UniformIsUniform) {
  Draws draws;
  const std::vector<float> values = Uniform({.low = -1, .high = 3}, draws, 100'000);
  double sum = 0, squares = 0;
  for (const double x : values) sum += x, squares += x * x;
  const auto n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 1, 0.02);
  EXPECT_NEAR(squares / n - 1, 16.0 / 12, 0.02);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*least, -1);
  EXPECT_LT(*least, -0.99);
  EXPECT_LE(*most, 3);
  EXPECT_GT(*most, 2.99);
}

TEST(Random, NormalIsNormal) {
  Draws draws;
  const random::NormalAttrs attrs{.mean = 2, .scale = 3};
  const std::vector<float> values = Draw(RefRandomNormal(), attrs, draws, 100'000);
  double sum = 0, squares = 0, cubes = 0;
  int beyond = 0;
  for (const float value : values) {
    const double x = (static_cast<double>(value) - 2) / 3;
    sum += x, squares += x * x, cubes += x * x * x;
    beyond += std::abs(x) > 1.96 ? 1 : 0;
  }
  const auto n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 0, 0.02);
  EXPECT_NEAR(squares / n, 1, 0.02);
  EXPECT_NEAR(cubes / n, 0, 0.05);
  EXPECT_NEAR(beyond / n, 0.05, 0.005);
}

TEST(Random, NarrowTypesStayBelowOne) {
  Draws draws;
  ThreadPool pool(1);
  DeviceContext device{.parallel = &pool, .draws = &draws};
  const int64_t count = 100'000;
  std::vector<Half> values(static_cast<size_t>(count));
  const TensorView out{values.data(), DType::kF16, std::span(&count, 1)};
  const random::UniformAttrs attrs;
  RunArgs args{.outputs = std::span(&out, 1), .attrs = &attrs, .device = &device};
  ASSERT_TRUE(RefRandomUniform().run(args).ok());
  for (const Half value : values) ASSERT_LT(static_cast<float>(value), 1.0f);
}

}  // namespace
}  // namespace tenon::kernels
