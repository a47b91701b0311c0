#include "ir/core/context/dialect_types.h"

#include <mutex>
#include <utility>

#include "fmt/format.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/verify/op_checks.h"

namespace tenon {
namespace {

// The definition of `name`, and `parameters` completed and checked.
absl::StatusOr<DialectInstance> Checked(const DialectDefs& defs, std::string_view name,
                                        std::span<const Attribute> parameters) {
  const auto found = defs.find(name);
  if (found == defs.end()) return absl::NotFoundError(fmt::format("no dialect defines '{}'", name));
  const ParametricDef& def = found->second.def;
  const std::vector<Attribute>& defaults = found->second.defaults;
  DialectInstance instance{found->first, {parameters.begin(), parameters.end()}};
  if (parameters.size() > def.parameters.size()) {
    return absl::InvalidArgumentError(fmt::format("{}: {} parameters (expected at most {})", name,
                                                  parameters.size(), def.parameters.size()));
  }
  for (size_t i = 0; i < def.parameters.size(); ++i) {
    const AttrDef& parameter = def.parameters[i];
    if (i == instance.parameters.size()) instance.parameters.push_back(defaults[i]);
    if (!instance.parameters[i]) instance.parameters[i] = defaults[i];
    if (!instance.parameters[i]) {
      return absl::InvalidArgumentError(
          fmt::format("{}: parameter '{}' is missing", name, parameter.name));
    }
    if (const std::string wrong = CheckAttribute(parameter, instance.parameters[i]); !wrong.empty())
      return absl::InvalidArgumentError(fmt::format("{}: {}", name, wrong));
  }
  if (def.verify != nullptr) {
    if (const absl::Status status = def.verify(instance.parameters); !status.ok())
      return absl::Status(status.code(),
                          fmt::format("{}: {}", name, std::string(status.message())));
  }
  return instance;
}

std::string TextOf(char sigil, const DialectInstance& instance) {
  std::string text = fmt::format("{}{}", sigil, instance.name);
  for (size_t i = 0; i < instance.parameters.size(); ++i) {
    text += i == 0 ? "<" : ", ";
    text += instance.parameters[i].text();
  }
  if (!instance.parameters.empty()) text += '>';
  return text;
}

void Remember(ContextImpl& impl, const void* storage, DialectInstance instance) {
  const std::lock_guard<std::mutex> lock(impl.dialect_mutex);
  impl.dialect_instances.try_emplace(storage, std::move(instance));
}

// Null if the storage is of no registered dialect. Entries are never erased or moved.
const DialectInstance* Find(ContextImpl& impl, const void* storage) {
  const std::lock_guard<std::mutex> lock(impl.dialect_mutex);
  const auto found = impl.dialect_instances.find(storage);
  return found == impl.dialect_instances.end() ? nullptr : &found->second;
}

const DialectInstance* Find(Type value) {
  if (!value || value.kind() != Type::Kind::kOpaque) return nullptr;
  return Find(ImplOf(value.context()), value.storage());
}

const DialectInstance* Find(Attribute value) {
  if (!value || value.kind() != Attribute::Kind::kOpaque) return nullptr;
  return Find(ImplOf(value.context()), value.storage());
}

}  // namespace

absl::StatusOr<Type> MakeDialectType(Context& context, std::string_view name,
                                     std::span<const Attribute> parameters) {
  ContextImpl& impl = ImplOf(context);
  absl::StatusOr<DialectInstance> instance = Checked(impl.dialect_types, name, parameters);
  if (!instance.ok()) return instance.status();
  const Type type = Type::Opaque(context, TextOf('!', *instance));
  Remember(impl, type.storage(), *std::move(instance));
  return type;
}

absl::StatusOr<Attribute> MakeDialectAttribute(Context& context, std::string_view name,
                                               std::span<const Attribute> parameters) {
  ContextImpl& impl = ImplOf(context);
  absl::StatusOr<DialectInstance> instance = Checked(impl.dialect_attributes, name, parameters);
  if (!instance.ok()) return instance.status();
  const Attribute attribute = Attribute::Opaque(context, TextOf('#', *instance));
  Remember(impl, attribute.storage(), *std::move(instance));
  return attribute;
}

std::string_view DialectNameOf(Type value) {
  const DialectInstance* found = Find(value);
  return found != nullptr ? found->name : std::string_view();
}
std::string_view DialectNameOf(Attribute value) {
  const DialectInstance* found = Find(value);
  return found != nullptr ? found->name : std::string_view();
}
std::span<const Attribute> ParametersOf(Type value) {
  const DialectInstance* found = Find(value);
  return found != nullptr ? std::span<const Attribute>(found->parameters)
                          : std::span<const Attribute>();
}
std::span<const Attribute> ParametersOf(Attribute value) {
  const DialectInstance* found = Find(value);
  return found != nullptr ? std::span<const Attribute>(found->parameters)
                          : std::span<const Attribute>();
}

}  // namespace tenon
