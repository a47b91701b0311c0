// Evaluates a function of an instance, and keeps every value that its operations compute.
#ifndef TENON_DRR_RUN_H_
#define TENON_DRR_RUN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drr/instance.h"
#include "pass/evaluator.h"

namespace tenon::drr {

struct RunStep {
  const Operation* op = nullptr;
  std::vector<Attribute> operands, results;
};

struct Run {
  std::vector<Attribute> results;  // what the function returns
  std::vector<RunStep> computed;   // by operation, constants apart
  std::vector<Attribute> constants;
  // Values that follow from constants alone; those among `computed` are marked.
  std::vector<bool> is_constant;
};

// The values of an argument in the type that it has in `function`.
Attribute ArgumentOf(Operation* function, size_t argument, const std::vector<double>& values);
std::vector<Attribute> ArgumentsOf(const Instance& instance);

// NaN has no sign that counts.
std::string NumberText(double value);
// A comment for each argument, to be printed before a program.
std::string InputsText(const std::vector<Attribute>& arguments);

absl::StatusOr<Run> Evaluate(Operation* function, const std::vector<Attribute>& arguments,
                             Evaluator& evaluator);

}  // namespace tenon::drr

#endif  // TENON_DRR_RUN_H_
