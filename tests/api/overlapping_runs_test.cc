// Two calls of one session, or with one binding, at the same time: the second one is refused and
// disturbs nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "frontends/cpp/extension.h"
#include "frontends/cpp/tenon.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kNegate[] = R"ir(
func.func() <{function_type = (tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]>, sym_name = "main"}> ({
^bb0(%x: tensor<?xf32, ["N"]>):
  %0 = ten.neg(%x) : (tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]>
  func.return(%0) : (tensor<?xf32, ["N"]>) -> ()
}) : () -> ()
)ir";

// What the kernel does in the middle of the next run, in a thread of its own.
std::function<void()>& Meanwhile() {
  static std::function<void()> call;
  return call;
}

absl::StatusOr<Program> CompileNegate() {
  Extension extension;
  kernels::Kernel kernel = {.op = "ten.neg", .name = "own.neg", .priority = 1000};
  kernel.run = [](const kernels::RunArgs& args) {
    if (const std::function<void()> call = std::exchange(Meanwhile(), nullptr))
      std::thread(call).join();
    for (int64_t i = 0; i < args.outputs[0].numel(); ++i)
      args.outputs[0].as<float>()[i] = -args.inputs[0].as<float>()[i];
    return kernels::KernelStatus::Ok();
  };
  extension.kernels = {kernel};
  LoadOptions load;
  load.extension = std::make_shared<const Extension>(std::move(extension));
  absl::StatusOr<Model> model = LoadFromBytes(kNegate, "negate.mlir", load);
  if (!model.ok()) return model.status();
  return Compile(*model, {.threads = 2});
}

Tensor Of(const std::vector<float>& values) {
  const auto size = static_cast<int64_t>(values.size());
  return Tensor::Copy(DType::kF32, std::span(&size, 1), values.data());
}

std::vector<float> Values(const Tensor& tensor) {
  const auto* at = static_cast<const float*>(tensor.data());
  return {at, at + tensor.num_bytes() / sizeof(float)};
}

void ExpectRefused(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("one session"));
}

TEST(OverlappingRuns, ASecondRunOfASessionIsRefused) {
  absl::StatusOr<Program> program = CompileNegate();
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  const Tensor small = Of({1, 2}), large = Of(std::vector<float>(100, 3));
  // Results of before stay the caller's, and are as they were.
  absl::StatusOr<std::vector<Tensor>> before = session.Run(std::vector{small});
  ASSERT_TRUE(before.ok()) << before.status();
  CancelToken cancelled;
  cancelled.Cancel();
  Meanwhile() = [&] {
    // With other shapes and options, none of which reach the run.
    ExpectRefused(session.Run(std::vector{large}, {.cancel = &cancelled}).status());
    ExpectRefused(session.OutputShapes(std::vector{large.view()}).status());
    Tensor out = Of({7, 8});
    const kernels::TensorView in = small.view(), to = out.view();
    ExpectRefused(session.Run(std::span(&in, 1), std::span(&to, 1)));
    EXPECT_THAT(Values(out), ElementsAre(7, 8));
    // Sessions of their own, and the program itself, may run.
    EXPECT_TRUE(program->Run(std::vector{large}).ok());
    EXPECT_TRUE(program->NewSession().Run(std::vector{large}).ok());
  };
  absl::StatusOr<std::vector<Tensor>> during = session.Run(std::vector{small});
  ASSERT_TRUE(during.ok()) << during.status();
  EXPECT_FALSE(Meanwhile());
  EXPECT_THAT(Values(during->front()), ElementsAre(-1, -2));
  EXPECT_THAT(Values(before->front()), ElementsAre(-1, -2));
  EXPECT_EQ(session.stats().shapes_prepared, 1);
  absl::StatusOr<std::vector<Tensor>> after = session.Run(std::vector{large});
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(Values(after->front()), std::vector<float>(100, -3));
}

TEST(OverlappingRuns, ASecondRunWithABindingIsRefused) {
  absl::StatusOr<Program> program = CompileNegate();
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession(), other = program->NewSession();
  IoBinding made(*program);
  IoBinding binding = std::move(made);  // bindings can be moved between runs
  ASSERT_TRUE(binding.BindInput(0, Of({1, 2})).ok());
  ASSERT_TRUE(session.Run(binding).ok());
  Meanwhile() = [&] {
    ExpectRefused(session.Run(binding));
    ExpectRefused(other.Run(binding));
    IoBinding own(*program);
    EXPECT_TRUE(own.BindInput(0, Of({5})).ok());
    EXPECT_TRUE(other.Run(own).ok());
  };
  ASSERT_TRUE(binding.BindInput(0, Of({3, 4})).ok());
  ASSERT_TRUE(session.Run(binding).ok());
  EXPECT_FALSE(Meanwhile());
  absl::StatusOr<Tensor> out = binding.output(0);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(Values(*out), ElementsAre(-3, -4));
  EXPECT_TRUE(other.Run(binding).ok());
}

// A run that fails ends its claim.
TEST(OverlappingRuns, AfterAnErrorTheSessionRuns) {
  absl::StatusOr<Program> program = CompileNegate();
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  EXPECT_EQ(session.Run(std::vector<Tensor>()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(session.Run(std::vector{Of({1})}).ok());
}

}  // namespace
}  // namespace tenon
