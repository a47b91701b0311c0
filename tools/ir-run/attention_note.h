// Attention blocks that were not fused.
#ifndef TENON_TOOLS_IR_RUN_ATTENTION_NOTE_H_
#define TENON_TOOLS_IR_RUN_ATTENTION_NOTE_H_

#include <string>
#include <vector>

#include "ir/core/operation.h"

namespace tenon::ir_run {

// Returns notes on attention blocks of an optimized module that are not fused: one line with the
// number of fused ones, and one with node and reason for each other. Empty if all are fused.
std::vector<std::string> AttentionNotes(Operation* module);

}  // namespace tenon::ir_run

#endif  // TENON_TOOLS_IR_RUN_ATTENTION_NOTE_H_
