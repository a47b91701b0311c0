// Types and attributes that dialects define, such as !acme.money<"EUR"> and #acme.rate<"EUR", 0.5>.
#ifndef TENON_IR_CORE_CONTEXT_DIALECT_TYPES_H_
#define TENON_IR_CORE_CONTEXT_DIALECT_TYPES_H_

#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/context/context.h"
#include "ir/core/type.h"

namespace tenon {

// Returns the type `name`, with its dialect ("acme.money"), that a registered dialect defines
// (Dialect::types). `parameters` stand in the order of the definition; missing ones at the end get
// their defaults. Equal parameters give the same type. Thread-safe.
//
// NotFound if no dialect defines the type. InvalidArgument if there are too few or too many
// parameters, if one is of another kind, or if the check of the definition refuses them.
absl::StatusOr<Type> MakeDialectType(Context& context, std::string_view name,
                                     std::span<const Attribute> parameters);
// The same for an attribute (Dialect::attributes).
absl::StatusOr<Attribute> MakeDialectAttribute(Context& context, std::string_view name,
                                               std::span<const Attribute> parameters);

// Returns the name of a type or attribute that a registered dialect defines, with its dialect;
// empty for all others. `value` may be null.
std::string_view DialectNameOf(Type value);
std::string_view DialectNameOf(Attribute value);
// Returns its parameters in the order of the definition; none for all others. They live as long as
// the Context.
std::span<const Attribute> ParametersOf(Type value);
std::span<const Attribute> ParametersOf(Attribute value);

// A class of a type or an attribute that tools/codegen makes from `types:` or `attributes:`, such
// as acme::LedgerType.
template <typename T>
concept DialectTypeClass = std::derived_from<T, Type>;
template <typename T>
concept DialectAttributeClass = std::derived_from<T, Attribute>;

// True if `value` is not null and of the class T, with any parameters.
template <DialectTypeClass T>
bool Isa(Type value) {
  return DialectNameOf(value) == T::kName;
}
// The same for an attribute.
template <DialectAttributeClass T>
bool Isa(Attribute value) {
  return DialectNameOf(value) == T::kName;
}
// The value as class T; a null one if it is of another class, or null.
template <DialectTypeClass T>
T DynCast(Type value) {
  return Isa<T>(value) ? T(value) : T();
}
// The same for an attribute.
template <DialectAttributeClass T>
T DynCast(Attribute value) {
  return Isa<T>(value) ? T(value) : T();
}

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_DIALECT_TYPES_H_
