// --verify-roundtrip: what is written can be read, and says the same.
#ifndef TENON_TOOLS_IR_OPT_ROUNDTRIP_H_
#define TENON_TOOLS_IR_OPT_ROUNDTRIP_H_

#include <string>
#include <vector>

#include "frontends/cpp/tenon.h"

namespace tenon::ir_opt {

// Writes a program as text, as generic text and as a binary module, and reads each again with
// `load`. Returns a message for each form that cannot be read, or that differs then, with the lines
// that differ. Names of values count, except in generic text. All forms are in memory, with the
// bytes of constants.
std::vector<std::string> RoundtripDifferences(const Model& model, const LoadOptions& load);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_ROUNDTRIP_H_
