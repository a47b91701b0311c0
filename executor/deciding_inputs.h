// Inputs whose values choose between branches.
#ifndef TENON_EXECUTOR_DECIDING_INPUTS_H_
#define TENON_EXECUTOR_DECIDING_INPUTS_H_

#include "executor/program_impl.h"

namespace tenon {

// Fills deciding_inputs of a function's program: with their values the shapes of all that a branch
// makes are known before it runs, as those of a decoder that is exported with and without a past,
// and one input that says which. Inputs alone count whose values cost little to compare: one
// element, an integer or a boolean, that reaches the condition through operations of one operand.
// REQUIRES: the program is complete.
void FindDecidingInputs(ProgramImpl& program);

}  // namespace tenon

#endif  // TENON_EXECUTOR_DECIDING_INPUTS_H_
