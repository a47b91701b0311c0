// What programs that run a model do with a saved program in its place.
#ifndef TENON_TOOLS_COMMAND_LINE_SAVED_PROGRAM_H_
#define TENON_TOOLS_COMMAND_LINE_SAVED_PROGRAM_H_

#include "absl/status/status.h"
#include "tools/command_line/model_options.h"

namespace tenon::tools {

// Returns InvalidArgument for an option that decides what is saved: how the model was optimized,
// which values its weights have, and on which device it runs.
absl::Status RefuseForSavedProgram(const ModelOptions& options);

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_SAVED_PROGRAM_H_
