#include "drr/check/plain_results.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "drr/check/run.h"
#include "fmt/format.h"

namespace tenon::drr {
double EpsilonOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return std::numeric_limits<double>::epsilon();
    case DType::kF16:
      return 1.0 / 1024;
    case DType::kBF16:
      return 1.0 / 128;
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

namespace {

// As many operations round their results into what the bound allows.
constexpr int64_t kFewOperations = 16;

int64_t OperationsOf(const Instance& instance) {
  const Block& block = instance.function->region().front();
  return std::count_if(block.begin(), block.end(),
                       [](const Operation& op) { return !op.Has(Trait::kConstantLike); });
}

}  // namespace

absl::StatusOr<PlainResults> EvaluatePlain(const Instance& instance, Evaluator& evaluator) {
  TENON_ASSIGN_OR_RETURN(const Run run,
                         drr::Evaluate(instance.function, ArgumentsOf(instance), evaluator));
  PlainResults results;
  results.operations = OperationsOf(instance);
  for (Attribute result : run.results) {
    const std::span<const DimExpr> dims = result.type().dims();
    results.shapes.emplace_back(dims.begin(), dims.end());
    std::vector<double>& values = results.values.emplace_back();
    const int64_t size = result.type().num_elements();
    const ElementReader elements(result);
    values.reserve(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) values.push_back(elements[i]);
  }
  return results;
}

double LargestArgument(const Instance& instance) {
  double largest = 0;
  for (const Numbers& argument : instance.arguments) {
    for (double value : argument.values) {
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    }
  }
  return largest;
}

std::string ComparePlain(const PlainResults& real, const PlainResults& source,
                         const PlainResults& result, double argument, DType dtype,
                         bool has_attributes) {
  const double many =
      std::max(1.0, static_cast<double>(source.operations) / static_cast<double>(kFewOperations));
  const auto &exact = real.values, &before = source.values, &after = result.values;
  for (size_t r = 0; r < exact.size(); ++r) {
    // How large it is depends on numbers that the type rounds.
    if (source.shapes[r] != real.shapes[r]) continue;
    if (source.shapes[r] != result.shapes[r]) return fmt::format("result {} has another shape", r);
    double own = 0, largest = 0;
    for (size_t i = 0; i < exact[r].size(); ++i) {
      if (std::isfinite(exact[r][i])) largest = std::max(largest, std::abs(exact[r][i]));
      if (std::isfinite(before[r][i]) && std::isfinite(exact[r][i])) {
        own = std::max(own, std::abs(before[r][i] - exact[r][i]));
      }
    }
    // f64 has nothing better to compare with: rounding of another order is all that may differ, and
    // attributes, which are f32.
    const double bound =
        !IsFloat(dtype) ? 0
        : dtype == DType::kF64
            ? (has_attributes ? EpsilonOf(DType::kF32) : 1e-11) * std::max(largest, 1e-3)
            : 4 * own + many * EpsilonOf(dtype) * (8 * largest + 0.25 * argument);
    for (size_t i = 0; i < exact[r].size(); ++i) {
      const double want = before[r][i], got = after[r][i];
      // A source that leaves the range of the type on its way may become finite, the reverse never.
      const bool mends = std::isfinite(exact[r][i]) && std::isfinite(got);
      if (!mends && (!std::isfinite(want) || !std::isfinite(got))) {
        if (std::isnan(want) != std::isnan(got) || (!std::isnan(want) && want != got)) {
          return fmt::format("result {} element {} is {} instead of {}", r, i, NumberText(got),
                             NumberText(want));
        }
        continue;
      }
      if (std::abs(got - exact[r][i]) > bound) {
        return fmt::format("result {} element {} is {} instead of {}: off by {}, allowed are {}", r,
                           i, got, exact[r][i], std::abs(got - exact[r][i]), bound);
      }
    }
  }
  return "";
}

}  // namespace tenon::drr
