#include "tools/command_line/model_options.h"

#include "fmt/format.h"

namespace tenon::tools {

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

absl::Status TakeModel(ModelOptions& options, const std::string& argument) {
  if (options.model.empty()) return Set(options.model, argument);
  return absl::InvalidArgumentError(
      fmt::format("two models: {} and {} (expected one)", options.model, argument));
}

}  // namespace tenon::tools
