// Text of types and attributes, appended to a buffer. Internal to ir/core.
#ifndef TENON_IR_CORE_ASM_TEXT_H_
#define TENON_IR_CORE_ASM_TEXT_H_

#include <string>
#include <string_view>

#include "ir/core/attribute.h"
#include "ir/core/type.h"

namespace tenon {

void AppendInt(std::string& out, int64_t value);
// The text in quotes, with MLIR's escapes.
void AppendQuoted(std::string& out, std::string_view text);
// A bare identifier as it is, anything else in quotes.
void AppendName(std::string& out, std::string_view name);
// "@a" or "@\"a b\"::@c" from a path whose parts are joined by "::@".
void AppendSymbol(std::string& out, std::string_view path);
void AppendType(std::string& out, Type type);
// `in_array`: types that are the default of a literal (i64, f64) are left out.
void AppendAttribute(std::string& out, Attribute attribute, bool in_array = false);
// "{a = 1 : i64, b}".
void AppendEntries(std::string& out, std::span<const NamedAttribute> entries);
// "{", "," and "}" are the caller's: `name = value`, or `name` alone for unit.
void AppendNamed(std::string& out, std::string_view name, Attribute value);
// "(a, b) -> c".
void AppendFunctionType(std::string& out, std::span<const Type> inputs,
                        std::span<const Type> results);
// Key under which the bytes of large elements are kept: "blob_<hash>". Puts no parts together.
std::string ResourceKey(Attribute large);

}  // namespace tenon

#endif  // TENON_IR_CORE_ASM_TEXT_H_
