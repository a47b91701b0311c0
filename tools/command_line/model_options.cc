#include "tools/command_line/model_options.h"

#include <algorithm>

#include "fmt/format.h"

namespace tenon::tools {
namespace {

// From 1 to the next number.
double StepOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 1.0 / 1024;
    case DType::kBF16:
      return 1.0 / 128;
    default:
      return 0;  // far below any tolerance
  }
}

}  // namespace

void ChooseTolerances(double atol, double rtol, ModelOptions& options) {
  switch (options.precision) {
    case Precision::kFp32:
      break;
    case Precision::kBf16:
      atol = rtol = 3e-2;
      break;
    case Precision::kInt8:
      atol = rtol = 5e-2;
      break;
  }
  options.atol = options.given_atol.value_or(atol);
  options.rtol = options.given_rtol.value_or(rtol);
}

Difference CompareOutput(const ModelOptions& options, const Tensor& actual,
                         const Tensor& expected) {
  const double least = options.ulps * StepOf(expected.dtype());
  const double least_rtol =
      std::max(least, expected.dtype() == DType::kBF16 ? options.bf16_rtol : 0.0);
  return Compare(actual, expected, options.given_atol.value_or(std::max(options.atol, least)),
                 options.given_rtol.value_or(std::max(options.rtol, least_rtol)));
}

absl::Status TakeModel(ModelOptions& options, const std::string& argument) {
  if (options.model.empty()) return Set(options.model, argument);
  return absl::InvalidArgumentError(
      fmt::format("two models: {} and {} (expected one)", options.model, argument));
}

absl::Status TwoLevels(int first, int second) {
  return absl::InvalidArgumentError(
      fmt::format("two levels: -O{} and -O{} (expected one)", first, second));
}

absl::Status RefuseFastMath(const GivenNames& given, int level) {
  return RefuseUnless(given, level > 0, "fast-math", "beside -O0, which applies no rules");
}

}  // namespace tenon::tools
