// Inputs and outputs that stay bound from run to run.
#include "executor/io_binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/executor/run_util.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

// A decoder's state: present is past and what the step adds; the sum is what it computes of it.
std::string Step() {
  return Function("%x: tensor<1x2xf32>, %past: tensor<?x2xf32, [\"P\", \"\"]>",
                  "(tensor<1x2xf32>, tensor<?x2xf32, [\"P\", \"\"]>) -> (tensor<1x2xf32>, "
                  "tensor<?x2xf32, [\"P + 1\", \"\"]>)",
                  R"ir(
  %0 = ten.concat(%past, %x) <{axis = 0 : i64}> : (tensor<?x2xf32, ["P", ""]>, tensor<1x2xf32>) -> tensor<?x2xf32, ["P + 1", ""]>
  %1 = ten.reduce_sum(%0) <{axes = array<i64: 0>, keepdims = true}> : (tensor<?x2xf32, ["P + 1", ""]>) -> tensor<1x2xf32>
  func.return(%1, %0) : (tensor<1x2xf32>, tensor<?x2xf32, ["P + 1", ""]>) -> ()
)ir");
}

Program Compiled(const std::string& text) {
  absl::StatusOr<Program> program = CompileText(text, false);
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

TEST(IoBinding, RunsOnWhatIsBound) {
  const Program program = Compiled(AddMul());
  Session session = program.NewSession();
  IoBinding binding(program);
  const Tensor a = Floats({2, 2}, {1, 2, 3, 4}), b = Floats({2, 2}, {1, 1, 1, 1});
  const Tensor mine = Tensor::Make(DType::kF32, std::vector<int64_t>{2, 2});
  EXPECT_EQ(binding.input("arg1").status(),
            absl::FailedPreconditionError("input 'arg1' is not bound"));
  ASSERT_TRUE(binding.BindInput(0, a).ok());
  ASSERT_TRUE(binding.BindInput("arg1", b).ok());
  ASSERT_TRUE(binding.BindOutput("result0", mine).ok());
  EXPECT_EQ(binding.output(0)->data(), mine.data());
  EXPECT_EQ(binding.output(1).status(),
            absl::FailedPreconditionError("output 'result1' has no value before the first run"));
  ASSERT_TRUE(session.Run(binding).ok());
  EXPECT_EQ(ValuesOf<float>(mine), (std::vector<float>{-2, -3, -4, -5}));
  EXPECT_EQ(binding.output(0)->data(), mine.data());
  const void* own = binding.output(1)->data();

  // New values in the same memory; results too.
  a.as<float>()[0] = 9;
  ASSERT_TRUE(session.Run(binding).ok());
  EXPECT_EQ(ValuesOf<float>(mine), (std::vector<float>{-10, -3, -4, -5}));
  EXPECT_EQ(binding.output("result1")->data(), own);
}

TEST(IoBinding, CarriesThePresentOver) {
  const Program program = Compiled(Step());
  Session session = program.NewSession();
  IoBinding binding(program);
  const Tensor x = Floats({1, 2}, {1, 10});
  const Tensor first = Floats({1, 2}, {100, 1000});
  ASSERT_TRUE(binding.BindInput("arg0", x).ok());
  ASSERT_TRUE(binding.BindInput("arg1", first).ok());
  ASSERT_TRUE(binding.Carry("result1", "arg1").ok());
  std::vector<float> past = {100, 1000};
  for (int step = 1; step <= 40; ++step) {
    x.as<float>()[0] = static_cast<float>(step);
    past.insert(past.end(), {static_cast<float>(step), 10});
    ASSERT_TRUE(session.Run(binding).ok());
    EXPECT_EQ(ValuesOf<float>(*binding.output("result1")), past);
    EXPECT_EQ(ShapeOf(*binding.input("arg1")), (std::vector<int64_t>{step + 1, 2}));
    EXPECT_EQ(ValuesOf<float>(*binding.output(0))[0],
              100.0f + static_cast<float>(step * (step + 1) / 2));
  }
  // The tensor that the past began with was not written to.
  EXPECT_EQ(ValuesOf<float>(first), (std::vector<float>{100, 1000}));
  // And a new sequence begins with another.
  ASSERT_TRUE(binding.BindInput("arg1", Floats({1, 2}, {7, 7})).ok());
  ASSERT_TRUE(session.Run(binding).ok());
  EXPECT_EQ(ValuesOf<float>(*binding.output("result1")), (std::vector<float>{7, 7, 40, 10}));
}

// The same by hand: an output that is bound as an input keeps its memory.
TEST(IoBinding, OutputsMayBeBoundAsInputs) {
  const Program program = Compiled(Step());
  Session session = program.NewSession();
  IoBinding binding(program);
  ASSERT_TRUE(binding.BindInput(0, Floats({1, 2}, {1, 2})).ok());
  ASSERT_TRUE(binding.BindInput(1, Floats({1, 2}, {3, 4})).ok());
  std::vector<float> past = {3, 4};
  for (int step = 0; step < 5; ++step) {
    ASSERT_TRUE(session.Run(binding).ok());
    past.insert(past.end(), {1, 2});
    EXPECT_EQ(ValuesOf<float>(*binding.output(1)), past);
    ASSERT_TRUE(binding.BindInput(1, *binding.output(1)).ok());
  }
}

// What was carried over and is bound as another input, too, keeps its memory.
TEST(IoBinding, CarriedResultsMayBeBoundAsOtherInputs) {
  const Program program = Compiled(AddMul());
  Session session = program.NewSession();
  IoBinding binding(program);
  ASSERT_TRUE(binding.BindInput(0, Ramp({2, 2})).ok());
  ASSERT_TRUE(binding.BindInput(1, Floats({2, 2}, {1, 1, 1, 1})).ok());
  ASSERT_TRUE(binding.Carry(1, 0).ok());
  ASSERT_TRUE(session.Run(binding).ok());
  const Tensor first = *binding.output(1);
  const std::vector<float> values = ValuesOf<float>(first);
  ASSERT_TRUE(binding.BindInput(1, first).ok());
  for (int step = 0; step < 3; ++step) {
    const Tensor before = Tensor::Copy(DType::kF32, first.shape(), binding.input(0)->data());
    ASSERT_TRUE(session.Run(binding).ok());
    EXPECT_EQ(ValuesOf<float>(first), values) << step;
    absl::StatusOr<std::vector<Tensor>> expected = program.Run(std::vector{before, first});
    ASSERT_TRUE(expected.ok());
    EXPECT_EQ(ValuesOf<float>(*binding.output(1)), ValuesOf<float>((*expected)[1])) << step;
  }
}

// Results whose shape depends on values.
TEST(IoBinding, DynamicPrograms) {
  const Program program =
      Compiled(Function("%n: tensor<i64>", "(tensor<i64>) -> tensor<?xi64>", R"ir(
  %0 = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %1 = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
  %2 = ten.range(%0, %n, %1) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  func.return(%2) : (tensor<?xi64>) -> ()
)ir"));
  Session session = program.NewSession();
  IoBinding binding(program);
  const Tensor n = Ints({}, {3});
  ASSERT_TRUE(binding.BindInput(0, n).ok());
  for (int64_t length : {3, 5, 1}) {
    n.as<int64_t>()[0] = length;
    ASSERT_TRUE(session.Run(binding).ok());
    std::vector<int64_t> expected(static_cast<size_t>(length));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(ValuesOf<int64_t>(*binding.output(0)), expected);
  }
  ASSERT_TRUE(binding.BindOutput(0, Ints({1}, {7})).ok());
  ASSERT_TRUE(session.Run(binding).ok());
  EXPECT_EQ(ValuesOf<int64_t>(*binding.output(0)), std::vector<int64_t>{0});
}

TEST(IoBinding, Errors) {
  const Program program = Compiled(Step());
  Session session = program.NewSession();
  IoBinding binding(program);
  const auto message = [](const absl::Status& status) { return std::string(status.message()); };
  const Tensor x = Floats({1, 2}, {1, 2});
  EXPECT_EQ(message(binding.BindInput("pats", x)),
            "there is no input 'pats' (expected arg0, arg1)");
  EXPECT_EQ(message(binding.BindOutput(2)), "there is no output 2 (the program has 2)");
  EXPECT_THAT(message(binding.BindInput(0, Ints({1}, {1}))), HasSubstr("is 1xi64 (expected f32)"));
  EXPECT_THAT(message(binding.BindInput(0, Tensor())), HasSubstr("is null"));
  ASSERT_TRUE(binding.BindInput(0, x).ok());
  EXPECT_EQ(message(session.Run(binding)), "input 'arg1' is not bound");
  ASSERT_TRUE(binding.BindInput(1, Floats({2, 2}, {1, 2, 3, 4})).ok());
  ASSERT_TRUE(binding.BindOutput(1, x).ok());
  EXPECT_EQ(message(session.Run(binding)), "output 'result1' overlaps input 'arg0'");
  ASSERT_TRUE(binding.BindOutput(1, Ramp({2, 2})).ok());
  EXPECT_THAT(message(session.Run(binding)), HasSubstr("'result1' is 2x2xf32 (expected 3x2xf32)"));
  ASSERT_TRUE(binding.BindOutput(1).ok());
  EXPECT_TRUE(session.Run(binding).ok());
  ASSERT_TRUE(binding.Carry(0, 1).ok());
  EXPECT_THAT(message(binding.Carry(1, 1)), HasSubstr("already comes from output 'result0'"));
  ASSERT_TRUE(binding.BindOutput(0).ok());
  EXPECT_TRUE(binding.Carry(1, 1).ok());

  IoBinding other(Compiled(AddMul()));
  EXPECT_EQ(message(session.Run(other)), "the binding was made for another program");
}

}  // namespace
}  // namespace tenon
