#include "tools/command_line/saved_program.h"

#include "ir/base/check.h"

namespace tenon::tools {

absl::Status RefuseForSavedProgram(const ModelOptions& options) {
  constexpr std::string_view kDecided[] = {"O0",
                                           "O1",
                                           "O2",
                                           "O3",
                                           "precision",
                                           "rules",
                                           "disable-rules",
                                           "fast-math",
                                           "reference",
                                           "weight-cache",
                                           "params",
                                           "replace-params",
                                           "adapter"};
  for (const std::string_view name : kDecided) {
    TENON_RETURN_IF_ERROR(
        RefuseUnless(options.given, false, name, "on a saved program, which is optimized already"));
  }
  return absl::OkStatus();
}

}  // namespace tenon::tools
