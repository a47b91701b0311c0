// What is known to hold for a whole module: kept in its attribute `core.properties`, so that it
// survives printing. Passes declare what they need, establish and destroy; the pass manager keeps
// the attribute.
#ifndef TENON_PASS_MODULE_PROPERTIES_H_
#define TENON_PASS_MODULE_PROPERTIES_H_

#include <string>

#include "absl/status/statusor.h"
#include "ir/core/operation.h"
#include "pass/pass.h"

namespace tenon {

inline constexpr std::string_view kModulePropertiesAttr = "core.properties";

// ModuleProperty bits of a module. InvalidArgument if the attribute is malformed.
absl::StatusOr<uint32_t> GetModuleProperties(const Operation& module);
// Writes the attribute, or removes it when no bit is set; true if that changed the module.
bool SetModuleProperties(Operation& module, uint32_t properties);
// "shapes_inferred, lowered".
std::string ModulePropertyNames(uint32_t properties);

}  // namespace tenon

#endif  // TENON_PASS_MODULE_PROPERTIES_H_
