// Writing types and attributes as text, appended to a buffer. Internal to ir/core.
#ifndef TENON_IR_CORE_TEXT_ASM_TEXT_H_
#define TENON_IR_CORE_TEXT_ASM_TEXT_H_

#include <string>
#include <string_view>

#include "ir/core/attribute.h"
#include "ir/core/type.h"

namespace tenon {

void AppendInt(std::string& out, int64_t value);
// Appends the text in quotes, with MLIR's escapes.
void AppendQuoted(std::string& out, std::string_view text);
// Appends a bare identifier as it is, and any other text in quotes.
void AppendName(std::string& out, std::string_view name);
// Appends "@a" or "@\"a b\"::@c" for a path whose parts are joined by "::@".
void AppendSymbol(std::string& out, std::string_view path);
void AppendType(std::string& out, Type type);
// `in_array` leaves out types that are the default of a literal (i64, f64).
void AppendAttribute(std::string& out, Attribute attribute, bool in_array = false);
// Appends "{a = 1 : i64, b}".
void AppendEntries(std::string& out, std::span<const NamedAttribute> entries);
// Appends `name = value`, or `name` alone for a unit attribute.
void AppendNamed(std::string& out, std::string_view name, Attribute value);
// Appends "(a, b) -> c".
void AppendFunctionType(std::string& out, std::span<const Type> inputs,
                        std::span<const Type> results);
// Returns the name of the bytes of large elements in the resource section: "blob_<hash>". Deferred
// bytes are computed for it and not kept.
std::string ResourceKey(Attribute large);

}  // namespace tenon

#endif  // TENON_IR_CORE_TEXT_ASM_TEXT_H_
