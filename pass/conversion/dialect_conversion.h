// Dialect conversion: replaces the operations that a target calls illegal, and changes types on the
// way. docs/guide/convert-a-dialect.md shows it.
//
// The driver works in one sweep, and each pattern changes the program at once. It keeps no log to
// roll back: a log costs memory for each change, and hides the program from patterns, which see ops
// that are erased already. A pattern looks first, so nothing has to be undone while it runs.
#ifndef TENON_PASS_CONVERSION_DIALECT_CONVERSION_H_
#define TENON_PASS_CONVERSION_DIALECT_CONVERSION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "pass/conversion/conversion_pattern.h"
#include "pass/conversion/conversion_target.h"
#include "pass/pass.h"

namespace tenon {

// What a conversion did.
struct ConversionResult {
  bool changed = false;  // the program is another one
  int64_t rewrites = 0;  // applications of patterns
};

// Makes legal what lies below `top`, a function or a module. Outer ops come first, and ops of one
// block in their order. The patterns of the greatest benefit are tried first. What a pattern makes
// must be legal too, or becomes it by other patterns. `patterns` may also hold RewritePatterns,
// which must keep types.
//
// Of `context`, it reads disabled_rules and fills rule_counts and statistics.
//
// InvalidArgument if an illegal op stays, with a message that names the op and what its patterns
// said; if a value of another type is needed that no materialization makes; or if patterns do not
// end. FailedPrecondition if a pattern's answer does not fit its changes. A pattern gives the error
// that it returns. After an error the program is partly converted, and may hold ops
// "builtin.unrealized_conversion_cast".
absl::StatusOr<ConversionResult> ApplyPartialConversion(Operation* top,
                                                        const ConversionTarget& target,
                                                        const PatternSet& patterns,
                                                        PassContext& context);
// The same, but ops of which the target says nothing are errors too.
absl::StatusOr<ConversionResult> ApplyFullConversion(Operation* top, const ConversionTarget& target,
                                                     const PatternSet& patterns,
                                                     PassContext& context);

}  // namespace tenon

#endif  // TENON_PASS_CONVERSION_DIALECT_CONVERSION_H_
