// Reading the text of a mapped file. Internal to Tenon.
#ifndef TENON_IR_CORE_TEXT_PARSE_MAPPED_H_
#define TENON_IR_CORE_TEXT_PARSE_MAPPED_H_

#include "ir/core/text/parser.h"

namespace tenon {

// As ParseModule, for a text that is a read-only mapping of a file. What has been read of it leaves
// the memory of the process while the rest is read.
absl::StatusOr<OwnedOp> ParseMappedModule(Context& context, std::string_view text,
                                          const ParseOptions& options);

}  // namespace tenon

#endif  // TENON_IR_CORE_TEXT_PARSE_MAPPED_H_
