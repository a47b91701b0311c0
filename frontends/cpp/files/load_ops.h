// Operations that a file declares.
#ifndef TENON_FRONTENDS_CPP_FILES_LOAD_OPS_H_
#define TENON_FRONTENDS_CPP_FILES_LOAD_OPS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "ir/core/context/context.h"

namespace tenon {

// Adds the operations of a file to `context`, which must have Tenon's own. A file that ends in .drr
// holds rules in text, whose declarations are read (docs/reference/rule-language.md). Any other
// file holds JSON, as `tools/codegen/tenon_codegen.py --ops-json` writes it
// (docs/reference/file-formats.md).
//
// NotFound if the file cannot be read, ResourceExhausted if it is larger than 64 MiB, and
// InvalidArgument for a mistake; the message names its place. A name that another definition has is
// AlreadyExists in JSON and InvalidArgument in text. After an error some operations may be added.
absl::Status LoadOps(const std::string& file, Context& context);
// The same for JSON text. Messages call it `name`.
absl::Status LoadOpsFromJson(std::string_view json, const std::string& name, Context& context);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_FILES_LOAD_OPS_H_
