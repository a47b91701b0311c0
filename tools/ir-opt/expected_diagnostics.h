// --verify-diagnostics: comments in the input say which diagnostics must come.
#ifndef TENON_TOOLS_IR_OPT_EXPECTED_DIAGNOSTICS_H_
#define TENON_TOOLS_IR_OPT_EXPECTED_DIAGNOSTICS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/diagnostic.h"

namespace tenon::ir_opt {

// One comment `expected-error@+1 2 {{text}}`: severity, place (@+N, @-N, @N, @above, @below,
// @unknown; the comment's own line without one), count, and a part of the message.
struct ExpectedDiagnostic {
  Severity severity = Severity::kError;
  uint32_t comment_line = 0;
  uint32_t line = 0;  // 0: any place that is not in the file
  int count = 1;
  std::string text;
};

// Reads the comments. An error names the line of a malformed one.
absl::StatusOr<std::vector<ExpectedDiagnostic>> ParseExpected(std::string_view text);

// A diagnostic as it came, without its notes; kept apart from the Context that resolves locations.
struct SeenDiagnostic {
  Severity severity = Severity::kError;
  uint32_t line = 0;  // 0: not in the file
  std::string message;
  std::string formatted;
};
// Appends a diagnostic and its notes.
void RecordDiagnostic(const Context& context, const Diagnostic& diagnostic, std::string_view file,
                      std::vector<SeenDiagnostic>& seen);

// One line for each diagnostic that was not expected, and each expectation that was not met; empty
// if all is as it should be. Remarks and notes count only if some are expected.
std::vector<std::string> CompareDiagnostics(std::string_view file,
                                            const std::vector<ExpectedDiagnostic>& expected,
                                            const std::vector<SeenDiagnostic>& seen);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_EXPECTED_DIAGNOSTICS_H_
