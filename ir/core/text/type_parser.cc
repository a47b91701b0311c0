#include <algorithm>
#include <charconv>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/context/context_limits.h"
#include "ir/core/context/dialect_types.h"
#include "ir/core/text/asm_parser.h"

namespace tenon {
namespace {

DType DTypeByName(std::string_view name) {
  static const auto kByName = [] {
    absl::flat_hash_map<std::string_view, DType> by_name;
    for (int i = 1; i < kNumDTypes; ++i)
      by_name.emplace(Name(static_cast<DType>(i)), static_cast<DType>(i));
    return by_name;
  }();
  const auto found = kByName.find(name);
  return found == kByName.end() ? DType::kInvalid : found->second;
}

}  // namespace

bool AsmParser::CheckDepth(int more) {
  const int64_t most = LimitsOf(context_).nesting;
  deepest_ = std::max(deepest_, depth_ + more);
  if (depth_ + more <= most) return true;
  Error(fmt::format("nested deeper than {} levels (Limits::nesting or --max-nesting)", most));
  status_ = absl::ResourceExhaustedError(status_.message());
  return false;
}

// Aliases that double would be written out as a text that nobody can hold.
bool AsmParser::CountReference(std::string_view alias) {
  constexpr int64_t kMostAliasParts = int64_t{1} << 24;
  const AliasSize size = alias_sizes_.find(alias)->second;
  parts_ += size.parts;
  alias_parts_ += size.parts;
  if (alias_parts_ <= kMostAliasParts) return CheckDepth(size.depth);
  Error(fmt::format("aliases written out have more than {} parts", kMostAliasParts));
  status_ = absl::ResourceExhaustedError(status_.message());
  return false;
}

bool AsmParser::ParseType(Type& type) {
  DepthGuard guard(*this);
  ++parts_;
  if (!CheckDepth() || !ParseTypeUncounted(type)) return false;
  return true;
}

bool AsmParser::ParseTypeUncounted(Type& type) {
  if (At(TokenKind::kLParen)) {
    std::vector<Type> inputs, results;
    if (!ParseFunctionType(inputs, results)) return false;
    type = Type::Function(context_, inputs, results);
    return true;
  }
  if (At(TokenKind::kExclaimId)) return ParseExtendedType(type);
  if (!At(TokenKind::kBareId)) return ErrorExpected("a type");
  std::string_view word = token_.text;
  if (word == "tensor") {
    Advance();
    return ParseTensorType(type);
  }
  if (DType dtype = DTypeByName(word); dtype != DType::kInvalid) {
    type = Type::Scalar(context_, dtype);
  } else if (word == "index") {
    type = Type::Index(context_);
  } else if (word == "none") {
    type = Type::None(context_);
  } else if (word == "tuple") {
    Advance();
    std::vector<Type> types;
    if (!Expect(TokenKind::kLess, "'<' after 'tuple'") ||
        !ParseTypeList(types, TokenKind::kGreater))
      return false;
    type = Type::Tuple(context_, types);
    return true;
  } else if (word == "vector" || word == "memref" || word == "complex") {
    std::string text;
    if (!ParseBuiltinText(text)) return false;
    type = Type::Opaque(context_, text);
    return true;
  } else {
    return Error(fmt::format(
        "unknown or unsupported type '{}' (expected tensor<…>, a number type "
        "such as f32 or i64, index, none, tuple<…>, vector<…>, memref<…>, complex<…>, a "
        "function type or !dialect.…)",
        word));
  }
  Advance();
  return true;
}

bool AsmParser::ParseTypeList(std::vector<Type>& types, TokenKind close) {
  if (Consume(close)) return true;
  do {
    Type type;
    if (!ParseType(type)) return false;
    types.push_back(type);
  } while (Consume(TokenKind::kComma));
  return Expect(close, close == TokenKind::kGreater ? "',' or '>' in a list of types"
                                                    : "',' or ')' in a list of types");
}

bool AsmParser::ParseFunctionType(std::vector<Type>& inputs, std::vector<Type>& results) {
  if (!Expect(TokenKind::kLParen, "'(' before operand types") ||
      !ParseTypeList(inputs, TokenKind::kRParen) ||
      !Expect(TokenKind::kArrow, "'->' and result types")) {
    return false;
  }
  if (Consume(TokenKind::kLParen)) return ParseTypeList(results, TokenKind::kRParen);
  Type type;
  if (!ParseType(type)) return false;
  results.push_back(type);
  return true;
}

bool AsmParser::ParseTensorType(Type& type) {
  if (!At(TokenKind::kLess)) return ErrorExpected("'<' after 'tensor'");
  // Most types of a text repeat: look the body up before reading it.
  std::string_view text = lexer_.text();
  size_t begin = lexer_.position(), end = begin;
  bool quoted = false;
  while (end < text.size() && (quoted || text[end] != '>') && text[end] != '\n' &&
         end - begin < 4096) {
    if (text[end] == '"') quoted = !quoted;
    ++end;
  }
  bool whole = end < text.size() && text[end] == '>' && !quoted;
  Key key = ToKey(text.substr(begin, end - begin));
  if (whole) {
    if (auto it = tensor_types_.find(key); it != tensor_types_.end()) {
      type = it->second;
      lexer_.set_position(end + 1);
      Advance();
      return true;
    }
  }
  if (!ParseTensorBody(type)) return false;
  // Only if the shortcut would have stopped at the same place.
  if (whole && lexer_.position() == end + 1) tensor_types_.emplace(key, type);
  Advance();
  return true;
}

// Leaves the closing ">" as the current token.
bool AsmParser::ParseTensorBody(Type& type) {
  const size_t start = lexer_.position();
  std::vector<int64_t> dims;
  bool unranked = false;
  if (!ParseDimensions(dims, unranked)) return false;
  if (!At(TokenKind::kBareId)) return ErrorExpected("an element type");
  DType dtype = DTypeByName(token_.text);
  if (dtype == DType::kInvalid) {
    return Error(
        fmt::format("unsupported tensor element type '{}' (expected i1, i2 to i64, ui2 to "
                    "ui64, f16, bf16, f32, f64 or a float of 8 or 4 bits such as f8E4M3FN)",
                    token_.text));
  }
  Advance();
  if (unranked) {
    type = Type::Unranked(context_, dtype);
  } else {
    std::vector<DimExpr> exprs;
    exprs.reserve(dims.size());
    for (int64_t d : dims) {
      exprs.push_back(d < 0 ? DimExpr::Unknown(context_) : DimExpr::Constant(context_, d));
    }
    if (Consume(TokenKind::kComma) && !ParseEncoding(exprs)) return false;
    type = Type::Tensor(context_, dtype, exprs);
    if (type.is_static() && type.num_elements() < 0) {
      return ErrorAt(start, "the tensor has more elements than 64 bits can count");
    }
  }
  return At(TokenKind::kGreater) || ErrorExpected("'>' at the end of a tensor type");
}

// From behind "<" up to the element type, which becomes the current token. "2x?xf32" is no sequence
// of ordinary tokens, so this reads characters. Unknown dimensions are -1.
bool AsmParser::ParseDimensions(std::vector<int64_t>& dims, bool& unranked) {
  std::string_view text = lexer_.text();
  auto skip_space = [&] {
    lexer_.SkipSpaceAndComments();
    return lexer_.position() < text.size() ? text[lexer_.position()] : '\0';
  };
  auto take_x = [&] {
    size_t at = lexer_.position();
    if (skip_space() != 'x') {
      lexer_.set_position(at);
      Advance();
      return ErrorExpected("'x' after a dimension");
    }
    lexer_.set_position(lexer_.position() + 1);
    return true;
  };
  while (true) {
    char c = skip_space();
    size_t at = lexer_.position();
    if (c == '*' && dims.empty()) {
      unranked = true;
      lexer_.set_position(at + 1);
      if (!take_x()) return false;
      break;
    }
    if (c == '?') {
      dims.push_back(-1);
      lexer_.set_position(at + 1);
    } else if (c >= '0' && c <= '9') {
      int64_t value = 0;
      auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
      if (error != std::errc()) return ErrorAt(at, "dimension does not fit 64 bits");
      dims.push_back(value);
      lexer_.set_position(static_cast<size_t>(end - text.data()));
    } else {
      break;
    }
    if (static_cast<int64_t>(dims.size()) > kMaxRank) {
      return ErrorAt(at, fmt::format("a tensor has at most {} dimensions", kMaxRank));
    }
    if (!take_x()) return false;
  }
  Advance();
  return true;
}

// ["B", "past + S", ""]: an expression for each dimension written "?".
bool AsmParser::ParseEncoding(std::vector<DimExpr>& dims) {
  constexpr const char* kWhat = "an encoding such as [\"B\", \"\"], one string a dimension";
  if (!Expect(TokenKind::kLSquare, kWhat)) return false;
  size_t n = 0;
  while (!At(TokenKind::kRSquare)) {
    if (n > 0 && !Expect(TokenKind::kComma, "',' or ']' in an encoding")) return false;
    size_t at = offset();
    std::string text;
    if (!ParseString(text, kWhat)) return false;
    if (n >= dims.size())
      return ErrorAt(at, "encoding has more entries than the tensor has dimensions");
    DimExpr& dim = dims[n++];
    if (text.empty()) continue;
    if (dim.is_constant()) {
      if (text != dim.text()) return ErrorAt(at, "encoding of a static dimension must be \"\"");
      continue;
    }
    std::optional<DimExpr> parsed = DimExpr::Parse(context_, text);
    if (!parsed) return ErrorAt(at, fmt::format("malformed dimension expression '{}'", text));
    dim = *parsed;
  }
  Advance();
  return n == dims.size() || Error("encoding has fewer entries than the tensor has dimensions");
}

bool AsmParser::ParseExtendedType(Type& type) {
  size_t at = offset();
  std::string_view name = token_.text.substr(1);
  if (auto it = type_aliases_.find(name); it != type_aliases_.end()) {
    if (!CountReference(name)) return false;
    type = it->second;
    Advance();
    return true;
  }
  if (ImplOf(context_).dialect_types.contains(name)) {
    std::vector<Attribute> parameters;
    if (!ParseParameters(parameters)) return false;
    const absl::StatusOr<Type> made = MakeDialectType(context_, name, parameters);
    if (!made.ok()) return ErrorAt(at, std::string(made.status().message()));
    type = *made;
    return true;
  }
  std::string_view text;
  if (!ParseDialectSymbol(text)) return false;
  if (text.find_first_of(".<") == std::string_view::npos) {
    return ErrorOnce(text, at, fmt::format("undefined type alias '{}'", text));
  }
  std::string whole;
  if (!CheckDialect(at, text, "type") || !ExpandAliases(at, text, false, whole)) return false;
  type = Type::Opaque(context_, whole);
  return true;
}

bool AsmParser::ParseDialectSymbol(std::string_view& text) {
  size_t begin = offset();
  size_t end = lexer_.position();
  if (lexer_.position() < lexer_.text().size() && lexer_.text()[lexer_.position()] == '<') {
    if (!SkipBalanced()) return false;
    end = lexer_.position();
  }
  text = lexer_.text().substr(begin, end - begin);
  Advance();
  return true;
}

bool AsmParser::ParseParameters(std::vector<Attribute>& parameters) {
  Advance();
  if (!Consume(TokenKind::kLess)) return true;
  while (!At(TokenKind::kGreater)) {
    if (!parameters.empty() && !Expect(TokenKind::kComma, "',' or '>' behind a parameter"))
      return false;
    if (!ParseAttribute(parameters.emplace_back())) return false;
  }
  Advance();
  return true;
}

bool AsmParser::ParseBuiltinText(std::string& text) {
  const size_t at = offset(), end = lexer_.position();
  if (end >= lexer_.text().size() || lexer_.text()[end] != '<') {
    const std::string what = fmt::format("'<' after '{}'", token_.text);
    Advance();
    return ErrorExpected(what.c_str());
  }
  std::string_view written;
  return ParseDialectSymbol(written) && ExpandAliases(at, written, true, text);
}

bool AsmParser::ExpandAliases(size_t at, std::string_view text, bool known_only, std::string& out) {
  constexpr size_t kMostText = size_t{1} << 20;
  const auto is_name = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
  };
  bool quoted = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (quoted || (c != '#' && c != '!')) {
      if (quoted && c == '\\' && i + 1 < text.size()) {
        out += text.substr(i, 2);
        i += 2;
        continue;
      }
      if (c == '"') quoted = !quoted;
      // One line of text stays one line.
      const bool space = !quoted && absl::ascii_isspace(static_cast<unsigned char>(c));
      if (!space) out += c;
      if (space && out.back() != ' ') out += ' ';
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < text.size() && is_name(text[end])) ++end;
    const std::string_view name = text.substr(i + 1, end - i - 1);
    const auto type = type_aliases_.find(name);
    const auto attribute = attribute_aliases_.find(name);
    const bool is_type = c == '!' && type != type_aliases_.end();
    if (is_type || (c == '#' && attribute != attribute_aliases_.end())) {
      if (!CountReference(name)) return false;
      out += is_type ? type->second.text() : attribute->second.text();
    } else if (known_only && !name.empty() && name.find('.') == std::string_view::npos) {
      const std::string alias = fmt::format("{}{}", c, name);
      return ErrorOnce(alias, at, fmt::format("undefined alias '{}'", alias));
    } else {
      out += text.substr(i, end - i);
    }
    i = end;
    if (out.size() <= kMostText) continue;
    ErrorAt(at, fmt::format("aliases written out have more than {} characters", kMostText));
    status_ = absl::ResourceExhaustedError(status_.message());
    return false;
  }
  return true;
}

// Moves the lexer from "<" behind the matching ">".
bool AsmParser::SkipBalanced() {
  std::string_view text = lexer_.text();
  size_t begin = lexer_.position();
  std::vector<char> open;
  for (size_t i = begin; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i) {
        if (text[i] == '\\') ++i;
      }
      if (i >= text.size() || text[i] != '"')
        return ErrorAt(begin, "unterminated string in dialect text");
    } else if (c == '-' && i + 1 < text.size() && text[i + 1] == '>') {
      ++i;
    } else if ((c == '<' || (c == '>' && open.back() != '>')) && i > begin && i + 1 < text.size() &&
               text[i + 1] == '=') {
      ++i;  // a comparison of an affine set
    } else if (c == '<' || c == '(' || c == '[' || c == '{') {
      open.push_back(c == '(' ? ')' : c == '<' ? '>' : static_cast<char>(c + 2));
    } else if (c == '>' || c == ')' || c == ']' || c == '}') {
      if (open.back() != c) return ErrorAt(i, fmt::format("unbalanced '{}' in dialect text", c));
      open.pop_back();
      if (open.empty()) {
        lexer_.set_position(i + 1);
        return true;
      }
    }
  }
  return ErrorAt(begin, "unbalanced '<' in dialect text");
}

bool AsmParser::CheckDialect(size_t at, std::string_view symbol, const char* what) {
  std::string_view dialect = symbol.substr(1, symbol.find_first_of(".<") - 1);
  if (context_.HasDialect(dialect)) {
    return ErrorAt(at, fmt::format("dialect '{}' has no {} '{}'", dialect, what, symbol));
  }
  if (context_.IsUnregisteredDialectAllowed(dialect)) return true;
  return ErrorAt(
      at,
      fmt::format("unknown dialect '{}' in {} '{}' (allow it with --allow-unregistered-dialect)",
                  dialect, what, symbol));
}

}  // namespace tenon
