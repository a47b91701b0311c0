#include "executor/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/executor/run_util.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// [B, S, 4] -> layer norm -> matmul with a weight -> + x -> softmax over the rows; and the shape as
// a value.
std::string Symbolic() {
  return Function("%x: tensor<?x?x4xf32, [\"B\", \"S\", \"\"]>",
                  "(tensor<?x?x4xf32, [\"B\", \"S\", \"\"]>) -> (tensor<?x?x4xf32, [\"B\", \"S\", "
                  "\"\"]>, tensor<2xi64>)",
                  R"ir(
  %w = core.constant() <{value = dense<[[1.0, 0.0, 0.0, 0.5], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.25, 0.0, 0.0, 1.0]]> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
  %0 = nn.layer_norm(%x) <{axis = 2 : i64, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<?x?x4xf32, ["B", "S", ""]>) -> tensor<?x?x4xf32, ["B", "S", ""]>
  %1 = ten.matmul(%0, %w) : (tensor<?x?x4xf32, ["B", "S", ""]>, tensor<4x4xf32>) -> tensor<?x?x4xf32, ["B", "S", ""]>
  %2 = ten.add(%1, %x) : (tensor<?x?x4xf32, ["B", "S", ""]>, tensor<?x?x4xf32, ["B", "S", ""]>) -> tensor<?x?x4xf32, ["B", "S", ""]>
  %3 = ten.reshape(%2) <{shape = #core.dims<"B*S", 4>}> : (tensor<?x?x4xf32, ["B", "S", ""]>) -> tensor<?x4xf32, ["B*S", ""]>
  %4 = nn.softmax(%3) <{axis = 1 : i64}> : (tensor<?x4xf32, ["B*S", ""]>) -> tensor<?x4xf32, ["B*S", ""]>
  %5 = ten.reshape(%4) <{shape = #core.dims<"B", "S", 4>}> : (tensor<?x4xf32, ["B*S", ""]>) -> tensor<?x?x4xf32, ["B", "S", ""]>
  %6 = ten.shape(%x) <{start = 0 : i64, end = 2 : i64}> : (tensor<?x?x4xf32, ["B", "S", ""]>) -> tensor<2xi64>
  func.return(%5, %6) : (tensor<?x?x4xf32, ["B", "S", ""]>, tensor<2xi64>) -> ()
)ir");
}

TEST(Program, RunsStaticShapes) {
  std::string lowered;
  absl::StatusOr<Program> program = CompileText(AddMul(), true, &lowered);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(lowered, HasSubstr("kernel.arena_bytes"));
  EXPECT_THAT(lowered, HasSubstr("\"ref.add\""));
  EXPECT_THAT(lowered, HasSubstr("offsets"));
  const std::vector<Tensor> inputs = {Floats({2, 2}, {1, 2, 3, 4}),
                                      Floats({2, 2}, {10, 20, 30, 40})};
  absl::StatusOr<std::vector<Tensor>> out = program->Run(inputs);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(ValuesOf<float>((*out)[0]), ElementsAre(-110, -440, -990, -1760));
  EXPECT_THAT(ValuesOf<float>((*out)[1]),
              ElementsAre(-110 * 110 - 440 * 990, -110 * 440 - 440 * 1760, -990 * 110 - 1760 * 990,
                          -990 * 440 - 1760 * 1760));
  // The inputs are still what they were, and the arena holds nothing of the last run that matters.
  out = program->Run(inputs);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(ValuesOf<float>((*out)[0]), ElementsAre(-110, -440, -990, -1760));
}

TEST(Program, FastKernelsGiveTheSame) {
  absl::StatusOr<Program> reference = CompileText(Symbolic(), true),
                          fast = CompileText(Symbolic(), false);
  ASSERT_TRUE(reference.ok()) << reference.status();
  ASSERT_TRUE(fast.ok()) << fast.status();
  const std::vector<Tensor> inputs = {Ramp({3, 5, 4})};
  absl::StatusOr<std::vector<Tensor>> a = reference->Run(inputs), b = fast->Run(inputs);
  ASSERT_TRUE(a.ok()) << a.status();
  ASSERT_TRUE(b.ok()) << b.status();
  EXPECT_THAT(ValuesOf<float>((*b)[0]),
              ::testing::Pointwise(::testing::FloatNear(1e-5f), ValuesOf<float>((*a)[0])));
}

// Rows are independent: what a row gives must not depend on how many there are.
TEST(Program, RunsManyShapes) {
  absl::StatusOr<Program> program = CompileText(Symbolic());
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  std::vector<float> first_row;
  for (int64_t b : {1, 2, 3, 7, 2, 1}) {
    for (int64_t s : {1, 4, 5, 6, 7, 8, 5}) {
      const std::vector<Tensor> inputs = {Ramp({b, s, 4})};
      absl::StatusOr<std::vector<Tensor>> out = session.Run(inputs);
      ASSERT_TRUE(out.ok()) << out.status();
      EXPECT_EQ(ShapeOf((*out)[0]), (std::vector<int64_t>{b, s, 4}));
      EXPECT_THAT(ValuesOf<int64_t>((*out)[1]), ElementsAre(b, s));
      std::vector<float> row = ValuesOf<float>((*out)[0]);
      for (int64_t r = 0; r < b * s; ++r) {
        EXPECT_NEAR(row[r * 4] + row[r * 4 + 1] + row[r * 4 + 2] + row[r * 4 + 3], 1, 1e-5);
      }
      row.resize(4);
      if (first_row.empty()) first_row = row;
      EXPECT_EQ(row, first_row);
    }
  }
  EXPECT_EQ(session.stats().dynamic_runs, 0);
}

TEST(Program, PlansOncePerShapeClass) {
  absl::StatusOr<Program> program = CompileText(Symbolic());
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  auto run = [&](int64_t b, int64_t s) {
    const std::vector<Tensor> inputs = {Ramp({b, s, 4})};
    absl::StatusOr<std::vector<Tensor>> out = session.Run(inputs);
    ASSERT_TRUE(out.ok()) << out.status();
  };
  for (int64_t s = 33; s <= 64; ++s) run(2, s);
  EXPECT_EQ(session.stats().plans_made, 1);
  EXPECT_EQ(session.stats().shapes_prepared, 32);
  run(2, 64);
  EXPECT_EQ(session.stats().shapes_prepared, 32) << "the last shape is ready";
  const size_t arena = session.stats().arena_bytes;
  run(2, 65);
  EXPECT_EQ(session.stats().plans_made, 2);
  EXPECT_GT(session.stats().arena_bytes, arena);
  run(2, 50);  // an older shape, in the larger arena
  EXPECT_EQ(session.stats().plans_made, 2);
}

// A part of the program sees the past, a part does not: every size gives what it gives alone,
// whatever was run before it.
TEST(Program, SizesThatComeAndGo) {
  const std::string text = Function(
      R"(%q: tensor<?x?x4xf32, ["B", "S", ""]>, %p: tensor<?x?x4xf32, ["B", "P", ""]>)",
      R"((tensor<?x?x4xf32, ["B", "S", ""]>, tensor<?x?x4xf32, ["B", "P", ""]>) -> (tensor<?x?x4xf32, ["B", "P + S", ""]>, tensor<?x?x4xf32, ["B", "S", ""]>, tensor<2xi64>))",
      R"ir(
  %w = core.constant() <{value = dense<[[1.0, 2.0, 3.0, 4.0], [0.5, 0.25, -1.0, 2.0], [1.0, 1.0, 0.0, 0.0], [2.0, 0.0, 1.0, -3.0]]> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
  %two = core.constant() <{value = dense<2> : tensor<2xi64>}> : () -> tensor<2xi64>
  %0 = ten.matmul(%q, %w) : (tensor<?x?x4xf32, ["B", "S", ""]>, tensor<4x4xf32>) -> tensor<?x?x4xf32, ["B", "S", ""]>
  %1 = ten.reshape(%0) <{shape = #core.dims<"B * S", 4>}> : (tensor<?x?x4xf32, ["B", "S", ""]>) -> tensor<?x4xf32, ["B * S", ""]>
  %2 = nn.softmax(%1) <{axis = 1 : i64}> : (tensor<?x4xf32, ["B * S", ""]>) -> tensor<?x4xf32, ["B * S", ""]>
  %3 = ten.reshape(%2) <{shape = #core.dims<"B", "S", 4>}> : (tensor<?x4xf32, ["B * S", ""]>) -> tensor<?x?x4xf32, ["B", "S", ""]>
  %4 = ten.concat(%p, %3) <{axis = 1 : i64}> : (tensor<?x?x4xf32, ["B", "P", ""]>, tensor<?x?x4xf32, ["B", "S", ""]>) -> tensor<?x?x4xf32, ["B", "P + S", ""]>
  %5 = core.dims() <{dims = #core.dims<"P", "S">}> : () -> tensor<2xi64>
  %6 = ten.mul(%5, %two) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  func.return(%4, %3, %6) : (tensor<?x?x4xf32, ["B", "P + S", ""]>, tensor<?x?x4xf32, ["B", "S", ""]>, tensor<2xi64>) -> ()
)ir");
  for (const bool reference : {false, true}) {
    absl::StatusOr<Program> program = CompileText(text, reference);
    ASSERT_TRUE(program.ok()) << program.status();
    Session session = program->NewSession();
    const std::vector<std::vector<int64_t>> sizes = {
        {1, 1, 5}, {1, 1, 6}, {1, 1, 7}, {2, 3, 7}, {3, 2, 7}, {6, 1, 7}, {6, 1, 0},
        {1, 6, 0}, {1, 1, 5}, {1, 4, 5}, {1, 1, 8}, {1, 0, 8}, {1, 0, 9}, {1, 1, 6}};
    for (const std::vector<int64_t>& size : sizes) {
      const int64_t b = size[0], s = size[1], p = size[2];
      SCOPED_TRACE(::testing::Message() << "B " << b << ", S " << s << ", P " << p);
      const std::vector<Tensor> inputs = {Ramp({b, s, 4}), Ramp({b, p, 4})};
      absl::StatusOr<std::vector<Tensor>> out = session.Run(inputs);
      absl::StatusOr<std::vector<Tensor>> alone = program->NewSession().Run(inputs);
      ASSERT_TRUE(out.ok()) << out.status();
      ASSERT_TRUE(alone.ok()) << alone.status();
      EXPECT_EQ(ShapeOf((*out)[0]), (std::vector<int64_t>{b, p + s, 4}));
      EXPECT_EQ(ValuesOf<float>((*out)[0]), ValuesOf<float>((*alone)[0]));
      EXPECT_EQ(ValuesOf<float>((*out)[1]), ValuesOf<float>((*alone)[1]));
      EXPECT_THAT(ValuesOf<int64_t>((*out)[2]), ElementsAre(2 * p, 2 * s));
    }
    EXPECT_EQ(session.stats().dynamic_runs, 0);
  }
}

TEST(Program, SizesThatDoNotFitAreRefusedAfterOthers) {
  absl::StatusOr<Program> program = CompileText(Function(
      R"(%a: tensor<?x4xf32, ["N", ""]>, %b: tensor<?x4xf32, ["M", ""]>)",
      R"ir((tensor<?x4xf32, ["N", ""]>, tensor<?x4xf32, ["M", ""]>) -> (tensor<?x4xf32, ["broadcast(M, N)", ""]>, tensor<?x4xf32, ["N", ""]>))ir",
      R"ir(
  %0 = ten.add(%a, %b) : (tensor<?x4xf32, ["N", ""]>, tensor<?x4xf32, ["M", ""]>) -> tensor<?x4xf32, ["broadcast(M, N)", ""]>
  %1 = ten.neg(%a) : (tensor<?x4xf32, ["N", ""]>) -> tensor<?x4xf32, ["N", ""]>
  func.return(%0, %1) : (tensor<?x4xf32, ["broadcast(M, N)", ""]>, tensor<?x4xf32, ["N", ""]>) -> ()
)ir"));
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  for (const auto& [n, m, fits] :
       {std::tuple(3, 3, true), {3, 4, false}, {3, 1, true}, {4, 3, false}, {1, 4, true}}) {
    const std::vector<Tensor> inputs = {Ramp({n, 4}), Ramp({m, 4})};
    EXPECT_EQ(session.Run(inputs).ok(), fits) << n << ", " << m;
  }
}

TEST(Program, SessionsRunInParallel) {
  absl::StatusOr<Program> program = CompileText(Symbolic(), false);
  ASSERT_TRUE(program.ok()) << program.status();
  const std::vector<Tensor> small = {Ramp({1, 3, 4})}, large = {Ramp({2, 9, 4})};
  const std::vector<float> expect_small = ValuesOf<float>((*program->Run(small))[0]);
  const std::vector<float> expect_large = ValuesOf<float>((*program->Run(large))[0]);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const bool use_small = (i + t) % 2 == 0;
        absl::StatusOr<std::vector<Tensor>> out = program->Run(use_small ? small : large);
        if (!out.ok() || ValuesOf<float>((*out)[0]) != (use_small ? expect_small : expect_large))
          ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Program, OutlivesTheModule) {
  absl::StatusOr<Program> program = absl::UnknownError("");
  program = CompileText(AddMul());  // the module is gone when this returns
  ASSERT_TRUE(program.ok());
  Program copy = *program;
  program = absl::UnknownError("");
  EXPECT_TRUE(copy.Run(std::vector{Ramp({2, 2}), Ramp({2, 2})}).ok());
}

TEST(Program, ReturnsInputsConstantsAndRepeats) {
  absl::StatusOr<Program> program =
      CompileText(Function("%a: tensor<2xf32>",
                           "(tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<1x2xf32>, "
                           "tensor<2xf32>, tensor<2xf32>)",
                           R"ir(
  %c = core.constant() <{value = dense<[5.0, 6.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
  %v = ten.reshape(%a) <{shape = #core.dims<1, 2>}> : (tensor<2xf32>) -> tensor<1x2xf32>
  %s = ten.add(%a, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return(%a, %c, %v, %s, %s) : (tensor<2xf32>, tensor<2xf32>, tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>) -> ()
)ir"));
  ASSERT_TRUE(program.ok()) << program.status();
  absl::StatusOr<std::vector<Tensor>> out = program->Run(std::vector{Floats({2}, {1, 2})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(ValuesOf<float>((*out)[0]), ElementsAre(1, 2));
  EXPECT_THAT(ValuesOf<float>((*out)[1]), ElementsAre(5, 6));
  EXPECT_THAT(ValuesOf<float>((*out)[2]), ElementsAre(1, 2));
  EXPECT_THAT(ValuesOf<float>((*out)[3]), ElementsAre(6, 8));
  EXPECT_THAT(ValuesOf<float>((*out)[4]), ElementsAre(6, 8));
}

TEST(Program, InPlaceLeavesWhatIsStillNeeded) {
  // %0 is used twice, %1 is a view of it: neither relu may write over it; the last add may.
  std::string lowered;
  absl::StatusOr<Program> program =
      CompileText(Function("%a: tensor<2x2xf32>", "(tensor<2x2xf32>) -> tensor<4xf32>", R"ir(
  %0 = ten.add(%a, %a) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = ten.reshape(%0) <{shape = #core.dims<4>}> : (tensor<2x2xf32>) -> tensor<4xf32>
  %2 = ten.relu(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = ten.reshape(%2) <{shape = #core.dims<4>}> : (tensor<2x2xf32>) -> tensor<4xf32>
  %4 = ten.neg(%3) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = ten.add(%1, %4) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = ten.mul(%5, %5) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return(%6) : (tensor<4xf32>) -> ()
)ir"),
                  false, &lowered);
  ASSERT_TRUE(program.ok()) << program.status();
  absl::StatusOr<std::vector<Tensor>> out =
      program->Run(std::vector{Floats({2, 2}, {1, -2, 3, -4})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(ValuesOf<float>((*out)[0]), ElementsAre(0, 16, 0, 64));
  EXPECT_THAT(lowered, HasSubstr("inplace = 0")) << lowered;
}

TEST(Program, WhatIsReadAsAWholeIsNotOverwritten) {
  // A product may take the place of what is added to it, but not of its own factor.
  const auto lowered_with = [](const std::string& added) {
    std::string lowered;
    absl::StatusOr<Program> program = CompileText(
        Function(
            "%a: tensor<2x2xf32>", "(tensor<2x2xf32>) -> tensor<2x2xf32>",
            R"ir(
  %w = core.constant() <{value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>}> : () -> tensor<2x2xf32>
  %x = ten.add(%a, %a) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %y = ten.mul(%a, %a) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = fused.linear(%x, %w, )ir" +
                added +
                R"ir() <{operandSegmentSizes = array<i32: 1, 1, 0, 1>}> : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = ten.mul(%a, %1) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return(%2) : (tensor<2x2xf32>) -> ()
)ir"),
        false, &lowered);
    EXPECT_TRUE(program.ok()) << program.status();
    return lowered;
  };
  EXPECT_THAT(lowered_with("%y"), HasSubstr("inplace = 2 : i64, kernel = \"cpu.fused_linear"));
  EXPECT_THAT(lowered_with("%x"), HasSubstr("<{kernel = \"cpu.fused_linear"));
}

TEST(Program, SolvesSymbolsInSums) {
  // total = past + S: past follows from the other two.
  absl::StatusOr<Program> program = CompileText(
      Function("%a: tensor<?xf32, [\"past + S\"]>, %b: tensor<?xf32, [\"S\"]>",
               "(tensor<?xf32, [\"past + S\"]>, tensor<?xf32, [\"S\"]>) -> tensor<1xi64>", R"ir(
  %0 = core.dims() <{dims = #core.dims<"past">}> : () -> tensor<1xi64>
  func.return(%0) : (tensor<1xi64>) -> ()
)ir"));
  ASSERT_TRUE(program.ok()) << program.status();
  absl::StatusOr<std::vector<Tensor>> out = program->Run(std::vector{Ramp({7}), Ramp({3})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(ValuesOf<int64_t>((*out)[0]), ElementsAre(4));
  out = program->Run(std::vector{Ramp({2}), Ramp({3})});
  EXPECT_THAT(std::string(out.status().message()), HasSubstr("'arg0'"));
}

// Shapes that follow from run-time values.
std::string DataDependent() {
  return Function(
      "%n: tensor<i64>, %x: tensor<?xf32, [\"N\"]>",
      "(tensor<i64>, tensor<?xf32, [\"N\"]>) -> (tensor<?xi64, [\"r\"]>, tensor<?xf32, [\"s\"]>)",
      R"ir(
  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %one = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
  %start = core.constant() <{value = dense<0> : tensor<1xi64>}> : () -> tensor<1xi64>
  %0 = ten.range(%zero, %n, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64, ["r"]>
  %1 = ten.reshape(%n) <{shape = #core.dims<1>}> : (tensor<i64>) -> tensor<1xi64>
  %2 = ten.dynamic_slice(%x, %start, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (tensor<?xf32, ["N"]>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32, ["s"]>
  %3 = ten.neg(%2) : (tensor<?xf32, ["s"]>) -> tensor<?xf32, ["s"]>
  func.return(%0, %3) : (tensor<?xi64, ["r"]>, tensor<?xf32, ["s"]>) -> ()
)ir");
}

TEST(Program, RunsDataDependentShapes) {
  absl::StatusOr<Program> program = CompileText(DataDependent());
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  for (int64_t n : {2, 3, 0, 9}) {
    const std::vector<Tensor> inputs = {Ints({}, {n}), Floats({4}, {1, 2, 3, 4})};
    absl::StatusOr<std::vector<Tensor>> out = session.Run(inputs);
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ((*out)[0].numel(), n);
    std::vector<float> expected = {-1, -2, -3, -4};
    expected.resize(std::min<size_t>(n, 4));
    EXPECT_EQ(ValuesOf<float>((*out)[1]), expected);
  }
  EXPECT_EQ(session.stats().dynamic_runs, 4);
}

TEST(Program, ShapeArithmeticIsDoneAtPlanTime) {
  // The run-time form of reshape, with a shape that follows from the input's shape alone.
  absl::StatusOr<Program> program = CompileText(
      Function("%x: tensor<?x?x4xf32, [\"B\", \"S\", \"\"]>",
               "(tensor<?x?x4xf32, [\"B\", \"S\", \"\"]>) -> tensor<?x?xf32, [\"u\", \"v\"]>", R"ir(
  %four = core.constant() <{value = dense<4> : tensor<1xi64>}> : () -> tensor<1xi64>
  %minus = core.constant() <{value = dense<-1> : tensor<1xi64>}> : () -> tensor<1xi64>
  %s = ten.shape(%x) <{start = 1 : i64, end = 2 : i64}> : (tensor<?x?x4xf32, ["B", "S", ""]>) -> tensor<1xi64>
  %0 = ten.mul(%s, %four) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %1 = ten.concat(%minus, %0) <{axis = 0 : i64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %2 = ten.dynamic_reshape(%x, %1) : (tensor<?x?x4xf32, ["B", "S", ""]>, tensor<2xi64>) -> tensor<?x?xf32, ["u", "v"]>
  %3 = ten.neg(%2) : (tensor<?x?xf32, ["u", "v"]>) -> tensor<?x?xf32, ["u", "v"]>
  func.return(%3) : (tensor<?x?xf32, ["u", "v"]>) -> ()
)ir"));
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  for (int64_t s : {3, 5, 3}) {
    const std::vector<Tensor> inputs = {Ramp({2, s, 4})};
    absl::StatusOr<std::vector<Tensor>> out = session.Run(inputs);
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ(ShapeOf((*out)[0]), (std::vector<int64_t>{2, s * 4}));
    EXPECT_FLOAT_EQ((*out)[0].as<float>()[1], 0.4f);
  }
  EXPECT_EQ(session.stats().dynamic_runs, 0);
  EXPECT_EQ(session.stats().shapes_prepared, 2);
}

}  // namespace
}  // namespace tenon
