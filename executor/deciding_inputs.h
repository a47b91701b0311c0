// Inputs that choose between branches.
#ifndef TENON_EXECUTOR_DECIDING_INPUTS_H_
#define TENON_EXECUTOR_DECIDING_INPUTS_H_

#include "executor/program_impl.h"

namespace tenon {

// Fills decisions of a function's program: with them the shapes of all that a branch makes are
// known before it runs, as those of a decoder that is exported with and without a past, and one
// input that says which. Inputs alone count that are cheap to ask: one element, an integer or a
// boolean, whose truth, or comparison with a constant, is the condition. REQUIRES: the program is
// complete.
void FindDecisions(ProgramImpl& program);

// Is the condition true for this element of the input?
bool IsTrue(const Decision& decision, int64_t element);

}  // namespace tenon

#endif  // TENON_EXECUTOR_DECIDING_INPUTS_H_
