#include "pass/module_properties.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ir/core/context/context.h"

namespace tenon {
namespace {

constexpr int kFirstHostBit = 16, kMostHostBits = 16;

// Properties with their names, in the order of the attribute.
using Table = std::vector<std::pair<uint32_t, std::string_view>>;

Table TableOf(const PassRegistry* registry) {
  Table table = {
      {static_cast<uint32_t>(ModuleProperty::kShapesInferred), "shapes_inferred"},
      {static_cast<uint32_t>(ModuleProperty::kLowered), "lowered"},
      {static_cast<uint32_t>(ModuleProperty::kPlanned), "planned"},
  };
  uint32_t bit = 1u << kFirstHostBit;
  if (registry == nullptr) return table;
  for (const std::string& name : registry->host_properties()) {
    table.emplace_back(bit, name);
    bit <<= 1;
  }
  return table;
}

std::string NamesIn(const Table& table, uint32_t properties) {
  std::string text;
  for (const auto& [bit, name] : table) {
    if ((properties & bit) == 0) continue;
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

absl::Status Malformed(const Operation& module, const Table& table, std::string_view found) {
  return EmitError(module.context(), module.location(),
                   fmt::format("{} is {} (expected an array of: {})", kModulePropertiesAttr, found,
                               NamesIn(table, ~uint32_t{0})));
}

}  // namespace

absl::StatusOr<ModuleProperty> PassRegistry::RegisterProperty(std::string name) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos || dot == 0 || name.back() == '.') {
    return absl::InvalidArgumentError(
        fmt::format("module property '{}' has no name of a host (expected one with a dot, such as "
                    "\"acme.sorted\")",
                    name));
  }
  if (std::find(host_properties_.begin(), host_properties_.end(), name) != host_properties_.end())
    return absl::AlreadyExistsError(fmt::format("there are two module properties '{}'", name));
  if (host_properties_.size() == kMostHostBits) {
    return absl::ResourceExhaustedError(
        fmt::format("module property '{}' is one too many (expected at most {} of hosts)", name,
                    kMostHostBits));
  }
  host_properties_.push_back(std::move(name));
  return static_cast<ModuleProperty>(1u << (kFirstHostBit + host_properties_.size() - 1));
}

absl::StatusOr<uint32_t> GetModuleProperties(const Operation& module,
                                             const PassRegistry* registry) {
  const Attribute attr = module.attr(kModulePropertiesAttr);
  if (!attr) return 0;
  const Table table = TableOf(registry);
  if (attr.kind() != Attribute::Kind::kArray) return Malformed(module, table, attr.text());
  uint32_t properties = 0;
  for (Attribute element : attr.elements()) {
    if (element.kind() != Attribute::Kind::kString) return Malformed(module, table, attr.text());
    const auto row = std::find_if(table.begin(), table.end(),
                                  [&](const auto& entry) { return entry.second == element.str(); });
    if (row != table.end()) {
      properties |= row->first;
    } else if (element.str().find('.') == std::string_view::npos) {
      return Malformed(module, table, attr.text());
    }
  }
  return properties;
}

bool SetModuleProperties(Operation& module, uint32_t properties, const PassRegistry* registry) {
  Attribute wanted;
  if (properties != 0) {
    std::vector<Attribute> names;
    for (const auto& [bit, name] : TableOf(registry)) {
      if (properties & bit) names.push_back(Attribute::Str(module.context(), name));
    }
    wanted = Attribute::Array(module.context(), names);
  }
  if (module.attr(kModulePropertiesAttr) == wanted) return false;
  module.SetAttr(kModulePropertiesAttr, wanted);
  return true;
}

std::string PropertyNames(const PassRegistry& registry, uint32_t properties) {
  return NamesIn(TableOf(&registry), properties);
}

}  // namespace tenon
