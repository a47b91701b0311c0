// Random numbers in programs: what a run repeats, and that a plan keeps no draw.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/executor/run_util.h"

namespace tenon {
namespace {

// Two draws of one stream, and one draw for each of `n` iterations of a loop.
std::string Drawing() {
  return Function("%n: tensor<i64>",
                  "(tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<?x4xf32>)", R"ir(
  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %one = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
  %0 = random.uniform() <{shape = #core.dims<4>, to = f32, stream = 1}> : () -> tensor<4xf32>
  %1 = random.uniform() <{shape = #core.dims<4>, to = f32, stream = 1}> : () -> tensor<4xf32>
  %2 = ctl.for(%zero, %n, %one) <{scan_axes = array<i64: 0>}> ({
  ^bb0(%i: tensor<i64>):
    %d = random.normal() <{shape = #core.dims<4>, to = f32, stream = 2}> : () -> tensor<4xf32>
    ctl.yield(%d) : (tensor<4xf32>) -> ()
  }) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?x4xf32>
  func.return(%0, %1, %2) : (tensor<4xf32>, tensor<4xf32>, tensor<?x4xf32>) -> ()
)ir");
}

std::vector<float> Flat(const std::vector<Tensor>& outputs) {
  std::vector<float> all;
  for (const Tensor& output : outputs) {
    const std::vector<float> values = ValuesOf<float>(output);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(RandomNumbers, ARunDrawsAnewAndTheNextOneRepeatsIt) {
  const auto program = CompileText(Drawing());
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  const std::vector<Tensor> three = {MakeTensor<int64_t>(DType::kI64, {}, {3})};
  const auto first = session.Run(three), again = session.Run(three);
  const auto other = session.Run(three, {.seed = 1});
  const auto back = session.Run(three);
  ASSERT_TRUE(first.ok() && again.ok() && other.ok() && back.ok()) << first.status();
  const std::vector<float> drawn = Flat(*first);
  ASSERT_EQ(drawn.size(), 20u);
  EXPECT_EQ(std::set<float>(drawn.begin(), drawn.end()).size(), 20u);
  EXPECT_EQ(Flat(*again), drawn);
  EXPECT_EQ(Flat(*back), drawn);
  EXPECT_NE(Flat(*other), drawn);
  // A session of its own, and Program::Run, draw the same.
  const auto elsewhere = program->Run(three, {.seed = 1});
  ASSERT_TRUE(elsewhere.ok());
  EXPECT_EQ(Flat(*elsewhere), Flat(*other));
}

// The extent of a draw may be a symbol, and a draw may decide a shape.
TEST(RandomNumbers, ShapesOfAndFromDraws) {
  const auto program = CompileText(
      Function("%x: tensor<?xf32, [\"N\"]>",
               "(tensor<?xf32, [\"N\"]>) -> (tensor<?xf32, [\"N\"]>, tensor<1x?xi64>)", R"ir(
  %half = core.constant() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
  %0 = random.uniform() <{shape = #core.dims<"N">, to = f32}> : () -> tensor<?xf32, ["N"]>
  %1 = ten.less(%0, %half) : (tensor<?xf32, ["N"]>, tensor<f32>) -> tensor<?xi1, ["N"]>
  %2 = ten.nonzero(%1) : (tensor<?xi1, ["N"]>) -> tensor<1x?xi64>
  func.return(%0, %2) : (tensor<?xf32, ["N"]>, tensor<1x?xi64>) -> ()
)ir"));
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  for (const int64_t count : {64, 65, 64}) {
    const auto outputs = session.Run(std::vector<Tensor>{Ramp({count})});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    const std::vector<float> values = ValuesOf<float>((*outputs)[0]);
    ASSERT_EQ(values.size(), static_cast<size_t>(count));
    std::vector<int64_t> below;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0.5f) below.push_back(static_cast<int64_t>(i));
    }
    EXPECT_EQ(ValuesOf<int64_t>((*outputs)[1]), below);
  }
}

}  // namespace
}  // namespace tenon
