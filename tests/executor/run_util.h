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
#include "ir/core/parser.h"
#include "ir/core/printer.h"
#include "ir/dialect/dialects.h"
#include "pass/pass_manager.h"

namespace tenon {

inline std::shared_ptr<Context> NewTestContext() {
  auto context = std::make_shared<Context>();
  RegisterAllDialects(*context);
  return context;
}

// The module's only function, lowered; `lowered` receives its text.
inline absl::StatusOr<Program> CompileText(std::string_view text, bool reference = true,
                                           std::string* lowered = nullptr, int threads = 1) {
  std::shared_ptr<Context> context = NewTestContext();
  absl::StatusOr<OwnedOp> module = ParseModule(*context, text);
  if (!module.ok()) return module.status();
  PassRegistry registry;
  RegisterExecutorPasses(registry);
  PassManager manager(registry);
  absl::Status status = manager.AddPipeline(
      reference ? "lower-to-kernels{reference=true},plan-memory" : "lower-to-kernels,plan-memory");
  if (!status.ok()) return status;
  PassContext pass_context;
  absl::StatusOr<PassResult> result = manager.Run(module->get(), pass_context);
  if (!result.ok()) return result.status();
  if (lowered != nullptr) *lowered = Print(**module);
  ProgramOptions options;
  options.threads = threads;
  options.context = context;
  return Program::Compile((*module)->region().front().front(), options);
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
  return std::vector<T>(tensor.as<T>(), tensor.as<T>() + tensor.num_elements());
}
inline std::vector<int64_t> ShapeOf(const Tensor& tensor) {
  return {tensor.shape().begin(), tensor.shape().end()};
}

}  // namespace tenon

#endif  // TENON_TESTS_EXECUTOR_RUN_UTIL_H_
