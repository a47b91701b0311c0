// --verify-diagnostics: comments in the input name the diagnostics that must be emitted.
#ifndef TENON_TOOLS_IR_OPT_EXPECTED_DIAGNOSTICS_H_
#define TENON_TOOLS_IR_OPT_EXPECTED_DIAGNOSTICS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/context/diagnostic.h"

namespace tenon::ir_opt {

// One comment `expected-error@+1 2 {{text}}`: severity, place (@+N, @-N, @N, @above, @below,
// @unknown; the comment's own line without one), count, and a part of the message. In
// `expected-error-re {{op 'a.b' has {{[0-9]+}} operands}}`, what stands in inner braces is a
// regular expression in RE2's syntax. The rest is text.
struct ExpectedDiagnostic {
  Severity severity = Severity::kError;  // of the diagnostic
  uint32_t comment_line = 0;             // the line of the comment
  uint32_t line = 0;                     // 0: any place that is not in the file
  int count = 1;                         // how often it must be emitted
  std::string text;                      // a part of its message, as the comment has it
  // Of the regex form: whether a message has such a part. Empty for the plain form.
  std::function<bool(std::string_view message)> matches;
};

// Reads the comments. An error names the line of a malformed one, or of a wrong regular expression.
// Unimplemented for the regex form in a build without RE2.
absl::StatusOr<std::vector<ExpectedDiagnostic>> ParseExpected(std::string_view text);

// A diagnostic that was emitted, without its notes. It does not need the Context.
struct SeenDiagnostic {
  Severity severity = Severity::kError;  // of the diagnostic
  uint32_t line = 0;                     // 0: not in the file
  std::string message;                   // without its place
  std::string formatted;                 // as it is printed
};
// Appends a diagnostic and its notes to `seen`. `file` is the file of the expectations.
void RecordDiagnostic(const Context& context, const Diagnostic& diagnostic, std::string_view file,
                      std::vector<SeenDiagnostic>& seen);

// Returns one line for each unexpected diagnostic and each expectation that was not met. The result
// is empty if all match. Remarks and notes count only if some are expected.
std::vector<std::string> CompareDiagnostics(std::string_view file,
                                            const std::vector<ExpectedDiagnostic>& expected,
                                            const std::vector<SeenDiagnostic>& seen);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_EXPECTED_DIAGNOSTICS_H_
