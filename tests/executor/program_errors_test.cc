// What programs refuse, and how they say it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "tests/executor/run_util.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const absl::StatusOr<std::vector<Tensor>>& result) {
  return std::string(result.status().message());
}

TEST(ProgramErrors, InputsThatDoNotFit) {
  absl::StatusOr<Program> program =
      CompileText(Function("%a: tensor<?x3xf32, [\"B\", \"\"]>, %b: tensor<?x3xf32, [\"B\", \"\"]>",
                           "(tensor<?x3xf32, [\"B\", \"\"]>, tensor<?x3xf32, [\"B\", \"\"]>) -> "
                           "tensor<?x3xf32, [\"B\", \"\"]>",
                           R"ir(
  %0 = ten.add(%a, %b) : (tensor<?x3xf32, ["B", ""]>, tensor<?x3xf32, ["B", ""]>) -> tensor<?x3xf32, ["B", ""]>
  func.return(%0) : (tensor<?x3xf32, ["B", ""]>) -> ()
)ir"));
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(ErrorOf(program->Run(std::vector{Ramp({2, 3})})), HasSubstr("1 inputs (expected 2)"));
  EXPECT_THAT(ErrorOf(program->Run(std::vector{Ramp({2, 3}), Ramp({2, 4})})),
              HasSubstr("'arg1' has extent 4 at dimension 1 (expected 3)"));
  EXPECT_THAT(
      ErrorOf(program->Run(std::vector{Ramp({2, 3}), Ramp({4, 3})})),
      HasSubstr("'arg1' has extent 4 at dimension 0 (expected B = 2 from the other inputs)"));
  EXPECT_THAT(ErrorOf(program->Run(std::vector{Ramp({2, 3}), Ramp({3})})),
              HasSubstr("'arg1' is 3xf32 (expected B x 3 x f32)"));
  EXPECT_THAT(ErrorOf(program->Run(std::vector{Ints({2, 3}, {1, 2, 3, 4, 5, 6}), Ramp({2, 3})})),
              HasSubstr("'arg0' is 2x3xi64"));
  // A program that refused is as good as new.
  EXPECT_TRUE(program->Run(std::vector{Ramp({2, 3}), Ramp({2, 3})}).ok());
}

TEST(ProgramErrors, BroadcastThatDoesNotFitNamesTheNode) {
  absl::StatusOr<Program> program = CompileText(Function(
      "%a: tensor<?xf32, [\"A\"]>, %b: tensor<?xf32, [\"B\"]>",
      "(tensor<?xf32, [\"A\"]>, tensor<?xf32, [\"B\"]>) -> tensor<?xf32, [\"broadcast(A, B)\"]>",
      R"ir(
  %0 = ten.add(%a, %b) : (tensor<?xf32, ["A"]>, tensor<?xf32, ["B"]>) -> tensor<?xf32, ["broadcast(A, B)"]> loc("/encoder/Add")
  func.return(%0) : (tensor<?xf32, ["broadcast(A, B)"]>) -> ()
)ir"));
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_TRUE(program->Run(std::vector{Ramp({3}), Ramp({3})}).ok());
  EXPECT_TRUE(program->Run(std::vector{Ramp({3}), Ramp({1})}).ok());
  const std::string error = ErrorOf(program->Run(std::vector{Ramp({3}), Ramp({2})}));
  EXPECT_THAT(error, HasSubstr("/encoder/Add"));
  EXPECT_THAT(error, HasSubstr("ten.add"));
}

TEST(ProgramErrors, RotaryTablesThatDoNotFit) {
  for (bool reference : {false, true}) {
    absl::StatusOr<Program> program =
        CompileText(Function("%x: tensor<1x2x?x4xf32, [\"\", \"\", \"S\", \"\"]>, "
                             "%t: tensor<1x?x2xf32, [\"\", \"T\", \"\"]>",
                             "(tensor<1x2x?x4xf32, [\"\", \"\", \"S\", \"\"]>, "
                             "tensor<1x?x2xf32, [\"\", \"T\", \"\"]>) -> "
                             "tensor<1x2x?x4xf32, [\"\", \"\", \"S\", \"\"]>",
                             R"ir(
  %0 = nn.rotary_embedding(%x, %t, %t) : (tensor<1x2x?x4xf32, ["", "", "S", ""]>, tensor<1x?x2xf32, ["", "T", ""]>, tensor<1x?x2xf32, ["", "T", ""]>) -> tensor<1x2x?x4xf32, ["", "", "S", ""]>
  func.return(%0) : (tensor<1x2x?x4xf32, ["", "", "S", ""]>) -> ()
)ir"),
                    reference);
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_TRUE(program->Run(std::vector{Ramp({1, 2, 9, 4}), Ramp({1, 9, 2})}).ok());
    EXPECT_TRUE(program->Run(std::vector{Ramp({1, 2, 9, 4}), Ramp({1, 1, 2})}).ok());
    EXPECT_THAT(ErrorOf(program->Run(std::vector{Ramp({1, 2, 9, 4}), Ramp({1, 3, 2})})),
                HasSubstr("do not fit x"));
  }
}

// That the factors have an extent of their own sends nothing to the reference kernel.
TEST(ProgramErrors, FactorsOfGroupNormThatDoNotFit) {
  for (bool reference : {false, true}) {
    std::string lowered;
    absl::StatusOr<Program> program =
        CompileText(Function("%x: tensor<1x4x3xf32>, %s: tensor<?xf32, [\"C\"]>",
                             "(tensor<1x4x3xf32>, tensor<?xf32, [\"C\"]>) -> tensor<1x4x3xf32>",
                             R"ir(
  %0 = nn.group_norm(%x, %s, %s) <{groups = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<1x4x3xf32>, tensor<?xf32, ["C"]>, tensor<?xf32, ["C"]>) -> tensor<1x4x3xf32>
  func.return(%0) : (tensor<1x4x3xf32>) -> ()
)ir"),
                    reference, &lowered);
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_THAT(lowered, HasSubstr(reference ? "\"ref.group_norm" : "\"cpu.group_norm"));
    EXPECT_TRUE(program->Run(std::vector{Ramp({1, 4, 3}), Ramp({4})}).ok());
    EXPECT_THAT(ErrorOf(program->Run(std::vector{Ramp({1, 4, 3}), Ramp({3})})),
                HasSubstr("an element for each channel"));
  }
}

TEST(ProgramErrors, ProductThatDoesNotFit) {
  absl::StatusOr<Program> program = CompileText(Function(
      "%a: tensor<2x?xf32, [\"\", \"K\"]>, %b: tensor<?x2xf32, [\"L\", \"\"]>",
      "(tensor<2x?xf32, [\"\", \"K\"]>, tensor<?x2xf32, [\"L\", \"\"]>) -> tensor<2x2xf32>", R"ir(
  %0 = ten.matmul(%a, %b) : (tensor<2x?xf32, ["", "K"]>, tensor<?x2xf32, ["L", ""]>) -> tensor<2x2xf32>
  func.return(%0) : (tensor<2x2xf32>) -> ()
)ir"));
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_TRUE(program->Run(std::vector{Ramp({2, 3}), Ramp({3, 2})}).ok());
  EXPECT_THAT(ErrorOf(program->Run(std::vector{Ramp({2, 3}), Ramp({4, 2})})),
              HasSubstr("ten.matmul"));
}

TEST(ProgramErrors, SizesSeenBeforeRunAfterSizesThatNoMemoryHolds) {
  absl::StatusOr<Program> program = CompileText(
      Function("%a: tensor<?x1xf32, [\"A\", \"\"]>, %b: tensor<1x?xf32, [\"\", \"B\"]>, "
               "%c: tensor<?x1xf32, [\"B\", \"\"]>",
               "(tensor<?x1xf32, [\"A\", \"\"]>, tensor<1x?xf32, [\"\", \"B\"]>, "
               "tensor<?x1xf32, [\"B\", \"\"]>) -> tensor<?x1xf32, [\"A\", \"\"]>",
               R"ir(
  %0 = ten.mul(%a, %b) : (tensor<?x1xf32, ["A", ""]>, tensor<1x?xf32, ["", "B"]>) -> tensor<?x?xf32, ["A", "B"]>
  %1 = ten.matmul(%0, %c) : (tensor<?x?xf32, ["A", "B"]>, tensor<?x1xf32, ["B", ""]>) -> tensor<?x1xf32, ["A", ""]>
  func.return(%1) : (tensor<?x1xf32, ["A", ""]>) -> ()
)ir"));
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  const std::vector<Tensor> small = {Ramp({3, 1}), Ramp({1, 4}), Ramp({4, 1})};
  const absl::StatusOr<std::vector<Tensor>> before = session.Run(small);
  ASSERT_TRUE(before.ok()) << before.status();
  constexpr int64_t kMany = int64_t{1} << 23;  // the product would take 256 TiB
  EXPECT_TRUE(absl::IsResourceExhausted(
      session.Run(std::vector{Ramp({kMany, 1}), Ramp({1, kMany}), Ramp({kMany, 1})}).status()));
  const absl::StatusOr<std::vector<Tensor>> after = session.Run(small);
  ASSERT_TRUE(after.ok()) << after.status();
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*after)[0].as<float>()[i], (*before)[0].as<float>()[i]);
  }
}

// The product of the extents overflows, or their bytes do: to 0 with 2^62 elements of 4 bytes.
TEST(ProgramErrors, SizesWhoseBytesCannotBeCounted) {
  absl::StatusOr<Program> program = CompileText(
      Function("%a: tensor<?x1x1xf32, [\"I\", \"\", \"\"]>, %b: tensor<?x1xf32, [\"J\", \"\"]>, "
               "%c: tensor<?xf32, [\"K\"]>",
               "(tensor<?x1x1xf32, [\"I\", \"\", \"\"]>, tensor<?x1xf32, [\"J\", \"\"]>, "
               "tensor<?xf32, [\"K\"]>) -> tensor<f32>",
               R"ir(
  %0 = ten.mul(%a, %b) : (tensor<?x1x1xf32, ["I", "", ""]>, tensor<?x1xf32, ["J", ""]>) -> tensor<?x?x1xf32, ["I", "J", ""]>
  %1 = ten.mul(%0, %c) : (tensor<?x?x1xf32, ["I", "J", ""]>, tensor<?xf32, ["K"]>) -> tensor<?x?x?xf32, ["I", "J", "K"]> loc("/scores/Mul")
  %2 = ten.reduce_sum(%1) <{axes = array<i64: 0, 1, 2>, keepdims = false}> : (tensor<?x?x?xf32, ["I", "J", "K"]>) -> tensor<f32>
  func.return(%2) : (tensor<f32>) -> ()
)ir"));
  ASSERT_TRUE(program.ok()) << program.status();
  for (const int64_t k : {int64_t{1} << 20, int64_t{3} << 19, int64_t{1} << 21}) {
    const int64_t ij = int64_t{1} << 21;
    const absl::Status status =
        program->Run(std::vector{Ramp({ij, 1, 1}), Ramp({ij, 1}), Ramp({k})}).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("/scores/Mul"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("bytes"));
  }
}

// The same where the types say it all: nothing of it is folded, planned or run.
TEST(ProgramErrors, StaticSizesWhoseBytesCannotBeCounted) {
  absl::StatusOr<Program> program =
      CompileText(Function("%a: tensor<1x1xf32>", "(tensor<1x1xf32>) -> tensor<f32>", R"ir(
  %0 = ten.expand(%a) <{shape = #core.dims<2147483648, 2147483648>}> : (tensor<1x1xf32>) -> tensor<2147483648x2147483648xf32> loc("/scores/Expand")
  %1 = ten.reduce_sum(%0) <{axes = array<i64: 0, 1>, keepdims = false}> : (tensor<2147483648x2147483648xf32>) -> tensor<f32>
  func.return(%1) : (tensor<f32>) -> ()
)ir"));
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::Status status = program->Run(std::vector{Ramp({1, 1})}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("/scores/Expand"));
}

TEST(ProgramErrors, TensorsWhoseBytesCannotBeCounted) {
  const auto made = [](std::initializer_list<int64_t> shape) {
    return Tensor::TryMake(DType::kF32, std::vector<int64_t>(shape)).status();
  };
  constexpr int64_t kHalf = int64_t{1} << 31;
  EXPECT_TRUE(absl::IsResourceExhausted(made({kHalf, kHalf})));
  EXPECT_TRUE(absl::IsResourceExhausted(made({kHalf, kHalf, kHalf})));
  EXPECT_TRUE(absl::IsResourceExhausted(made({kHalf, kHalf, kHalf, 0})));
  EXPECT_TRUE(made({kHalf, kHalf, 0}).ok());
}

TEST(ProgramErrors, CallerMemoryIsChecked) {
  absl::StatusOr<Program> program = CompileText(AddMul());
  ASSERT_TRUE(program.ok());
  Session session = program->NewSession();
  const Tensor a = Ramp({2, 2}), b = Ramp({2, 2}), out = Ramp({2, 2}), narrow = Ramp({2});
  const std::vector<kernels::TensorView> inputs = {a.view(), b.view()};
  EXPECT_TRUE(session.Run(inputs, std::vector{out.view(), out.view()}).ok());
  EXPECT_THAT(std::string(session.Run(inputs, std::vector{out.view(), narrow.view()}).message()),
              HasSubstr("output 'result1' is 2xf32 (expected 2x2xf32)"));
  kernels::TensorView odd = out.view();
  odd.data = static_cast<char*>(odd.data) + 1;
  EXPECT_THAT(std::string(session.Run(inputs, std::vector{out.view(), odd}).message()),
              HasSubstr("not aligned"));
  odd.data = nullptr;
  EXPECT_THAT(std::string(session.Run(inputs, std::vector{out.view(), odd}).message()),
              HasSubstr("no data"));
}

TEST(ProgramErrors, UnsupportedOpsAreNamed) {
  std::shared_ptr<Context> context = NewTestContext();
  context->AllowUnregisteredDialect("onnx");
  absl::StatusOr<OwnedOp> module =
      ParseModule(*context, Function("%a: tensor<2xf32>", "(tensor<2xf32>) -> tensor<2xf32>", R"ir(
  %0 = onnx.Mystery(%a) : (tensor<2xf32>) -> tensor<2xf32> loc("/m/Mystery")
  func.return(%0) : (tensor<2xf32>) -> ()
)ir"));
  ASSERT_TRUE(module.ok()) << module.status();
  PassRegistry registry;
  EXPECT_TRUE(RegisterExecutorPasses(registry).ok());
  PassManager manager(registry);
  ASSERT_TRUE(manager.AddPipeline("lower-to-kernels").ok());
  PassContext pass_context;
  const absl::Status status = manager.Run(module->get(), pass_context).status();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("/m/Mystery"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("onnx.Mystery"));
}

// A sequence that no operation reads reaches the executor.
TEST(ProgramErrors, InputsOfOtherTypesAreNamed) {
  std::shared_ptr<Context> context = NewTestContext();
  context->AllowUnregisteredDialect("onnx");
  absl::StatusOr<OwnedOp> module =
      ParseModule(*context, Function("%a: !onnx.any", "(!onnx.any) -> !onnx.any", R"ir(
  func.return(%a) : (!onnx.any) -> ()
)ir"));
  ASSERT_TRUE(module.ok()) << module.status();
  PassRegistry registry;
  EXPECT_TRUE(RegisterExecutorPasses(registry).ok());
  PassManager manager(registry);
  ASSERT_TRUE(manager.AddPipeline("lower-to-kernels,plan-memory").ok());
  PassContext pass_context;
  EXPECT_TRUE(manager.Run(module->get(), pass_context).ok());
  ProgramOptions options;
  options.context = context;
  const absl::Status status =
      Program::Compile((*module)->region().front().front(), options).status();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("!onnx.any"));
}

// Lowered text that contradicts itself is refused, not run.
TEST(ProgramErrors, LoweredTextIsChecked) {
  auto compile = [](std::string_view body) {
    std::shared_ptr<Context> context = NewTestContext();
    absl::StatusOr<OwnedOp> module = ParseModule(
        *context, Function("%a: tensor<2xf32>", "(tensor<2xf32>) -> tensor<2xf32>", body));
    if (!module.ok()) return module.status();
    ProgramOptions options;
    options.context = context;
    return Program::Compile((*module)->region().front().front(), options).status();
  };
  const std::string tail = "\n  func.return(%r) : (tensor<2xf32>) -> ()\n";
  auto message = [&](std::string_view op) {
    return std::string(compile(std::string(op) + tail).message());
  };
  EXPECT_EQ(
      message(
          R"ir(%r = kernel.call(%a) <{kernel = "ref.neg", source = "ten.neg"}> : (tensor<2xf32>) -> tensor<2xf32>)ir"),
      "");
  EXPECT_THAT(
      message(
          R"ir(%r = kernel.call(%a) <{kernel = "ref.nope", source = "ten.neg"}> : (tensor<2xf32>) -> tensor<2xf32>)ir"),
      HasSubstr("no kernel 'ref.nope'"));
  EXPECT_THAT(
      message(
          R"ir(%r = kernel.call(%a) <{kernel = "ref.neg", source = "ten.not"}> : (tensor<2xf32>) -> tensor<2xf32>)ir"),
      HasSubstr("operand 'x'"));
  EXPECT_THAT(
      message(
          R"ir(%r = kernel.call(%a, %a) <{kernel = "ref.neg", source = "ten.neg"}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>)ir"),
      HasSubstr("2 operands"));
  EXPECT_THAT(
      message(
          R"ir(%r = kernel.call(%a) <{inplace = 0 : i64, kernel = "ref.neg", source = "ten.neg"}> : (tensor<2xf32>) -> tensor<2xf32>)ir"),
      HasSubstr("cannot take over"));
  EXPECT_THAT(
      message(
          R"ir(%r = kernel.call(%a) <{kernel = "ref.softmax", source = "nn.softmax"}> : (tensor<2xf32>) -> tensor<2xf32>)ir"),
      HasSubstr("'axis'"));
  EXPECT_THAT(message(R"ir(%r = ten.neg(%a) : (tensor<2xf32>) -> tensor<2xf32>)ir"),
              HasSubstr("not lowered"));
}

// Takes over the buffers along a chain: none whose older values somebody still reads.
TEST(ProgramErrors, BuffersThatAreNeededAreNotTakenOver) {
  auto message = [](std::string_view body) {
    std::shared_ptr<Context> context = NewTestContext();
    absl::StatusOr<OwnedOp> module = ParseModule(
        *context, Function("%a: tensor<2xf32>", "(tensor<2xf32>) -> tensor<2xf32>",
                           std::string(body) + "\n  func.return(%r) : (tensor<2xf32>) -> ()\n"));
    if (!module.ok()) return std::string(module.status().message());
    ProgramOptions options;
    options.context = context;
    return std::string(
        Program::Compile((*module)->region().front().front(), options).status().message());
  };
  auto neg = [](std::string_view result, std::string_view operand, int inplace) {
    return fmt::format(
        "%{} = kernel.call(%{}) <{{inplace = {} : i64, kernel = \"ref.neg\", source = "
        "\"ten.neg\"}}> "
        ": (tensor<2xf32>) -> tensor<2xf32>\n",
        result, operand, inplace);
  };
  auto add = [](std::string_view result, std::string_view x, std::string_view y, int inplace) {
    return fmt::format(
        "%{} = kernel.call(%{}, %{}) <{{inplace = {} : i64, kernel = \"ref.add\", source = "
        "\"ten.add\"}}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>\n",
        result, x, y, inplace);
  };
  const std::string chain = neg("0", "a", -1) + neg("1", "0", 0) + neg("2", "1", 0);
  EXPECT_EQ(message(chain + neg("r", "2", 0)), "");
  EXPECT_EQ(message(chain + add("r", "2", "2", 0)), "");
  // Read by the operation that writes there, or later; the value taken over, or one before it.
  for (const char* older : {"0", "1"}) {
    EXPECT_THAT(message(chain + add("r", "2", older, 0)), HasSubstr("still needed")) << older;
    EXPECT_THAT(message(chain + neg("3", "2", 0) + add("r", "3", older, -1)),
                HasSubstr("still needed"))
        << older;
  }
  EXPECT_THAT(message(chain + neg("3", "2", 0) + add("r", "3", "2", -1)),
              HasSubstr("still needed"));
  EXPECT_THAT(message(neg("0", "a", -1) +
                      "%v = kernel.view(%0) <{properties = {shape = #core.dims<2>}, source = "
                      "\"ten.reshape\"}> : (tensor<2xf32>) -> tensor<2xf32>\n" +
                      neg("1", "0", 0) + add("r", "1", "v", -1)),
              HasSubstr("still needed"));
}

}  // namespace
}  // namespace tenon
