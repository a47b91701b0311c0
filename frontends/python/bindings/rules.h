// Rules in text that Python holds.
#ifndef TENON_FRONTENDS_PYTHON_BINDINGS_RULES_H_
#define TENON_FRONTENDS_PYTHON_BINDINGS_RULES_H_

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drr/rule/rule.h"
#include "ir/core/context/context.h"

namespace tenon::python {

// Reads rules in text notation, as ReadRules does for a file. `name` is that of the text in
// messages, and the family of the rules. Errors are those of drr::ParseRules.
absl::StatusOr<std::vector<drr::Rule>> TextRules(const std::string& text, const std::string& name,
                                                 Context& context);

// Adds functions that check rules to the module.
void BindRules(nanobind::module_& module);

}  // namespace tenon::python

#endif  // TENON_FRONTENDS_PYTHON_BINDINGS_RULES_H_
