// The steps of Reduce.
#ifndef TENON_FRONTENDS_DEBUG_REDUCE_STEP_H_
#define TENON_FRONTENDS_DEBUG_REDUCE_STEP_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/debug/reduce/program_edit.h"
#include "pass/pass.h"

namespace tenon::reduce {

// One way to make programs smaller. It finds places in a program, always in the same order.
class Step {
 public:
  virtual ~Step() = default;
  // The number of places in the program. Changes nothing.
  virtual size_t Count(ProgramEdit& edit) const = 0;
  // Changes `count` places from `first` on, which exist. May leave the program wrong: the caller
  // verifies it. False if nothing was changed.
  virtual bool Change(ProgramEdit& edit, size_t first, size_t count) const = 0;
  // True if several places can be changed at once.
  virtual bool in_groups() const { return true; }
};
using Steps = std::vector<std::unique_ptr<Step>>;

// Each appends its steps.
void AddSymbolSteps(Steps& steps);     // functions and other symbols
void AddControlSteps(Steps& steps);    // jumps, blocks, regions
void AddOperationSteps(Steps& steps);  // operations, and what functions return
void AddOperandSteps(Steps& steps);    // operands, and arguments of functions
void AddAttributeSteps(Steps& steps);  // attributes and constants
void AddDimSteps(Steps& steps);        // dimensions of the main function
// The rewrites of a pipeline. Returns the error if `pipeline` is wrong, or fails on a copy of
// `module` although it may change nothing.
absl::Status AddPipelineStep(const PassRegistry& registry, const std::string& pipeline,
                             const Operation& module, Steps& steps);

}  // namespace tenon::reduce

#endif  // TENON_FRONTENDS_DEBUG_REDUCE_STEP_H_
