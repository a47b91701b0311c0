#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "fmt/format.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/context/dialect_types.h"
#include "ir/core/text/asm_parser.h"

namespace tenon {

bool AsmParser::ParseAttribute(Attribute& attribute) {
  DepthGuard guard(*this);
  ++parts_;
  return CheckDepth() && ParseAttributeUncounted(attribute);
}

bool AsmParser::ParseAttributeUncounted(Attribute& attribute) {
  switch (token_.kind) {
    case TokenKind::kInteger:
    case TokenKind::kFloat:
    case TokenKind::kMinus:
      return ParseNumber(attribute);
    case TokenKind::kString: {
      std::string value;
      if (!ParseString(value, "a string")) return false;
      attribute = Attribute::Str(context_, value);
      return true;
    }
    case TokenKind::kLSquare:
      return ParseArray(attribute);
    case TokenKind::kLBrace: {
      std::vector<NamedAttribute> entries;
      if (!ParseDictionary(entries)) return false;
      attribute = Attribute::Dictionary(context_, entries);
      return true;
    }
    case TokenKind::kAtId:
      return ParseSymbolRef(attribute);
    case TokenKind::kHashId:
      return ParseExtendedAttribute(attribute);
    case TokenKind::kBareId:
      if (ConsumeKeyword("unit")) {
        attribute = Attribute::Unit(context_);
        return true;
      }
      if (AtKeyword("true") || AtKeyword("false")) {
        attribute = Attribute::Bool(context_, AtKeyword("true"));
        Advance();
        return true;
      }
      if (AtKeyword("affine_map") || AtKeyword("affine_set") || AtKeyword("strided")) {
        std::string text;
        if (!ParseBuiltinText(text)) return false;
        attribute = Attribute::Opaque(context_, text);
        return true;
      }
      if (ConsumeKeyword("array")) return ParseDenseArray(attribute);
      if (ConsumeKeyword("dense")) return ParseDense(attribute);
      if (ConsumeKeyword("dense_resource")) return ParseDenseResource(attribute);
      [[fallthrough]];
    case TokenKind::kLParen:
    case TokenKind::kExclaimId: {
      Type type;
      if (!ParseType(type)) return false;
      attribute = Attribute::TypeAttr(context_, type);
      return true;
    }
    default:
      return ErrorExpected("an attribute");
  }
}

bool AsmParser::ParseString(std::string& value, const char* what) {
  if (!At(TokenKind::kString)) return ErrorExpected(what);
  value = *Unescape(token_.text);  // the lexer has checked the escapes
  Advance();
  return true;
}

bool AsmParser::ParseNumber(Attribute& attribute) {
  Literal literal;
  size_t at = offset();
  if (!ParseLiteral(literal)) return false;
  bool is_float = literal.token.kind == TokenKind::kFloat;
  Type type = Type::Scalar(context_, is_float ? DType::kF64 : DType::kI64);
  if (Consume(TokenKind::kColon) && !ParseType(type)) return false;
  bool is_index = type.kind() == Type::Kind::kIndex;
  if (type.kind() != Type::Kind::kScalar && !is_index) {
    return ErrorAt(at, fmt::format("a number cannot have type {}", type.text()));
  }
  if (IsNarrow(type.dtype())) return ErrorNarrow(at, type.dtype());
  if (!is_index && IsFloat(type.dtype())) {
    double value = 0;
    if (!ToFloat(literal, type.dtype(), value)) return false;
    attribute = Attribute::Float(context_, value, type.dtype());
    return true;
  }
  int64_t value = 0;
  if (!ToInteger(literal, is_index ? DType::kI64 : type.dtype(), value)) return false;
  attribute = type.dtype() == DType::kBool ? Attribute::Bool(context_, value != 0)
                                           : Attribute::Int(context_, value, type);
  return true;
}

bool AsmParser::ErrorNarrow(size_t at, DType dtype) {
  return ErrorAt(at, fmt::format("only dense constants have elements of {} (expected another type)",
                                 Name(dtype)));
}

bool AsmParser::ParseLiteral(Literal& literal) {
  literal.negative = Consume(TokenKind::kMinus);
  if (AtKeyword("true") || AtKeyword("false")) {
    if (literal.negative) return ErrorExpected("a number after '-'");
  } else if (!At(TokenKind::kInteger) && !At(TokenKind::kFloat)) {
    return ErrorExpected("a number");
  }
  literal.token = token_;
  Advance();
  return true;
}

bool AsmParser::ToInteger(const Literal& literal, DType dtype, int64_t& value) {
  std::string_view text = literal.token.text;
  size_t at = lexer_.OffsetOf(literal.token);
  if (literal.token.kind == TokenKind::kBareId) {
    if (dtype != DType::kBool)
      return ErrorAt(at, fmt::format("'{}' is not of type {}", text, Name(dtype)));
    value = text == "true";
    return true;
  }
  if (literal.token.kind != TokenKind::kInteger) {
    return ErrorAt(at, fmt::format("expected an integer for type {}, got '{}'", Name(dtype), text));
  }
  bool hex = text.size() > 2 && text[1] == 'x';
  if (hex) text.remove_prefix(2);
  uint64_t magnitude = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), magnitude, hex ? 16 : 10);
  const int bits = BitsOf(dtype);
  uint64_t max = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  uint64_t limit = literal.negative ? (HoldsUnsigned(dtype) ? 0 : (max >> 1) + 1) : max;
  if (error != std::errc() || magnitude > limit) {
    return ErrorAt(at, fmt::format("'{}{}' does not fit type {}", literal.negative ? "-" : "",
                                   literal.token.text, Name(dtype)));
  }
  value = static_cast<int64_t>(literal.negative ? ~magnitude + 1 : magnitude);
  if (!literal.negative && HoldsSigned(dtype) && bits < 64 && magnitude > (max >> 1)) {
    value = static_cast<int64_t>(magnitude | ~max);  // the same bits, as MLIR has it
  }
  return true;
}

bool AsmParser::ToFloat(const Literal& literal, DType dtype, double& value) {
  std::string text(literal.token.text);
  size_t at = lexer_.OffsetOf(literal.token);
  if (literal.token.kind == TokenKind::kFloat) {
    value = std::strtod(text.c_str(), nullptr);
    if (literal.negative) value = -value;
    return true;
  }
  // A hexadecimal integer gives the bits.
  bool hex = literal.token.kind == TokenKind::kInteger && text.size() > 2 && text[1] == 'x';
  if (!hex || literal.negative) {
    return ErrorAt(at, fmt::format("expected a floating-point number for type {}, got '{}'",
                                   Name(dtype), text));
  }
  uint64_t bits = 0;
  const int size = BitsOf(dtype);
  auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  if (error != std::errc() || (size < 64 && (bits >> size) != 0)) {
    return ErrorAt(at, fmt::format("'{}' has more bits than type {}", text, Name(dtype)));
  }
  std::byte bytes[8];
  std::memcpy(bytes, &bits, 8);
  value = LoadAsDouble(dtype, bytes);
  return true;
}

bool AsmParser::ParseArray(Attribute& attribute) {
  Advance();
  std::vector<Attribute> elements;
  while (!At(TokenKind::kRSquare)) {
    if (!elements.empty() && !Expect(TokenKind::kComma, "',' or ']' in an array")) return false;
    Attribute element;
    if (!ParseAttribute(element)) return false;
    elements.push_back(element);
  }
  Advance();
  attribute = Attribute::Array(context_, elements);
  return true;
}

bool AsmParser::ParseDenseArray(Attribute& attribute) {
  if (!Expect(TokenKind::kLess, "'<' after 'array'")) return false;
  size_t at = offset();
  Type type;
  if (!ParseType(type)) return false;
  if (type.kind() != Type::Kind::kScalar)
    return ErrorAt(at, "expected an element type such as i64 or f32");
  if (IsNarrow(type.dtype())) return ErrorNarrow(at, type.dtype());
  std::vector<int64_t> ints;
  std::vector<double> floats;
  bool is_float = IsFloat(type.dtype());
  if (Consume(TokenKind::kColon)) {
    do {
      Literal literal;
      if (!ParseLiteral(literal)) return false;
      if (is_float) {
        if (!ToFloat(literal, type.dtype(), floats.emplace_back())) return false;
        // Kept rounded, so that equal arrays are one.
        std::byte rounded[8];
        StoreFromDouble(type.dtype(), floats.back(), rounded);
        floats.back() = LoadAsDouble(type.dtype(), rounded);
      } else if (!ToInteger(literal, type.dtype(), ints.emplace_back())) {
        return false;
      }
    } while (Consume(TokenKind::kComma));
  }
  if (!Expect(TokenKind::kGreater, "',' or '>' in an array")) return false;
  attribute = is_float ? Attribute::Floats(context_, type.dtype(), floats)
                       : Attribute::Ints(context_, type.dtype(), ints);
  return true;
}

bool AsmParser::ParseDictionary(std::vector<NamedAttribute>& entries,
                                std::vector<size_t>* offsets) {
  if (!Expect(TokenKind::kLBrace, "'{'")) return false;
  constexpr size_t kFew = 16;  // names to compare one by one
  absl::flat_hash_set<Key> seen;
  while (!At(TokenKind::kRBrace)) {
    if (!entries.empty() && !Expect(TokenKind::kComma, "',' or '}' in a dictionary")) return false;
    size_t at = offset();
    Identifier name;
    if (At(TokenKind::kBareId)) {
      name = context_.Intern(token_.text);
      Advance();
    } else {
      std::string text;
      if (!ParseString(text, "an attribute name")) return false;
      if (text.empty()) return ErrorAt(at, "an attribute name must not be empty");
      name = context_.Intern(text);
    }
    bool again = false;
    if (entries.size() < kFew) {
      for (const NamedAttribute& entry : entries) again |= entry.name == name;
    } else {
      if (seen.empty()) {
        for (const NamedAttribute& entry : entries) seen.insert(ToKey(entry.name.str()));
      }
      again = !seen.insert(ToKey(name.str())).second;
    }
    if (again) {
      return ErrorAt(at, fmt::format("attribute '{}' is given twice", name.str()));
    }
    Attribute value;
    if (Consume(TokenKind::kEqual)) {
      if (!ParseAttribute(value)) return false;
    } else {
      value = Attribute::Unit(context_);
    }
    entries.push_back({name, value});
    if (offsets != nullptr) offsets->push_back(at);
  }
  Advance();
  return true;
}

bool AsmParser::ParseSymbolName(std::string& name) {
  if (!At(TokenKind::kAtId)) return ErrorExpected("a symbol such as @name");
  std::string_view text = token_.text.substr(1);
  name = text[0] == '"' ? *Unescape(text) : std::string(text);
  if (name.empty()) return Error("a symbol name must not be empty");
  Advance();
  return true;
}

bool AsmParser::ParseSymbolRef(Attribute& attribute) {
  std::string path;
  if (!ParseSymbolName(path)) return false;
  while (Consume(TokenKind::kColonColon)) {
    std::string part;
    if (!ParseSymbolName(part)) return false;
    path += "::@" + part;
  }
  attribute = Attribute::SymbolRef(context_, path);
  return true;
}

bool AsmParser::ParseExtendedAttribute(Attribute& attribute) {
  size_t at = offset();
  const std::string_view name = token_.text.substr(1);
  if (auto it = attribute_aliases_.find(name); it != attribute_aliases_.end()) {
    if (!CountReference(name)) return false;
    attribute = it->second;
    Advance();
    return true;
  }
  if (token_.text == "#core.dims") return ParseDims(attribute);
  if (ImplOf(context_).dialect_attributes.contains(name)) {
    std::vector<Attribute> parameters;
    if (!ParseParameters(parameters)) return false;
    const absl::StatusOr<Attribute> made = MakeDialectAttribute(context_, name, parameters);
    if (!made.ok()) return ErrorAt(at, std::string(made.status().message()));
    attribute = *made;
    return true;
  }
  std::string_view text;
  if (!ParseDialectSymbol(text)) return false;
  if (text.find_first_of(".<") == std::string_view::npos) {
    return ErrorOnce(text, at, fmt::format("undefined attribute alias '{}'", text));
  }
  std::string whole;
  if (!CheckDialect(at, text, "attribute") || !ExpandAliases(at, text, false, whole)) return false;
  attribute = Attribute::Opaque(context_, whole);
  return true;
}

// #core.dims<"B", "past + S", 768>
bool AsmParser::ParseDims(Attribute& attribute) {
  Advance();
  if (!Expect(TokenKind::kLess, "'<' after '#core.dims'")) return false;
  std::vector<DimExpr> dims;
  while (!At(TokenKind::kGreater)) {
    if (!dims.empty() && !Expect(TokenKind::kComma, "',' or '>' in a list of dimensions"))
      return false;
    size_t at = offset();
    if (At(TokenKind::kString)) {
      std::string text;
      if (!ParseString(text, "a dimension")) return false;
      std::optional<DimExpr> dim = DimExpr::Parse(context_, text);
      if (!dim) return ErrorAt(at, fmt::format("malformed dimension expression '{}'", text));
      dims.push_back(*dim);
      continue;
    }
    Literal literal;
    int64_t value = 0;
    if (!At(TokenKind::kInteger) && !At(TokenKind::kMinus)) {
      return ErrorExpected("a dimension: a number or an expression in quotes");
    }
    if (!ParseLiteral(literal) || !ToInteger(literal, DType::kI64, value)) return false;
    dims.push_back(DimExpr::Constant(context_, value));
  }
  Advance();
  attribute = Attribute::Dims(context_, dims);
  return true;
}

bool AsmParser::ParseAliasDefinition() {
  bool is_type = At(TokenKind::kExclaimId);
  size_t at = offset();
  std::string name(token_.text.substr(1));
  if (name.find('.') != std::string::npos)
    return Error("the name of an alias must not contain '.'");
  Advance();
  if (!Expect(TokenKind::kEqual, "'=' after the name of an alias")) return false;
  if (type_aliases_.count(name) + attribute_aliases_.count(name) + location_aliases_.count(name) >
      0) {
    return ErrorAt(at, fmt::format("alias '{}' is defined twice", name));
  }
  const int64_t parts_before = parts_;
  deepest_ = depth_;
  const auto add_size = [&] {
    alias_sizes_.emplace(name, AliasSize{parts_ - parts_before, deepest_ - depth_});
  };
  if (is_type) {
    Type type;
    if (!ParseType(type)) return false;
    add_size();
    type_aliases_.emplace(std::move(name), type);
    return true;
  }
  if (ConsumeKeyword("loc")) {
    Location location;
    if (!ParseLocation(location)) return false;
    add_size();
    location_aliases_.emplace(std::move(name), location);
    return true;
  }
  Attribute attribute;
  if (!ParseAttribute(attribute)) return false;
  add_size();
  attribute_aliases_.emplace(std::move(name), attribute);
  return true;
}

}  // namespace tenon
