// Attention blocks that were not fused.
#ifndef TENON_TOOLS_IR_RUN_ATTENTION_NOTE_H_
#define TENON_TOOLS_IR_RUN_ATTENTION_NOTE_H_

#include <string>
#include <vector>

#include "ir/core/operation.h"

namespace tenon::ir_run {

// One line for how many attention blocks of an optimized module are fused, when some are not, and
// one with node and reason for each of those. Empty when all are fused, or there is none.
std::vector<std::string> AttentionNotes(Operation* module);

}  // namespace tenon::ir_run

#endif  // TENON_TOOLS_IR_RUN_ATTENTION_NOTE_H_
