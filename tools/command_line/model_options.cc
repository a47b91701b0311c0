#include "tools/command_line/model_options.h"

#include "fmt/format.h"

namespace tenon::tools {

void ChooseTolerances(double atol, double rtol, ModelOptions& options) {
  constexpr double kLessPrecision = 3e-2;
  const bool less = options.precision != Precision::kFp32;
  options.atol = options.given_atol.value_or(less ? kLessPrecision : atol);
  options.rtol = options.given_rtol.value_or(less ? kLessPrecision : rtol);
}

absl::Status TakeModel(ModelOptions& options, const std::string& argument) {
  if (options.model.empty()) return Set(options.model, argument);
  return absl::InvalidArgumentError(
      fmt::format("two models: {} and {} (expected one)", options.model, argument));
}

}  // namespace tenon::tools
