#include "ir/core/interfaces/interface.h"

#include <algorithm>

namespace tenon {

std::vector<std::string_view> InterfaceMap::Names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, implementation] : entries_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

void InterfaceMap::AddRaw(std::string_view name, std::shared_ptr<const void> implementation) {
  for (auto& entry : entries_) {
    if (entry.first != name) continue;
    entry.second = std::move(implementation);
    return;
  }
  entries_.emplace_back(name, std::move(implementation));
}

// An op has few interfaces. Names, not addresses, identify them: shared libraries have copies.
const void* InterfaceMap::FindRaw(std::string_view name) const {
  for (const auto& [known, implementation] : entries_) {
    if (known == name) return implementation.get();
  }
  return nullptr;
}

}  // namespace tenon
