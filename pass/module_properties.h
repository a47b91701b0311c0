// Properties that hold for a whole module. The attribute `core.properties` of the module keeps
// them, so that they survive printing and reading. Passes declare which ones they need, establish
// and destroy (PassInfo); the pass manager updates the attribute. A host has properties of its own
// (PassRegistry::RegisterProperty), whose names have dots.
#ifndef TENON_PASS_MODULE_PROPERTIES_H_
#define TENON_PASS_MODULE_PROPERTIES_H_

#include <string>

#include "absl/status/statusor.h"
#include "ir/core/operation.h"
#include "pass/pass.h"

namespace tenon {

// The name of the attribute of a module that keeps its properties.
inline constexpr std::string_view kModulePropertiesAttr = "core.properties";

// Returns the bits of ModuleProperty that hold. `registry` has the properties of the host; null
// stands for none. A property of a host that is not known counts as one that does not hold. Emits
// an error and returns InvalidArgument if the attribute is malformed.
absl::StatusOr<uint32_t> GetModuleProperties(const Operation& module,
                                             const PassRegistry* registry = nullptr);
// Sets the attribute, or removes it if no bit is set. Properties of hosts that are not known are
// removed. Returns true if that changed the module.
bool SetModuleProperties(Operation& module, uint32_t properties,
                         const PassRegistry* registry = nullptr);
// Returns the names of the bits, such as "shapes_inferred, lowered".
std::string PropertyNames(const PassRegistry& registry, uint32_t properties);

}  // namespace tenon

#endif  // TENON_PASS_MODULE_PROPERTIES_H_
