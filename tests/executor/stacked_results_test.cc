// Results that loops stack: where the slices go, and what that takes of memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "tests/executor/counting_allocator.h"
#include "tests/executor/peak_memory.h"
#include "tests/executor/run_util.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kMegabyte = size_t{1} << 20;

Tensor Number(int64_t value) { return MakeTensor<int64_t>(DType::kI64, {}, {value}); }

constexpr char kNumbers[] = R"ir(
  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %one = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
  %count = core.constant() <{value = dense<64> : tensor<i64>}> : () -> tensor<i64>
)ir";

// Rows of `x`, and sums of them, stacked by a loop that runs `bound` times.
std::string Stacked(std::string_view bound, std::string_view result, int axis, bool reverse) {
  const std::string x = "tensor<?xf32, [\"N\"]>";
  return Function(fmt::format("%n: tensor<i64>, %x: {}", x),
                  fmt::format("(tensor<i64>, {}) -> {}", x, result),
                  fmt::format(R"ir({0}
  %r:2 = ctl.for(%zero, {1}, %one, %x) <{{scan_axes = array<i64: {2}>, scan_reverse = array<i64: {3}>}}> ({{
  ^bb0(%i: tensor<i64>, %y: {4}):
    %0 = ten.add(%y, %x) : ({4}, {4}) -> {4}
    ctl.yield(%0, %0) : ({4}, {4}) -> ()
  }}) : (tensor<i64>, tensor<i64>, tensor<i64>, {4}) -> ({4}, {5})
  func.return(%r#1) : ({5}) -> ()
)ir",
                              kNumbers, bound, axis, reverse ? 1 : 0, x, result));
}

// The same while the counter is below %n.
std::string StackedWhile(std::string_view result, int axis) {
  const std::string x = "tensor<?xf32, [\"N\"]>";
  return Function(fmt::format("%n: tensor<i64>, %x: {}", x),
                  fmt::format("(tensor<i64>, {}) -> {}", x, result),
                  fmt::format(R"ir({0}
  %r:3 = ctl.while(%zero, %x) <{{scan_axes = array<i64: {1}>}}> ({{
  ^bb0(%k: tensor<i64>, %y: {2}):
    %c = ten.less(%k, %n) : (tensor<i64>, tensor<i64>) -> tensor<i1>
    ctl.condition(%c, %k, %y) : (tensor<i1>, tensor<i64>, {2}) -> ()
  }}, {{
  ^bb0(%k: tensor<i64>, %y: {2}):
    %0 = ten.add(%y, %x) : ({2}, {2}) -> {2}
    %1 = ten.add(%k, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    ctl.yield(%1, %0, %0) : (tensor<i64>, {2}, {2}) -> ()
  }}) : (tensor<i64>, {2}) -> (tensor<i64>, {2}, {3})
  func.return(%r#2) : ({3}) -> ()
)ir",
                              kNumbers, axis, x, result));
}

// Of N elements of 1, run n times.
std::vector<Tensor> Inputs(int64_t n, int64_t extent) {
  return {Number(n), Floats({extent}, std::vector<float>(static_cast<size_t>(extent), 1))};
}

// Slice i holds i + 2.
void ExpectSlices(const Tensor& stacked, int64_t count, int axis, bool reverse) {
  ASSERT_EQ(stacked.shape()[static_cast<size_t>(axis)], count);
  const int64_t extent = count == 0 ? 0 : stacked.numel() / count;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = reverse ? count - 1 - i : i;
    for (int64_t j = 0; j < extent; j += 97) {
      const int64_t place = axis == 0 ? at * extent + j : j * count + at;
      ASSERT_EQ(stacked.as<float>()[place], static_cast<float>(i + 2)) << i << ", " << j;
    }
  }
}

// Where the number of runs is known before, the loop writes to the result itself: of 64 slices of
// half a MiB no second copy is made, and nothing of them stays with the session.
TEST(StackedResults, AreWrittenWhereTheyBelong) {
  constexpr int64_t kExtent = 128 * 1024;
  for (const bool reverse : {false, true}) {
    for (const int axis : {0, 1}) {
      const std::string result =
          axis == 0 ? "tensor<64x?xf32, [\"\", \"N\"]>" : "tensor<?x64xf32, [\"N\", \"\"]>";
      absl::StatusOr<Program> program =
          CompileText(Stacked("%count", result, axis, reverse), /*reference=*/false);
      ASSERT_TRUE(program.ok()) << program.status();
      Session session = program->NewSession();
      const std::vector<Tensor> inputs = Inputs(0, kExtent);
      const std::vector<kernels::TensorView> from = {inputs[0].view(), inputs[1].view()};
      const Tensor to = Tensor::Make(DType::kF32, axis == 0 ? std::vector<int64_t>{64, kExtent}
                                                            : std::vector<int64_t>{kExtent, 64});
      std::memset(to.data(), 0xff, to.num_bytes());
      const PeakMemory peak;
      const absl::Status status = session.Run(from, std::vector{to.view()});
      ASSERT_TRUE(status.ok()) << status;
      ExpectSlices(to, 64, axis, reverse);
      EXPECT_LE(peak.added().value_or(0), 12 * kMegabyte) << axis << reverse;
    }
  }
}

TEST(StackedResults, OfUnknownExtentsBelongToTheCaller) {
  constexpr int64_t kExtent = 128 * 1024;
  for (const bool reverse : {false, true}) {
    for (const int axis : {0, 1}) {
      const std::string result =
          axis == 0 ? "tensor<?x?xf32, [\"K\", \"N\"]>" : "tensor<?x?xf32, [\"N\", \"K\"]>";
      absl::StatusOr<Program> program =
          CompileText(Stacked("%n", result, axis, reverse), /*reference=*/false);
      ASSERT_TRUE(program.ok()) << program.status();
      Session session = program->NewSession();
      std::vector<Tensor> kept;
      for (const int64_t n : {5, 0, 2, 5}) {
        auto results = session.Run(Inputs(n, 100));
        ASSERT_TRUE(results.ok()) << results.status();
        kept.push_back(results->front());
        ExpectSlices(kept.back(), n, axis, reverse);
      }
      ExpectSlices(kept[0], 5, axis, reverse);
      ExpectSlices(kept[2], 2, axis, reverse);
      const std::vector<Tensor> inputs = Inputs(64, kExtent);
      const PeakMemory peak;
      auto results = session.Run(inputs);
      ASSERT_TRUE(results.ok()) << results.status();
      ExpectSlices(results->front(), 64, axis, reverse);
      EXPECT_LE(peak.added().value_or(0), 44 * kMegabyte) << axis << reverse;
      results->clear();
      EXPECT_LE(peak.kept().value_or(0), 12 * kMegabyte) << axis << reverse;
    }
  }
}

// They grow with the loop; what has grown is the result where its slices follow one another.
TEST(StackedResults, OfUnknownNumbersOfRuns) {
  for (const int axis : {0, 1}) {
    const std::string result =
        axis == 0 ? "tensor<?x?xf32, [\"K\", \"N\"]>" : "tensor<?x?xf32, [\"N\", \"K\"]>";
    absl::StatusOr<Program> program = CompileText(StackedWhile(result, axis), /*reference=*/false);
    ASSERT_TRUE(program.ok()) << program.status();
    Session session = program->NewSession();
    std::vector<Tensor> kept;
    for (const int64_t n : {5, 0, 17, 5}) {
      auto results = session.Run(Inputs(n, 100));
      ASSERT_TRUE(results.ok()) << results.status();
      kept.push_back(results->front());
      ExpectSlices(kept.back(), n, axis, false);
    }
    ExpectSlices(kept[0], 5, axis, false);
    ExpectSlices(kept[2], 17, axis, false);
    // 64 slices of half a MiB: once what grows and what it is copied to, later the result alone.
    const std::vector<Tensor> inputs = Inputs(64, 128 * 1024);
    const PeakMemory peak;
    auto results = session.Run(inputs);
    ASSERT_TRUE(results.ok()) << results.status();
    ExpectSlices(results->front(), 64, axis, false);
    EXPECT_LE(peak.kept().value_or(0), 52 * kMegabyte) << axis;
    results->clear();
    EXPECT_LE(peak.kept().value_or(0), 12 * kMegabyte) << axis;
  }
}

// Memory of the result is not written where the program was wrong about its extents.
TEST(StackedResults, OfOtherExtentsThanTheProgramSays) {
  absl::StatusOr<Program> program =
      CompileText(Stacked("%n", "tensor<3x?xf32, [\"\", \"N\"]>", 0, false));
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  for (const int64_t n : {4, 3, 0, 3, 2}) {
    const std::vector<Tensor> inputs = Inputs(n, 2);
    const std::vector<kernels::TensorView> from = {inputs[0].view(), inputs[1].view()};
    const Tensor to = Tensor::Make(DType::kF32, std::vector<int64_t>{3, 2});
    const absl::Status status = session.Run(from, std::vector{to.view()});
    if (n == 3) {
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_THAT(ValuesOf<float>(to), ElementsAre(2, 2, 3, 3, 4, 4));
    } else {
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr(fmt::format("result 1 is {}x2xf32 where 3x2xf32 was expected", n)));
    }
  }
}

#ifdef TENON_COUNTS_ALLOCATIONS
// What the last run took is the first guess of the next.
TEST(StackedResults, OfUnknownNumbersOfRunsGrowOnce) {
  absl::StatusOr<Program> program =
      CompileText(StackedWhile("tensor<?x?xf32, [\"K\", \"N\"]>", 0), /*reference=*/false);
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  const auto repeated = [&](int64_t n) {
    const std::vector<Tensor> inputs = Inputs(n, 1000);
    int allocations = 0;
    for (int run = 0; run < 3; ++run) {
      allocations::Count count;
      auto results = session.Run(inputs);
      count.Stop();
      EXPECT_TRUE(results.ok()) << results.status();
      ExpectSlices(results->front(), n, 0, false);
      allocations = count.ours();
    }
    return allocations;
  };
  const int few = repeated(5);
  EXPECT_EQ(repeated(200), few);
  EXPECT_EQ(repeated(5), few);
}

TEST(StackedResults, OfManyAxesAllocateNothing) {
  const std::string slice = "tensor<1x1x1x1x1x1x1x2xf32>", result = "tensor<3x1x1x1x1x1x1x1x2xf32>";
  absl::StatusOr<Program> program = CompileText(
      Function("%n: tensor<i64>, %x: " + slice, "(tensor<i64>, " + slice + ") -> " + result,
               fmt::format(R"ir({0}
  %r:2 = ctl.for(%zero, %n, %one, %x) <{{scan_axes = array<i64: 0>}}> ({{
  ^bb0(%i: tensor<i64>, %y: {1}):
    %0 = ten.add(%y, %x) : ({1}, {1}) -> {1}
    ctl.yield(%0, %0) : ({1}, {1}) -> ()
  }}) : (tensor<i64>, tensor<i64>, tensor<i64>, {1}) -> ({1}, {2})
  func.return(%r#1) : ({2}) -> ()
)ir",
                           kNumbers, slice, result)));
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  const std::vector<Tensor> inputs = {Number(3), Floats({1, 1, 1, 1, 1, 1, 1, 2}, {1, 1})};
  const std::vector<kernels::TensorView> from = {inputs[0].view(), inputs[1].view()};
  const Tensor to = Tensor::Make(DType::kF32, std::vector<int64_t>{3, 1, 1, 1, 1, 1, 1, 1, 2});
  const std::vector<kernels::TensorView> views = {to.view()};
  for (int run = 0; run < 4; ++run) {
    allocations::Count count;
    const absl::Status status = session.Run(from, views);
    count.Stop();
    ASSERT_TRUE(status.ok()) << status;
    if (run < 2) continue;
    EXPECT_EQ(count.ours(), 0) << "run " << run;
    EXPECT_THAT(ValuesOf<float>(to), ElementsAre(2, 2, 3, 3, 4, 4));
  }
}
#else
TEST(StackedResults, OfUnknownNumbersOfRunsGrowOnce) {
  GTEST_SKIP() << "sanitizers own the allocator, whose calls are counted";
}
#endif

}  // namespace
}  // namespace tenon
