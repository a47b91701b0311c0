#include "ir/core/context/definition_checks.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/operation.h"
#include "ir/core/text/lexer.h"
#include "ir/core/text/parser.h"
#include "ir/core/verify/op_checks.h"

namespace tenon {
namespace {

template <typename... Args>
absl::Status Wrong(fmt::format_string<Args...> text, Args&&... args) {
  return absl::InvalidArgumentError(fmt::format(text, std::forward<Args>(args)...));
}

// Slots that an Operation can count.
constexpr size_t kMaxSlots = 255;

// What an Operation has room for.
absl::Status CheckLimits(const OpDef& def) {
  const struct {
    std::string_view what;
    size_t count, most;
  } limits[] = {
      {"attributes", def.attrs.size(), kMaxSlots},
      {"regions", def.regions.size(), kMaxRegions},
      {"successors", def.successors.size(), kMaxSuccessors},
      {"results", def.results.size(), kMaxResults},
  };
  for (const auto& [what, count, most] : limits) {
    if (count > most)
      return Wrong("'{}' has {} {} (expected at most {})", def.name, count, what, most);
  }
  for (const SuccessorDef& successor : def.successors) {
    if (successor.operand_group >= -1 &&
        successor.operand_group < static_cast<int>(def.operands.size())) {
      continue;
    }
    return Wrong("successor '{}' of '{}' gets operand group {} of {}", successor.name, def.name,
                 successor.operand_group, def.operands.size());
  }
  return absl::OkStatus();
}

// Names for messages and generated code, each once.
template <typename Named>
absl::Status CheckNames(const OpDef& def, std::string_view what, const std::vector<Named>& all) {
  absl::flat_hash_set<std::string_view> names;
  for (const Named& one : all) {
    std::string_view name;
    if constexpr (std::is_same_v<Named, std::string>) {
      name = one;
    } else {
      name = one.name;
    }
    if (!IsBareIdentifier(name)) {
      return Wrong("{} '{}' of op '{}' has a name that is no identifier {}", what, name, def.name,
                   kIdentifierHint);
    }
    if (!names.insert(name).second) return Wrong("op '{}' has two {}s '{}'", def.name, what, name);
  }
  return absl::OkStatus();
}

absl::Status CheckGroups(const OpDef& def, std::string_view what,
                         const std::vector<OperandDef>& groups) {
  TENON_RETURN_IF_ERROR(CheckNames(def, what, groups));
  for (const OperandDef& group : groups) {
    const TypeConstraint& types = group.constraint;
    if (types.any || types.dtypes != 0 || types.scalar_i1 || !types.dialect_type.empty()) continue;
    return Wrong("{} '{}' of op '{}' accepts no type (expected a constraint that accepts some)",
                 what, group.name, def.name);
  }
  return absl::OkStatus();
}

}  // namespace

bool IsDottedName(std::string_view name) {
  return IsBareIdentifier(name) && !name.ends_with('.') && name.find("..") == name.npos;
}

absl::Status CheckDefinition(Context& context, const Dialect& dialect, const OpDef& def) {
  if (std::string_view(def.name).substr(0, dialect.name.size() + 1) != dialect.name + ".")
    return Wrong("op '{}' does not belong to dialect '{}'", def.name, dialect.name);
  if (!IsDottedName(def.name))
    return Wrong("op '{}' has a name that is no identifier {}", def.name, kIdentifierHint);
  TENON_RETURN_IF_ERROR(CheckGroups(def, "operand", def.operands));
  TENON_RETURN_IF_ERROR(CheckGroups(def, "result", def.results));
  TENON_RETURN_IF_ERROR(CheckNames(def, "region", def.regions));
  TENON_RETURN_IF_ERROR(CheckNames(def, "successor", def.successors));
  bool has_segments = false;
  for (size_t i = 0; i < def.attrs.size(); ++i) {
    const AttrDef& attr = def.attrs[i];
    if (attr.type == AttrType::kEnum && attr.enums.empty()) {
      return Wrong("attribute '{}' of op '{}' is an enum of no strings (expected some)", attr.name,
                   def.name);
    }
    if (!IsBareIdentifier(attr.name)) {
      return Wrong("attribute '{}' of op '{}' has a name that is no identifier {}", attr.name,
                   def.name, kIdentifierHint);
    }
    if (i > 0 && def.attrs[i - 1].name >= attr.name) {
      return Wrong("attributes '{}' and '{}' of '{}' are not sorted by name", def.attrs[i - 1].name,
                   attr.name, def.name);
    }
    has_segments |= attr.name == "operandSegmentSizes";
    if (attr.default_text.empty()) continue;
    const absl::StatusOr<Attribute> value = ParseAttribute(context, attr.default_text);
    if (!value.ok()) {
      return Wrong("the default of attribute '{}' of '{}' cannot be read: {}", attr.name, def.name,
                   attr.default_text);
    }
    const std::string message = CheckAttribute(attr, *value);
    if (!message.empty()) return Wrong("default of op '{}': {}", def.name, message);
  }
  const bool constant = (def.traits & static_cast<uint32_t>(Trait::kConstantLike)) != 0;
  if (constant && (def.attrs.empty() || def.results.size() != 1)) {
    return Wrong(
        "op '{}' is ConstantLike with {} attributes and {} results (expected an attribute "
        "for the value, and 1 result)",
        def.name, def.attrs.size(), def.results.size());
  }
  const auto is_flexible = [](const OperandDef& group) { return group.arity != Arity::kSingle; };
  const auto early = std::find_if(def.results.begin(), def.results.end(), is_flexible);
  if (early != def.results.end() && std::next(early) != def.results.end()) {
    return Wrong("result '{}' of '{}' is optional or variadic and not the last", early->name,
                 def.name);
  }
  TENON_RETURN_IF_ERROR(CheckLimits(def));
  const auto flexible = std::count_if(def.operands.begin(), def.operands.end(), is_flexible);
  if ((flexible > 1) == has_segments) return absl::OkStatus();
  return Wrong(
      "'{}' has {} optional or variadic operands (an attribute 'operandSegmentSizes' is needed "
      "if and only if there are several)",
      def.name, flexible);
}

absl::Status AddDefs(Context& context, const Dialect& dialect, const char* what,
                     const std::vector<ParametricDef>& defs, DialectDefs& to) {
  for (const ParametricDef& def : defs) {
    if (!IsDottedName(def.name) ||
        std::string_view(def.name).substr(0, dialect.name.size() + 1) != dialect.name + ".")
      return Wrong("{} '{}' does not belong to dialect '{}'", what, def.name, dialect.name);
    RegisteredDef registered{def, {}};
    absl::flat_hash_set<std::string_view> names;
    for (const AttrDef& parameter : def.parameters) {
      if (!IsBareIdentifier(parameter.name) || !names.insert(parameter.name).second) {
        return Wrong("parameter '{}' of {} '{}' has a name that is taken or no identifier {}",
                     parameter.name, what, def.name, kIdentifierHint);
      }
      Attribute value;
      if (!parameter.default_text.empty()) {
        const absl::StatusOr<Attribute> parsed = ParseAttribute(context, parameter.default_text);
        if (!parsed.ok() || !CheckAttribute(parameter, *parsed).empty()) {
          return Wrong("the default of parameter '{}' of '{}' does not fit: {}", parameter.name,
                       def.name, parameter.default_text);
        }
        value = *parsed;
      }
      if (!value && !registered.defaults.empty() && registered.defaults.back()) {
        return Wrong("parameter '{}' of '{}' has no default, but the one before it has",
                     parameter.name, def.name);
      }
      registered.defaults.push_back(value);
    }
    if (!to.emplace(def.name, std::move(registered)).second)
      return absl::AlreadyExistsError(fmt::format("{} '{}' is defined twice", what, def.name));
  }
  return absl::OkStatus();
}

void AddOp(OpDef def, Context& context) {
  ContextImpl& impl = ImplOf(context);
  const OpInfo* info = &impl.op_infos.emplace_back(&context, std::move(def));
  impl.ops_by_id.Insert(info);
  impl.ops_by_name.emplace(std::string(info->name()), info);
}

}  // namespace tenon
