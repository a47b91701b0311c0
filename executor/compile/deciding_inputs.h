// Inputs that choose between branches.
#ifndef TENON_EXECUTOR_COMPILE_DECIDING_INPUTS_H_
#define TENON_EXECUTOR_COMPILE_DECIDING_INPUTS_H_

#include "executor/program_impl.h"

namespace tenon {

// Fills the decisions of a function's program, which must be complete. With a decision, the shapes
// in the chosen branch are known before the run. An example is a decoder with an input that says
// whether it has a past. Considers only inputs of one integer or bool. The condition must be its
// truth, or a comparison with a constant.
void FindDecisions(ProgramImpl& program);

// True if the condition holds for this element of the input.
bool IsTrue(const Decision& decision, int64_t element);

}  // namespace tenon

#endif  // TENON_EXECUTOR_COMPILE_DECIDING_INPUTS_H_
