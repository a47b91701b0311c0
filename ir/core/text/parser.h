// Reading MLIR-compatible text.
#ifndef TENON_IR_CORE_TEXT_PARSER_H_
#define TENON_IR_CORE_TEXT_PARSER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "ir/core/context/context.h"
#include "ir/core/operation.h"

namespace tenon {

// How ParseModule reads.
struct ParseOptions {
  // The name of the text in locations and messages.
  std::string_view file_name = "<input>";
  // Whether to call Verify on the result.
  bool verify = true;
  // Whether ops without a loc(...) get their position in the text as location.
  bool locate_by_text = true;
  // Whether values keep their names in the text (Value::name), so that they are printed under them.
  bool keep_names = true;
};

// Reads a module, or top-level ops, which then get a module around them. Accepts the generic form
// with and without quotes (printer.h), aliases, locations and resources. The caller owns the
// result. `text` need not outlive the call.
//
// An error is emitted with line, column and source line. Reading goes on with the next statement,
// up to 20 errors, and the first one is returned: InvalidArgument, or ResourceExhausted beyond
// Limits::nesting, which ends the reading. Ops of unknown dialects are errors unless the Context
// allows them. Thread-safe within one Context.
absl::StatusOr<OwnedOp> ParseModule(Context& context, std::string_view text,
                                    const ParseOptions& options = {});
// Reads one type, which must be all of `text`. Errors are those of ParseModule.
absl::StatusOr<Type> ParseType(Context& context, std::string_view text);
// The same for one attribute.
absl::StatusOr<Attribute> ParseAttribute(Context& context, std::string_view text);

}  // namespace tenon

#endif  // TENON_IR_CORE_TEXT_PARSER_H_
