// MLIR-compatible text to IR.
#ifndef TENON_IR_CORE_PARSER_H_
#define TENON_IR_CORE_PARSER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "ir/core/context.h"
#include "ir/core/operation.h"

namespace tenon {

struct ParseOptions {
  std::string_view file_name = "<input>";
  bool verify = true;
  // Gives ops without a loc(...) their position in the text.
  bool locate_by_text = true;
};

// Parses a module (or a list of top-level ops, which get a module around them). Accepts the generic
// form and the same without quotes (see printer.h), aliases, locations, resources. Errors are
// diagnostics with line and column and a Status; parsing stops at the first one.
absl::StatusOr<OwnedOp> ParseModule(Context& context, std::string_view text,
                                    const ParseOptions& options = {});
absl::StatusOr<Type> ParseType(Context& context, std::string_view text);
absl::StatusOr<Attribute> ParseAttribute(Context& context, std::string_view text);

}  // namespace tenon

#endif  // TENON_IR_CORE_PARSER_H_
