// Running IR text in tests.
#ifndef TENON_TESTS_EXECUTOR_RUN_UTIL_H_
#define TENON_TESTS_EXECUTOR_RUN_UTIL_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/passes.h"
#include "executor/program.h"
#include "executor/session.h"
#include "ir/core/builder.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/dialects.h"
#include "pass/pass_manager.h"

namespace tenon {

// A function @main with the given arguments, results and body.
inline std::string Function(std::string_view arguments, std::string_view type,
                            std::string_view body) {
  std::string text = "func.func() <{function_type = ";
  text += type;
  text += ", sym_name = \"main\"}> ({\n^bb0(";
  text += arguments;
  text += "):\n";
  text += body;
  return text + "}) : () -> ()\n";
}

inline constexpr char kAddMul[] = R"ir(
  %0 = ten.add(%a, %b) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = ten.mul(%0, %b) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = ten.neg(%1) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = ten.matmul(%1, %2) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return(%2, %3) : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
)ir";
inline std::string AddMul() {
  return Function("%a: tensor<2x2xf32>, %b: tensor<2x2xf32>",
                  "(tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)",
                  kAddMul);
}

inline std::shared_ptr<Context> NewTestContext() {
  auto context = std::make_shared<Context>();
  RegisterAllDialects(*context);
  return context;
}

struct CompileTextOptions {
  std::string_view pipeline = {};  // empty: the usual one
  bool check_memory = false;
};

// The module's only function, lowered; `lowered` receives its text.
inline absl::StatusOr<Program> CompileModule(std::shared_ptr<Context> context, Operation* module,
                                             bool reference = true, std::string* lowered = nullptr,
                                             int threads = 1,
                                             std::shared_ptr<PackedWeights> weights = nullptr,
                                             const CompileTextOptions& how = {}) {
  PassRegistry registry;
  TENON_RETURN_IF_ERROR(RegisterExecutorPasses(registry));
  PassManager manager(registry);
  std::string_view pipeline = how.pipeline;
  if (pipeline.empty()) {
    pipeline =
        reference ? "lower-to-kernels{reference=true},plan-memory" : "lower-to-kernels,plan-memory";
  }
  absl::Status status = manager.AddPipeline(pipeline);
  if (!status.ok()) return status;
  PassContext pass_context;
  absl::StatusOr<PassResult> result = manager.Run(module, pass_context);
  if (!result.ok()) return result.status();
  if (lowered != nullptr) *lowered = Print(*module);
  ProgramOptions options;
  options.threads = threads;
  options.check_memory = how.check_memory;
  options.context = std::move(context);
  options.weights = std::move(weights);
  return Program::Compile(module->region().front().front(), options);
}

inline absl::StatusOr<Program> CompileText(std::string_view text, bool reference = true,
                                           std::string* lowered = nullptr, int threads = 1,
                                           std::shared_ptr<PackedWeights> weights = nullptr,
                                           const CompileTextOptions& how = {}) {
  std::shared_ptr<Context> context = NewTestContext();
  absl::StatusOr<OwnedOp> module = ParseModule(*context, text);
  if (!module.ok()) return module.status();
  return CompileModule(context, module->get(), reference, lowered, threads, std::move(weights),
                       how);
}

template <typename T>
Tensor MakeTensor(DType dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
  return Tensor::Copy(dtype, shape, values.data());
}
inline Tensor Floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  return MakeTensor(DType::kF32, std::move(shape), values);
}
inline Tensor Ints(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  return MakeTensor(DType::kI64, std::move(shape), values);
}
template <typename T>
std::vector<T> ValuesOf(const Tensor& tensor) {
  return std::vector<T>(tensor.as<T>(), tensor.as<T>() + tensor.numel());
}
inline std::vector<int64_t> ShapeOf(const Tensor& tensor) {
  return {tensor.shape().begin(), tensor.shape().end()};
}

// 0.1-spaced values in [-0.5, 1.1].
inline Tensor Ramp(std::vector<int64_t> shape) {
  Tensor t = Tensor::Make(DType::kF32, shape);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<float>()[i] = 0.1f * static_cast<float>(i % 17) - 0.5f;
  return t;
}

}  // namespace tenon

#endif  // TENON_TESTS_EXECUTOR_RUN_UTIL_H_
