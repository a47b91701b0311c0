// Control flow in programs: what runs, what is shared, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/io_binding.h"
#include "tests/executor/run_util.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// x [N, 2] and a weight; one branch multiplies with it, the other passes x on twice. `condition`
// computes %c of inputs of the given types.
std::string Branches(const std::string& inputs = "%c: tensor<i1>",
                     const std::string& types = "tensor<i1>", const std::string& condition = "") {
  return Function(
      inputs + ", %x: tensor<?x2xf32, [\"N\", \"\"]>",
      "(" + types + ", tensor<?x2xf32, [\"N\", \"\"]>) -> tensor<?x2xf32, [\"M\", \"\"]>",
      condition + R"ir(
  %w = core.constant() <{value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>}> : () -> tensor<2x2xf32>
  %r = ctl.if(%c) ({
    %0 = ten.matmul(%x, %w) : (tensor<?x2xf32, ["N", ""]>, tensor<2x2xf32>) -> tensor<?x2xf32, ["N", ""]>
    %1 = ten.neg(%0) : (tensor<?x2xf32, ["N", ""]>) -> tensor<?x2xf32, ["N", ""]>
    ctl.yield(%1) : (tensor<?x2xf32, ["N", ""]>) -> ()
  }, {
    %0 = ten.concat(%x, %x) <{axis = 0 : i64}> : (tensor<?x2xf32, ["N", ""]>, tensor<?x2xf32, ["N", ""]>) -> tensor<?x2xf32, ["2*N", ""]>
    ctl.yield(%0) : (tensor<?x2xf32, ["2*N", ""]>) -> ()
  }) : (tensor<i1>) -> tensor<?x2xf32, ["M", ""]>
  func.return(%r) : (tensor<?x2xf32, ["M", ""]>) -> ()
)ir");
}

Tensor Bool(bool value) {
  return MakeTensor<uint8_t>(DType::kBool, {}, {value ? uint8_t{1} : uint8_t{0}});
}
Tensor Int(int64_t value) { return MakeTensor<int64_t>(DType::kI64, {}, {value}); }

TEST(Control, BranchesOfDifferentShapes) {
  for (const bool reference : {true, false}) {
    absl::StatusOr<Program> program = CompileText(Branches(), reference);
    ASSERT_TRUE(program.ok()) << program.status();
    Session session = program->NewSession();
    for (int round = 0; round < 2; ++round) {
      auto out = session.Run(std::vector<Tensor>{Bool(true), Floats({1, 2}, {1, 1})});
      ASSERT_TRUE(out.ok()) << out.status();
      EXPECT_THAT(ValuesOf<float>((*out)[0]), ElementsAre(-4, -6));
      out = session.Run(std::vector<Tensor>{Bool(false), Floats({1, 2}, {1, 2})});
      ASSERT_TRUE(out.ok()) << out.status();
      EXPECT_THAT(ValuesOf<float>((*out)[0]), ElementsAre(1, 2, 1, 2));
      EXPECT_THAT((*out)[0].shape(), ElementsAre(2, 2));
    }
    // The function and the branch were prepared once for each value of the condition.
    EXPECT_EQ(session.stats().dynamic_runs, 0);
    EXPECT_EQ(session.stats().shapes_prepared, 4);
  }
}

TEST(Control, ShapesFollowTheConditionBeforeTheRun) {
  absl::StatusOr<Program> program = CompileText(
      Branches("%f: tensor<1xi64>", "tensor<1xi64>",
               "  %n = ten.reshape(%f) <{shape = #core.dims<>}> : (tensor<1xi64>) -> tensor<i64>\n"
               "  %c = ten.cast(%n) <{to = i1}> : (tensor<i64>) -> tensor<i1>\n"));
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  const Tensor x = Floats({1, 2}, {1, 2});
  for (const int64_t flag : {0, 7, 0}) {
    const Tensor condition = Ints({1}, {flag});
    std::vector<kernels::TensorView> inputs = {condition.view(), x.view()};
    inputs[1].data = nullptr;  // that of the condition is enough
    absl::StatusOr<std::vector<ResultShape>> shapes = session.OutputShapes(inputs);
    ASSERT_TRUE(shapes.ok()) << shapes.status();
    EXPECT_THAT((*shapes)[0].shape, ElementsAre(flag == 0 ? 2 : 1, 2));
    inputs[0].data = nullptr;
    EXPECT_THAT(session.OutputShapes(inputs).status().message(),
                HasSubstr("input 'arg0' has no data"));
  }
  EXPECT_EQ(session.stats().dynamic_runs, 0);
  const auto wrong = session.Run(std::vector<Tensor>{Ints({2}, {1, 1}), x});
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument);
  auto out = session.Run(std::vector<Tensor>{Ints({1}, {0}), x});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(ValuesOf<float>((*out)[0]), ElementsAre(1, 2, 1, 2));
}

// A decoder in one piece: with a past it puts a row behind it, without one it begins anew. The
// value of the condition changes in the caller's tensor.
TEST(Control, BoundBranchesCarryTheirResults) {
  absl::StatusOr<Program> program = CompileText(Function(
      "%c: tensor<1xi1>, %x: tensor<1x2xf32>, %past: tensor<?x2xf32, [\"P\", \"\"]>",
      "(tensor<1xi1>, tensor<1x2xf32>, tensor<?x2xf32, [\"P\", \"\"]>) -> tensor<?x2xf32, [\"M\", "
      "\"\"]>",
      R"ir(
  %r = ctl.if(%c) ({
    %0 = ten.concat(%past, %x) <{axis = 0 : i64}> : (tensor<?x2xf32, ["P", ""]>, tensor<1x2xf32>) -> tensor<?x2xf32, ["P + 1", ""]>
    ctl.yield(%0) : (tensor<?x2xf32, ["P + 1", ""]>) -> ()
  }, {
    %0 = ten.neg(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32>
    ctl.yield(%0) : (tensor<1x2xf32>) -> ()
  }) : (tensor<1xi1>) -> tensor<?x2xf32, ["M", ""]>
  func.return(%r) : (tensor<?x2xf32, ["M", ""]>) -> ()
)ir"));
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  IoBinding binding(*program);
  const Tensor condition = MakeTensor<uint8_t>(DType::kBool, {1}, {0});
  const Tensor x = Floats({1, 2}, {0, 0});
  ASSERT_TRUE(binding.BindInput(0, condition).ok());
  ASSERT_TRUE(binding.BindInput(1, x).ok());
  ASSERT_TRUE(binding.BindInput(2, Tensor::Make(DType::kF32, std::vector<int64_t>{0, 2})).ok());
  ASSERT_TRUE(binding.Carry(0, 2).ok());
  std::vector<float> expected;
  float value = 0;
  for (const bool with_past : {false, true, true, false, true, true, true, false}) {
    value += 1;
    condition.as<uint8_t>()[0] = with_past ? 1 : 0;
    x.as<float>()[0] = x.as<float>()[1] = value;
    if (!with_past) expected.clear();
    expected.insert(expected.end(), 2, with_past ? value : -value);
    const absl::Status status = session.Run(binding);
    ASSERT_TRUE(status.ok()) << status;
    absl::StatusOr<Tensor> result = binding.output(0);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(ValuesOf<float>(*result), expected);
  }
  EXPECT_EQ(session.stats().dynamic_runs, 0);
}

// A counter decides by a comparison, and is read as a number too: two branches are prepared, and
// each run sees its own number.
TEST(Control, CountersDecideByComparisons) {
  struct Comparison {
    const char* text;
    bool (*holds)(int64_t);
  };
  const Comparison comparisons[] = {
      {"ten.equal(%n, %two)", [](int64_t n) { return n == 2; }},
      {"ten.less(%n, %two)", [](int64_t n) { return n < 2; }},
      {"ten.less(%two, %n)", [](int64_t n) { return 2 < n; }},
      {"ten.less_equal(%n, %two)", [](int64_t n) { return n <= 2; }},
      {"ten.less_equal(%two, %n)", [](int64_t n) { return 2 <= n; }},
      {"ten.greater(%n, %two)", [](int64_t n) { return n > 2; }},
      {"ten.greater(%two, %n)", [](int64_t n) { return 2 > n; }},
      {"ten.greater_equal(%n, %two)", [](int64_t n) { return n >= 2; }},
      {"ten.greater_equal(%two, %n)", [](int64_t n) { return 2 >= n; }},
  };
  for (const Comparison& comparison : comparisons) {
    for (const bool negated : {false, true}) {
      std::string condition =
          "%two = core.constant() <{value = dense<2> : tensor<i64>}> : () -> tensor<i64>\n"
          "%q = " +
          std::string(comparison.text) + " : (tensor<i64>, tensor<i64>) -> tensor<i1>\n";
      condition += negated ? "%c = ten.not(%q) : (tensor<i1>) -> tensor<i1>\n"
                           : "%c = ten.cast(%q) <{to = i1}> : (tensor<i1>) -> tensor<i1>\n";
      absl::StatusOr<Program> program = CompileText(Function(
          "%n: tensor<i64>, %x: tensor<?xi64, [\"N\"]>",
          "(tensor<i64>, tensor<?xi64, [\"N\"]>) -> tensor<?xi64, [\"M\"]>", condition + R"ir(
  %y = ten.add(%x, %n) : (tensor<?xi64, ["N"]>, tensor<i64>) -> tensor<?xi64, ["N"]>
  %r = ctl.if(%c) ({
    ctl.yield(%y) : (tensor<?xi64, ["N"]>) -> ()
  }, {
    %0 = ten.concat(%y, %x) <{axis = 0 : i64}> : (tensor<?xi64, ["N"]>, tensor<?xi64, ["N"]>) -> tensor<?xi64, ["2*N"]>
    ctl.yield(%0) : (tensor<?xi64, ["2*N"]>) -> ()
  }) : (tensor<i1>) -> tensor<?xi64, ["M"]>
  func.return(%r) : (tensor<?xi64, ["M"]>) -> ()
)ir"));
      ASSERT_TRUE(program.ok()) << program.status();
      Session session = program->NewSession();
      for (int64_t n = -5; n < 10; ++n) {
        auto out = session.Run(std::vector<Tensor>{Int(n), Ints({1}, {100})});
        ASSERT_TRUE(out.ok()) << out.status();
        std::vector<int64_t> expected = {100 + n};
        if (comparison.holds(n) == negated) expected.push_back(100);
        EXPECT_EQ(ValuesOf<int64_t>((*out)[0]), expected) << comparison.text << " of " << n;
      }
      EXPECT_EQ(session.stats().dynamic_runs, 0) << comparison.text;
      EXPECT_EQ(session.stats().shapes_prepared, 4) << comparison.text;
    }
  }
}

// Exporters give conditions as vectors of one element, which are seen as numbers.
TEST(Control, ViewsOfInputsDecide) {
  const std::string seen = " <{shape = #core.dims<>}> : (tensor<1xi1>) -> tensor<i1>\n";
  const struct {
    std::string text;
    bool negated;
  } conditions[] = {
      {"%c = ten.reshape(%b)" + seen, false},
      {"%q = ten.not(%b) : (tensor<1xi1>) -> tensor<1xi1>\n%c = ten.reshape(%q)" + seen, true},
      {"%q = ten.reshape(%b)" + seen + "%c = ten.not(%q) : (tensor<i1>) -> tensor<i1>\n", true},
  };
  for (const auto& [condition, negated] : conditions) {
    absl::StatusOr<Program> program =
        CompileText(Branches("%b: tensor<1xi1>", "tensor<1xi1>", condition));
    ASSERT_TRUE(program.ok()) << program.status();
    Session session = program->NewSession();
    for (const bool b : {true, false, false, true}) {
      const Tensor value = MakeTensor<uint8_t>(DType::kBool, {1}, {b ? uint8_t{1} : uint8_t{0}});
      auto out = session.Run(std::vector<Tensor>{value, Floats({1, 2}, {1, 1})});
      ASSERT_TRUE(out.ok()) << out.status();
      EXPECT_EQ((*out)[0].shape()[0], b != negated ? 1 : 2) << condition;
    }
    EXPECT_EQ(session.stats().dynamic_runs, 0) << condition;
  }
}

// One branch makes what is known after its run only. Runs that take the other are prepared.
TEST(Control, OneBranchDependsOnValues) {
  absl::StatusOr<Program> program =
      CompileText(Function("%c: tensor<i1>, %n: tensor<i64>, %x: tensor<2xi64>",
                           "(tensor<i1>, tensor<i64>, tensor<2xi64>) -> tensor<?xi64, [\"M\"]>",
                           R"ir(
  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %one = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
  %r = ctl.if(%c) ({
    %0 = ten.range(%zero, %n, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64, ["K"]>
    ctl.yield(%0) : (tensor<?xi64, ["K"]>) -> ()
  }, {
    %0 = ten.neg(%x) : (tensor<2xi64>) -> tensor<2xi64>
    ctl.yield(%0) : (tensor<2xi64>) -> ()
  }) : (tensor<i1>) -> tensor<?xi64, ["M"]>
  func.return(%r) : (tensor<?xi64, ["M"]>) -> ()
)ir"));
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  for (int round = 1; round <= 3; ++round) {
    auto out = session.Run(std::vector<Tensor>{Bool(true), Int(3), Ints({2}, {4, 5})});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT(ValuesOf<int64_t>((*out)[0]), ElementsAre(0, 1, 2));
    out = session.Run(std::vector<Tensor>{Bool(false), Int(3), Ints({2}, {4, 5})});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT(ValuesOf<int64_t>((*out)[0]), ElementsAre(-4, -5));
    // The function and the branch.
    EXPECT_EQ(session.stats().dynamic_runs, 2 * round);
  }
}

// The shape of the result is known after the run only; each branch is prepared once.
TEST(Control, ConditionsOfSeveralInputs) {
  absl::StatusOr<Program> program =
      CompileText(Branches("%a: tensor<i1>, %b: tensor<i1>", "tensor<i1>, tensor<i1>",
                           "  %c = ten.and(%a, %b) : (tensor<i1>, tensor<i1>) -> tensor<i1>\n"));
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  const Tensor x = Floats({1, 2}, {1, 2});
  for (const bool b : {true, false, true, false}) {
    auto out = session.Run(std::vector<Tensor>{Bool(true), Bool(b), x});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT((*out)[0].shape(), ElementsAre(b ? 1 : 2, 2));
  }
  EXPECT_EQ(session.stats().dynamic_runs, 4);
  EXPECT_EQ(session.stats().shapes_prepared, 2);
}

// A result that a branch passes on is the caller's alone.
TEST(Control, ResultsAreTheCallersOwn) {
  const std::string text =
      Function("%c: tensor<i1>, %x: tensor<?xf32, [\"N\"]>",
               "(tensor<i1>, tensor<?xf32, [\"N\"]>) -> (tensor<?xf32, [\"M\"]>, tensor<?xf32, "
               "[\"K\"]>, tensor<?xf32, [\"L\"]>)",
               R"ir(
  %w = core.constant() <{value = dense<[5.0, 6.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
  %r:3 = ctl.if(%c) ({
    %0 = ten.neg(%x) : (tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]>
    ctl.yield(%x, %0, %0) : (tensor<?xf32, ["N"]>, tensor<?xf32, ["N"]>, tensor<?xf32, ["N"]>) -> ()
  }, {
    ctl.yield(%w, %w, %w) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> ()
  }) : (tensor<i1>) -> (tensor<?xf32, ["M"]>, tensor<?xf32, ["K"]>, tensor<?xf32, ["L"]>)
  func.return(%r#0, %r#1, %r#2) : (tensor<?xf32, ["M"]>, tensor<?xf32, ["K"]>, tensor<?xf32, ["L"]>) -> ()
)ir");
  absl::StatusOr<Program> program = CompileText(text);
  ASSERT_TRUE(program.ok()) << program.status();
  const Tensor x = Floats({1}, {3});
  for (const bool condition : {true, false, true, false}) {
    auto out = program->Run(std::vector<Tensor>{Bool(condition), x});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ((*out)[0].as<float>()[0], condition ? 3 : 5);
    EXPECT_EQ((*out)[1].as<float>()[0], condition ? -3 : 5);
    for (Tensor& tensor : *out) tensor.as<float>()[0] = 100;
    EXPECT_EQ((*out)[1].as<float>()[0], 100);
    EXPECT_EQ(x.as<float>()[0], 3);
  }
}

// With shapes that are known beforehand the program is prepared as any other.
TEST(Control, StaticShapesArePrepared) {
  const std::string text = Function("%n: tensor<i64>, %x: tensor<2xf32>",
                                    "(tensor<i64>, tensor<2xf32>) -> tensor<2xf32>", R"ir(
  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %one = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
  %a = ten.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %r = ctl.for(%zero, %n, %one, %x) ({
  ^bb0(%i: tensor<i64>, %y: tensor<2xf32>):
    %0 = ten.sub(%y, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    ctl.yield(%0) : (tensor<2xf32>) -> ()
  }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<2xf32>) -> tensor<2xf32>
  %b = ten.neg(%a) : (tensor<2xf32>) -> tensor<2xf32>
  %c = ten.add(%r, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return(%c) : (tensor<2xf32>) -> ()
)ir");
  std::string lowered;
  absl::StatusOr<Program> program = CompileText(text, true, &lowered);
  ASSERT_TRUE(program.ok()) << program.status();
  // The body reads %a in every run: nobody writes over it before the loop has ended.
  EXPECT_THAT(lowered, HasSubstr("ctl.for"));
  Session session = program->NewSession();
  for (int64_t n : {0, 1, 3}) {
    auto out = session.Run(std::vector<Tensor>{Int(n), Floats({2}, {1, -2})});
    ASSERT_TRUE(out.ok()) << out.status();
    const auto f = static_cast<float>(n + 2);
    EXPECT_THAT(ValuesOf<float>((*out)[0]), ElementsAre(f, -2 * f));
  }
  EXPECT_EQ(session.stats().dynamic_runs, 0);
}

TEST(Control, RefusesWhatDoesNotFit) {
  absl::StatusOr<Program> program =
      CompileText(Function("%n: tensor<i64>, %x: tensor<2xf32>",
                           "(tensor<i64>, tensor<2xf32>) -> tensor<?x?xf32, "
                           "[\"K\", \"L\"]>",
                           R"ir(
  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %three = core.constant() <{value = dense<3> : tensor<i64>}> : () -> tensor<i64>
  %r:2 = ctl.for(%zero, %three, %n, %x) <{scan_axes = array<i64: 0>}> ({
  ^bb0(%i: tensor<i64>, %y: tensor<?xf32, ["own"]>):
    %0 = ten.concat(%y, %x) <{axis = 0 : i64}> : (tensor<?xf32, ["own"]>, tensor<2xf32>) -> tensor<?xf32, ["own + 2"]>
    ctl.yield(%0, %0) : (tensor<?xf32, ["own + 2"]>, tensor<?xf32, ["own + 2"]>) -> ()
  }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<2xf32>) -> (tensor<?xf32, ["M"]>, tensor<?x?xf32, ["K", "L"]>)
  func.return(%r#1) : (tensor<?x?xf32, ["K", "L"]>) -> ()
)ir"));
  ASSERT_TRUE(program.ok()) << program.status();
  auto out = program->Run(std::vector<Tensor>{Int(0), Floats({2}, {1, 2})});
  EXPECT_THAT(std::string(out.status().message()),
              HasSubstr("ctl.for: the step is 0 (expected any other number)"));
  out = program->Run(std::vector<Tensor>{Int(1), Floats({2}, {1, 2})});
  EXPECT_THAT(std::string(out.status().message()),
              HasSubstr("values to stack are 4xf32 and 6xf32 (expected one shape)"));
  out = program->Run(std::vector<Tensor>{Int(9), Floats({2}, {1, 2})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT((*out)[0].shape(), ElementsAre(1, 4));
}

}  // namespace
}  // namespace tenon
