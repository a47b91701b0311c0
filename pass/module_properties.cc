#include "pass/module_properties.h"

#include "fmt/format.h"
#include "ir/core/context/context.h"

namespace tenon {
namespace {

struct Row {
  ModuleProperty property;
  std::string_view name;
};
constexpr Row kRows[] = {
    {ModuleProperty::kShapesInferred, "shapes_inferred"},
    {ModuleProperty::kLowered, "lowered"},
    {ModuleProperty::kPlanned, "planned"},
};
constexpr uint32_t kAll = static_cast<uint32_t>(ModuleProperty::kShapesInferred) |
                          static_cast<uint32_t>(ModuleProperty::kLowered) |
                          static_cast<uint32_t>(ModuleProperty::kPlanned);

absl::Status Malformed(const Operation& module, std::string_view found) {
  return EmitError(module.context(), module.location(),
                   fmt::format("{} is {} (expected an array of: {})", kModulePropertiesAttr, found,
                               ModulePropertyNames(kAll)));
}

}  // namespace

absl::StatusOr<uint32_t> GetModuleProperties(const Operation& module) {
  const Attribute attr = module.attr(kModulePropertiesAttr);
  if (!attr) return 0;
  if (attr.kind() != Attribute::Kind::kArray) return Malformed(module, attr.text());
  uint32_t properties = 0;
  for (Attribute element : attr.elements()) {
    const Row* found = nullptr;
    for (const Row& row : kRows) {
      if (element.kind() == Attribute::Kind::kString && element.str() == row.name) found = &row;
    }
    if (found == nullptr) return Malformed(module, attr.text());
    properties |= static_cast<uint32_t>(found->property);
  }
  return properties;
}

bool SetModuleProperties(Operation& module, uint32_t properties) {
  Attribute wanted;
  if (properties != 0) {
    std::vector<Attribute> names;
    for (const Row& row : kRows) {
      if (properties & static_cast<uint32_t>(row.property))
        names.push_back(Attribute::Str(module.context(), row.name));
    }
    wanted = Attribute::Array(module.context(), names);
  }
  if (module.attr(kModulePropertiesAttr) == wanted) return false;
  module.SetAttr(kModulePropertiesAttr, wanted);
  return true;
}

std::string ModulePropertyNames(uint32_t properties) {
  std::string text;
  for (const Row& row : kRows) {
    if ((properties & static_cast<uint32_t>(row.property)) == 0) continue;
    if (!text.empty()) text += ", ";
    text += row.name;
  }
  return text;
}

}  // namespace tenon
