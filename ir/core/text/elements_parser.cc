// dense<…>, dense_resource<…> and the resource section.
#include <cstring>

#include "fmt/format.h"
#include "ir/base/narrow_number.h"
#include "ir/core/text/asm_parser.h"

namespace tenon {

bool AsmParser::ParseStaticTensorType(Type& type, const char* what) {
  if (!Expect(TokenKind::kColon, "':' and a tensor type")) return false;
  size_t at = offset();
  if (!ParseType(type)) return false;
  if (!type.is_tensor() || !type.is_static() || type.num_elements() < 0) {
    return ErrorAt(at, fmt::format("{} needs a tensor type with static dimensions, got {}", what,
                                   type.text()));
  }
  if (type.num_elements() > INT64_MAX / 8) return ErrorAt(at, fmt::format("{} is too large", what));
  return true;
}

bool AsmParser::ParseDense(Attribute& attribute) {
  if (!Expect(TokenKind::kLess, "'<' after 'dense'")) return false;
  size_t at = offset();
  std::vector<Literal> literals;
  std::vector<int64_t> shape;
  Token hex;
  bool is_hex = At(TokenKind::kString), is_empty = At(TokenKind::kGreater);
  if (is_hex) {
    hex = token_;
    Advance();
  } else if (At(TokenKind::kLSquare)) {
    if (!ParseLiteralList(literals, shape, 0)) return false;
  } else if (!is_empty) {
    if (!ParseLiteral(literals.emplace_back())) return false;
  }
  Type type;
  if (!Expect(TokenKind::kGreater, "'>' after dense elements") ||
      !ParseStaticTensorType(type, "a dense constant")) {
    return false;
  }
  if (is_hex) return BuildHexElements(type, hex, attribute);
  if (is_empty) {
    if (type.num_elements() != 0)
      return ErrorAt(at, fmt::format("expected the elements of {}", type.text()));
    attribute = Attribute::Elements(context_, type, std::span<const std::byte>());
    return true;
  }
  return BuildElements(type, literals, shape, at, attribute);
}

// Nested lists; `shape` is what the first list of each level says, and the others must agree.
bool AsmParser::ParseLiteralList(std::vector<Literal>& literals, std::vector<int64_t>& shape,
                                 size_t axis) {
  DepthGuard guard(*this);
  if (!CheckDepth()) return false;
  size_t at = offset();
  Advance();  // "["
  // The first list to arrive at an axis fixes its extent once it is complete.
  bool first_here = shape.size() == axis;
  if (first_here) shape.push_back(-1);
  int64_t count = 0;
  while (!At(TokenKind::kRSquare)) {
    if (count > 0 && !Expect(TokenKind::kComma, "',' or ']' in a list of elements")) return false;
    ++count;
    if (At(TokenKind::kLSquare)) {
      if (shape.size() == axis + 1 && count > 1)
        return Error("expected a number, as before in this list");
      if (!ParseLiteralList(literals, shape, axis + 1)) return false;
    } else {
      if (shape.size() > axis + 1) return Error("expected a list, as before at this depth");
      if (!ParseLiteral(literals.emplace_back())) return false;
    }
  }
  Advance();
  if (first_here || shape[axis] < 0) {
    shape[axis] = count;
  } else if (shape[axis] != count) {
    return ErrorAt(at,
                   fmt::format("expected {} elements in this list, got {}", shape[axis], count));
  }
  return true;
}

bool AsmParser::BuildElements(Type type, const std::vector<Literal>& literals,
                              const std::vector<int64_t>& shape, size_t at, Attribute& attribute) {
  bool splat = shape.empty();
  if (!splat) {
    bool same = static_cast<int64_t>(shape.size()) == type.rank();
    for (size_t i = 0; same && i < shape.size(); ++i)
      same = type.dim(static_cast<int64_t>(i)).is_constant(shape[i]);
    // [] stands for any tensor without elements; deeper axes of an empty list were never seen.
    bool empty = literals.empty() && type.num_elements() == 0;
    if (!same && !empty) {
      std::string got;
      for (int64_t d : shape) got += fmt::format("{}{}", got.empty() ? "" : "x", d);
      return ErrorAt(at, fmt::format("elements of shape {} do not fit {}", got, type.text()));
    }
  }
  DType dtype = type.dtype();
  size_t element = SizeOf(dtype);
  std::vector<std::byte> bytes(literals.size() * element);
  for (size_t i = 0; i < literals.size(); ++i) {
    if (HoldsFloats(dtype)) {
      double value = 0;
      if (!ToFloat(literals[i], dtype, value)) return false;
      StoreFromDouble(dtype, value, bytes.data() + i * element);
    } else {
      int64_t value = 0;
      if (!ToInteger(literals[i], dtype, value)) return false;
      std::memcpy(bytes.data() + i * element, &value, element);  // little-endian
    }
  }
  attribute = splat ? Attribute::Splat(context_, type, bytes)
                    : Attribute::Elements(context_, type, std::span<const std::byte>(bytes));
  return true;
}

bool AsmParser::HexDigits(const Token& token, std::string_view& digits) {
  digits = token.text.substr(1, token.text.size() - 2);
  if (digits.substr(0, 2) != "0x" || digits.size() % 2 != 0) {
    return ErrorAt(lexer_.OffsetOf(token),
                   "expected a string of hexadecimal bytes such as \"0x00FF\"");
  }
  digits.remove_prefix(2);
  return true;
}

bool AsmParser::DecodeHex(std::string_view digits, std::byte* bytes) {
  for (size_t i = 0; i < digits.size(); i += 2) {
    const int high = HexValue(digits[i]), low = HexValue(digits[i + 1]);
    if (high < 0 || low < 0) {
      const Token pair{.text = digits.substr(i, 2)};
      return ErrorAt(lexer_.OffsetOf(pair), "expected a hexadecimal digit");
    }
    *bytes++ = static_cast<std::byte>(high * 16 + low);
  }
  return true;
}

bool AsmParser::BuildHexElements(Type type, const Token& token, Attribute& attribute) {
  std::string_view digits;
  if (!HexDigits(token, digits)) return false;
  std::vector<std::byte> bytes(digits.size() / 2);
  if (!DecodeHex(digits, bytes.data())) return false;
  if (IsNarrow(type.dtype())) {
    for (std::byte& b : bytes)
      b = std::byte{NarrowElement(type.dtype(), std::to_integer<uint8_t>(b))};
  }
  size_t element = SizeOf(type.dtype());
  auto count = static_cast<size_t>(type.num_elements());
  if (type.dtype() ==
      DType::kBool) {  // eight to a byte, lowest bit first; one byte 0xFF is a splat of true
    bool splat =
        bytes.size() == 1 && count > 8 && (bytes[0] == std::byte{0xFF} || bytes[0] == std::byte{0});
    if (!splat && bytes.size() != (count + 7) / 8) {
      return ErrorAt(lexer_.OffsetOf(token),
                     fmt::format("{} bytes do not fit {}", bytes.size(), type.text()));
    }
    if (splat) {
      bytes[0] &= std::byte{1};
      attribute = Attribute::Splat(context_, type, bytes);
      return true;
    }
    std::vector<std::byte> bools(count);
    for (size_t i = 0; i < count; ++i) bools[i] = (bytes[i / 8] >> (i % 8)) & std::byte{1};
    bytes = std::move(bools);
  } else if (bytes.size() == element && count != 1) {
    attribute = Attribute::Splat(context_, type, bytes);
    return true;
  }
  if (bytes.size() != count * element) {
    return ErrorAt(lexer_.OffsetOf(token),
                   fmt::format("{} bytes do not fit {}", bytes.size(), type.text()));
  }
  attribute = Attribute::Elements(context_, type, std::span<const std::byte>(bytes));
  return true;
}

bool AsmParser::ParseDenseResource(Attribute& attribute) {
  if (!Expect(TokenKind::kLess, "'<' after 'dense_resource'")) return false;
  size_t at = offset();
  std::string key;
  if (At(TokenKind::kBareId)) {
    key = std::string(token_.text);
    Advance();
  } else if (!ParseString(key, "the key of a resource")) {
    return false;
  }
  Type type;
  if (!Expect(TokenKind::kGreater, "'>' after the key of a resource") ||
      !ParseStaticTensorType(type, "a dense constant")) {
    return false;
  }
  auto it = resources_.find(key);
  if (it == resources_.end()) {
    if (silent_error_) return ErrorAt(silent_error_->offset, silent_error_->message);
    return ErrorOnce(
        key, at,
        fmt::format("resource '{}' has no bytes in a dialect_resources section (printed elided?)",
                    key));
  }
  size_t expected = static_cast<size_t>(type.num_elements()) * SizeOf(type.dtype());
  if (it->second->size() != expected) {
    return ErrorAt(at, fmt::format("resource '{}' has {} bytes, {} needs {}", key,
                                   it->second->size(), type.text(), expected));
  }
  // Uses of one resource are one attribute.
  Attribute& known = resource_attributes_[{it->second.get(), type.storage()}];
  if (!known) known = Attribute::Elements(context_, type, it->second);
  attribute = known;
  return true;
}

void AsmParser::FindResources() {
  const std::string_view whole = lexer_.text();
  // The rarest of its characters first: this looks at all of a text without resources.
  size_t hash = whole.rfind('#');
  while (hash != std::string_view::npos && (hash < 2 || whole.substr(hash - 2, 3) != "{-#"))
    hash = hash == 0 ? std::string_view::npos : whole.rfind('#', hash - 1);
  if (hash == std::string_view::npos) return;
  const size_t begin = hash - 2;
  Lexer lexer = lexer_;
  Token token = token_;
  lexer_.set_position(begin);
  Advance();
  // Errors show up when the section is reached in order, or a constant has no bytes because of
  // them; until then, a string may just look like one.
  silent_ = true;
  if (ParseMetadata()) {
    metadata_begin_ = begin;
    metadata_end_ = lexer_.position() - token_.text.size();
  } else {
    resources_.clear();
    if (begin > 0 && lexer_.text()[begin - 1] != '\n') silent_error_.reset();
  }
  silent_ = false;
  status_ = absl::OkStatus();
  depth_ = 0;
  lexer_ = lexer;
  token_ = token;
}

// {-# dialect_resources: { builtin: { key: "0x…", … } }, external_resources: { … } #-}
bool AsmParser::ParseMetadata() {
  if (offset() == metadata_begin_) {
    lexer_.set_position(metadata_end_);
    Advance();
    return true;
  }
  Advance();
  while (!At(TokenKind::kMetadataEnd)) {
    if (!At(TokenKind::kBareId))
      return ErrorExpected("a section such as dialect_resources, or '#-}'");
    bool dialects = token_.text == "dialect_resources";
    if (!dialects && token_.text != "external_resources") {
      return Error(fmt::format("unknown section '{}' in file metadata", token_.text));
    }
    Advance();
    if (!Expect(TokenKind::kColon, "':'") || !Expect(TokenKind::kLBrace, "'{'")) return false;
    while (!Consume(TokenKind::kRBrace)) {
      bool builtin = dialects && AtKeyword("builtin");
      if (!At(TokenKind::kBareId) && !At(TokenKind::kString))
        return ErrorExpected("the name of a group of resources");
      Advance();
      if (!Expect(TokenKind::kColon, "':'") || !ParseResourceGroup(builtin)) return false;
      if (!Consume(TokenKind::kComma) && !At(TokenKind::kRBrace))
        return ErrorExpected("',' or '}'");
    }
    if (!Consume(TokenKind::kComma) && !At(TokenKind::kMetadataEnd))
      return ErrorExpected("',' or '#-}'");
  }
  Advance();
  return true;
}

bool AsmParser::ParseResourceGroup(bool builtin) {
  if (!Expect(TokenKind::kLBrace, "'{'")) return false;
  while (!Consume(TokenKind::kRBrace)) {
    std::string key;
    if (At(TokenKind::kBareId)) {
      key = std::string(token_.text);
      Advance();
    } else if (!ParseString(key, "the key of a resource")) {
      return false;
    }
    if (!Expect(TokenKind::kColon, "':'")) return false;
    if (!builtin) {  // read past
      Advance();
    } else if (!ParseResource(key)) {
      return false;
    }
    if (!Consume(TokenKind::kComma) && !At(TokenKind::kRBrace)) return ErrorExpected("',' or '}'");
  }
  return true;
}

bool AsmParser::ParseResource(std::string_view key) {
  if (!At(TokenKind::kString)) return ErrorExpected("a string of hexadecimal bytes");
  constexpr size_t kAlignment = 4;  // bytes
  std::string_view digits;
  if (!HexDigits(token_, digits)) return false;
  std::byte alignment[kAlignment];
  if (!DecodeHex(digits.substr(0, 2 * kAlignment), alignment)) return false;
  if (digits.size() < 2 * kAlignment)
    return Error("a resource begins with its alignment in four bytes");
  digits.remove_prefix(2 * kAlignment);
  bool decoded = false;
  auto blob =
      Blob::Make(digits.size() / 2, [&](std::byte* bytes) { decoded = DecodeHex(digits, bytes); });
  if (!decoded) return false;
  if (!resources_.emplace(std::string(key), std::move(blob)).second) {
    return Error(fmt::format("resource '{}' is given twice", key));
  }
  Advance();
  return true;
}

}  // namespace tenon
