// The whole library in a program: docs/guide/embed-the-runtime.md explains this file.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tenon/frontends/cpp/tenon.h"
#include "tenon/ir/base/check.h"
#include "tenon/ir/core/context/diagnostic.h"

namespace {

using tenon::DType;
using tenon::Tensor;

// A linear layer with a GELU, as text. A path to an ONNX file goes to tenon::Load instead.
constexpr char kModel[] = R"(
func.func() <{arg_attrs = [{core.name = "x"}], res_attrs = [{core.name = "y"}], function_type = (tensor<?x2xf32, ["batch", ""]>) -> tensor<?x3xf32, ["batch", ""]>, sym_name = "main"}> ({
^bb0(%x: tensor<?x2xf32, ["batch", ""]>):
  %w = core.constant() <{value = dense<[[1.0, 0.0, -1.0], [0.0, 1.0, 1.0]]> : tensor<2x3xf32>}> : () -> tensor<2x3xf32>
  %0 = ten.matmul(%x, %w) : (tensor<?x2xf32, ["batch", ""]>, tensor<2x3xf32>) -> tensor<?x3xf32, ["batch", ""]>
  %1 = nn.gelu(%0) : (tensor<?x3xf32, ["batch", ""]>) -> tensor<?x3xf32, ["batch", ""]>
  func.return(%1) : (tensor<?x3xf32, ["batch", ""]>) -> ()
}) : () -> ()
)";

// A loop that runs as often as its input says.
constexpr char kLoop[] = R"(
func.func() <{function_type = (tensor<i64>, tensor<f32>) -> tensor<f32>, sym_name = "main"}> ({
^bb0(%n: tensor<i64>, %x: tensor<f32>):
  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %one = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
  %0 = ctl.for(%zero, %n, %one, %x) ({
  ^bb0(%i: tensor<i64>, %sum: tensor<f32>):
    %1 = ten.add(%sum, %sum) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    ctl.yield(%1) : (tensor<f32>) -> ()
  }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>) -> tensor<f32>
  func.return(%0) : (tensor<f32>) -> ()
}) : () -> ()
)";

absl::StatusOr<tenon::Program> LoadAndCompile() {
  tenon::LoadOptions load;
  load.on_diagnostic = [](const tenon::Context& context, const tenon::Diagnostic& diagnostic) {
    std::printf("%s\n", tenon::FormatDiagnostic(context, diagnostic).c_str());
  };
  TENON_ASSIGN_OR_RETURN(tenon::Model model, tenon::LoadFromBytes(kModel, "model.mlir", load));

  tenon::OptimizeReport report;
  TENON_RETURN_IF_ERROR(tenon::Optimize(model, {.level = 2}, &report));
  for (const auto& [rule, hits] : report.rules)
    std::printf("rule %s fired %d times\n", rule.c_str(), static_cast<int>(hits));

  tenon::CompileOptions compile;
  compile.threads = 2;
  compile.limits.memory_bytes = int64_t{1} << 30;
  compile.on_fallback = [](std::string_view note) {
    std::printf("note: %s\n", std::string(note).c_str());
  };
  return tenon::Compile(std::move(model), compile);
}

// A tensor of f32 with these elements. Tensor::Make leaves the bytes uninitialized.
Tensor FloatTensor(std::vector<int64_t> shape, const std::vector<float>& elements) {
  Tensor tensor = Tensor::Make(DType::kF32, shape);
  std::copy(elements.begin(), elements.end(), tensor.as<float>());
  return tensor;
}

absl::Status RunOnce(const tenon::Program& program) {
  for (const tenon::TensorSpec& input : program.inputs()) {
    std::printf("input %s is %s", input.name.c_str(), tenon::Name(input.dtype));
    for (const std::string& dim : input.dims) std::printf(" x %s", dim.c_str());
    std::printf("\n");
  }
  const std::vector<Tensor> inputs = {FloatTensor({2, 2}, {1, 2, 3, 4})};
  TENON_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, program.Run(inputs));
  std::printf("output %s:", outputs[0].type_text().c_str());
  for (int64_t i = 0; i < outputs[0].numel(); ++i) std::printf(" %.3f", outputs[0].as<float>()[i]);
  std::printf("\n");
  return absl::OkStatus();
}

// One session and one binding per thread. A Program may be shared, these may not.
absl::StatusOr<std::string> RunOften(const tenon::Program& program, int64_t batch) {
  tenon::Session session = program.NewSession();
  tenon::IoBinding binding(program);
  const std::vector<float> ones(static_cast<size_t>(batch * 2), 1);
  Tensor x = FloatTensor({batch, 2}, ones);
  TENON_RETURN_IF_ERROR(binding.BindInput("x", x));
  for (int run = 0; run < 100; ++run) {
    x.as<float>()[0] = static_cast<float>(run);  // the bytes may change between runs
    TENON_RETURN_IF_ERROR(session.Run(binding));
  }
  TENON_ASSIGN_OR_RETURN(const Tensor y, binding.output("y"));
  return y.type_text() + ", shapes prepared: " + std::to_string(session.stats().shapes_prepared);
}

absl::Status RunInThreads(const tenon::Program& program) {
  absl::StatusOr<std::string> first, second;
  std::thread other([&] { second = RunOften(program, 4); });
  first = RunOften(program, 8);
  other.join();
  TENON_RETURN_IF_ERROR(first.status());
  TENON_RETURN_IF_ERROR(second.status());
  std::printf("%s\n%s\n", first->c_str(), second->c_str());
  return absl::OkStatus();
}

// Another thread cancels a run that would take years.
absl::Status CancelALoop() {
  TENON_ASSIGN_OR_RETURN(const tenon::Model model, tenon::LoadFromBytes(kLoop, "loop.mlir"));
  TENON_ASSIGN_OR_RETURN(const tenon::Program program, tenon::Compile(model));
  Tensor trips = Tensor::Make(DType::kI64, {});
  *trips.as<int64_t>() = int64_t{1} << 60;
  const std::vector<Tensor> inputs = {trips, FloatTensor({}, {1})};

  tenon::CancelToken token;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    token.Cancel();
  });
  const absl::Status cancelled = program.Run(inputs, {.cancel = &token}).status();
  other.join();
  std::printf("%s\n", absl::StatusCodeToString(cancelled.code()).c_str());

  tenon::CompileOptions limited;
  limited.limits.loop_trips = 1000;
  TENON_ASSIGN_OR_RETURN(const tenon::Program bounded, tenon::Compile(model, limited));
  std::printf("%s\n", bounded.Run(inputs).status().ToString().c_str());
  return absl::OkStatus();
}

absl::Status Run() {
  TENON_ASSIGN_OR_RETURN(const tenon::Program program, LoadAndCompile());
  TENON_RETURN_IF_ERROR(RunOnce(program));
  TENON_RETURN_IF_ERROR(RunInThreads(program));
  TENON_RETURN_IF_ERROR(CancelALoop());
  // Mistakes come back as a status.
  const std::vector<Tensor> wrong = {FloatTensor({2}, {1, 2})};
  std::printf("%s\n", program.Run(wrong).status().ToString().c_str());
  std::printf("%s\n", tenon::Load("no-such-file.onnx").status().ToString().c_str());
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
