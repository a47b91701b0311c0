#include "ir/core/text/asm_text.h"

#include <charconv>

#include "ir/core/text/lexer.h"

namespace tenon {
namespace {

constexpr char kEscapeDigits[] = "0123456789ABCDEF";

void AppendTypes(std::string& out, std::span<const Type> types) {
  for (size_t i = 0; i < types.size(); ++i) {
    if (i > 0) out += ", ";
    AppendType(out, types[i]);
  }
}

void AppendTensor(std::string& out, Type type) {
  out += "tensor<";
  bool symbolic = false;
  for (DimExpr dim : type.dims()) {
    if (dim.is_constant()) {
      AppendInt(out, dim.constant());
    } else {
      out += '?';
      symbolic |= !dim.is_unknown();
    }
    out += 'x';
  }
  out += Name(type.dtype());
  if (symbolic) {
    out += ", [";
    bool first = true;
    for (DimExpr dim : type.dims()) {
      if (!first) out += ", ";
      first = false;
      if (dim.is_constant()) {
        out += "\"\"";
      } else {
        AppendQuoted(out, dim.text());
      }
    }
    out += ']';
  }
  out += '>';
}

}  // namespace

void AppendInt(std::string& out, int64_t value) {
  char buffer[24];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  out.append(buffer, end);
}

void AppendQuoted(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      out += "\\\\";
    } else if (byte >= 0x20 && byte < 0x7f && c != '"') {
      out += c;
    } else {
      out += '\\';
      out += kEscapeDigits[byte >> 4];
      out += kEscapeDigits[byte & 15];
    }
  }
  out += '"';
}

void AppendName(std::string& out, std::string_view name) {
  if (IsBareIdentifier(name)) {
    out += name;
  } else {
    AppendQuoted(out, name);
  }
}

void AppendSymbol(std::string& out, std::string_view path) {
  while (true) {
    size_t next = path.find("::@");
    out += '@';
    AppendName(out, path.substr(0, next));
    if (next == std::string_view::npos) return;
    out += "::";
    path.remove_prefix(next + 3);
  }
}

void AppendFunctionType(std::string& out, std::span<const Type> inputs,
                        std::span<const Type> results) {
  out += '(';
  AppendTypes(out, inputs);
  out += ") -> ";
  if (results.size() == 1 && results[0].kind() != Type::Kind::kFunction) {
    AppendType(out, results[0]);
    return;
  }
  out += '(';
  AppendTypes(out, results);
  out += ')';
}

void AppendType(std::string& out, Type type) {
  if (!type) {
    out += "<null type>";
    return;
  }
  switch (type.kind()) {
    case Type::Kind::kScalar:
      out += Name(type.dtype());
      return;
    case Type::Kind::kIndex:
      out += "index";
      return;
    case Type::Kind::kNone:
      out += "none";
      return;
    case Type::Kind::kTensor:
      AppendTensor(out, type);
      return;
    case Type::Kind::kUnranked:
      out += "tensor<*x";
      out += Name(type.dtype());
      out += '>';
      return;
    case Type::Kind::kFunction:
      AppendFunctionType(out, type.inputs(), type.results());
      return;
    case Type::Kind::kTuple:
      out += "tuple<";
      AppendTypes(out, type.inputs());
      out += '>';
      return;
    case Type::Kind::kOpaque:
      out += type.opaque_text();
      return;
  }
}

std::string Type::text() const {
  std::string out;
  AppendType(out, *this);
  return out;
}

}  // namespace tenon
