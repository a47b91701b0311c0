#include "ir/core/text/lexer.h"

#include <array>

namespace tenon {
namespace {

enum : uint8_t { kSpace = 1, kDigit = 2, kIdStart = 4, kIdPart = 8, kHexDigit = 16 };

constexpr std::array<uint8_t, 256> MakeClasses() {
  std::array<uint8_t, 256> classes{};
  for (char c : {' ', '\t', '\n', '\r', '\f', '\v'}) classes[static_cast<uint8_t>(c)] |= kSpace;
  for (int c = '0'; c <= '9'; ++c) classes[c] |= kDigit | kIdPart | kHexDigit;
  for (int c = 'a'; c <= 'z'; ++c) classes[c] |= kIdStart | kIdPart;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] |= kIdStart | kIdPart;
  for (int c = 'a'; c <= 'f'; ++c) classes[c] |= kHexDigit;
  for (int c = 'A'; c <= 'F'; ++c) classes[c] |= kHexDigit;
  classes['_'] |= kIdStart | kIdPart;
  classes['$'] |= kIdPart;
  classes['.'] |= kIdPart;
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = MakeClasses();
bool Is(char c, uint8_t mask) { return (kClasses[static_cast<uint8_t>(c)] & mask) != 0; }

}  // namespace

void Lexer::SkipSpaceAndComments() {
  // Editors write a byte-order mark in front of text. It means nothing in UTF-8.
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (position_ == 0 && text_.starts_with(kByteOrderMark)) position_ = kByteOrderMark.size();
  while (position_ < text_.size()) {
    if (Is(text_[position_], kSpace)) {
      ++position_;
    } else if (text_[position_] == '/' && Peek(1) == '/') {
      size_t end = text_.find('\n', position_);
      position_ = end == std::string_view::npos ? text_.size() : end + 1;
    } else {
      return;
    }
  }
}

Token Lexer::Next() {
  SkipSpaceAndComments();
  size_t begin = position_;
  if (begin >= text_.size()) return {TokenKind::kEof, text_.substr(text_.size())};
  char c = text_[position_++];
  if (Is(c, kIdStart)) {
    while (position_ < text_.size() && Is(text_[position_], kIdPart)) ++position_;
    return Make(TokenKind::kBareId, begin);
  }
  if (Is(c, kDigit)) return LexNumber(begin);
  switch (c) {
    case '%':
      return LexPrefixed(begin, TokenKind::kPercentId);
    case '^':
      return LexPrefixed(begin, TokenKind::kCaretId);
    case '!':
      return LexPrefixed(begin, TokenKind::kExclaimId);
    case '#':
      if (Peek() == '-' && Peek(1) == '}') {
        position_ += 2;
        return Make(TokenKind::kMetadataEnd, begin);
      }
      return LexPrefixed(begin, TokenKind::kHashId);
    case '@':
      if (Peek() == '"') {
        ++position_;
        Token token = LexString(begin);
        if (token.kind == TokenKind::kString) token.kind = TokenKind::kAtId;
        return token;
      }
      return LexPrefixed(begin, TokenKind::kAtId);
    case '"':
      return LexString(begin);
    case '(':
      return Make(TokenKind::kLParen, begin);
    case ')':
      return Make(TokenKind::kRParen, begin);
    case '{':
      if (Peek() == '-' && Peek(1) == '#') {
        position_ += 2;
        return Make(TokenKind::kMetadataBegin, begin);
      }
      return Make(TokenKind::kLBrace, begin);
    case '}':
      return Make(TokenKind::kRBrace, begin);
    case '[':
      return Make(TokenKind::kLSquare, begin);
    case ']':
      return Make(TokenKind::kRSquare, begin);
    case '<':
      return Make(TokenKind::kLess, begin);
    case '>':
      return Make(TokenKind::kGreater, begin);
    case ',':
      return Make(TokenKind::kComma, begin);
    case '=':
      return Make(TokenKind::kEqual, begin);
    case '+':
      return Make(TokenKind::kPlus, begin);
    case '*':
      return Make(TokenKind::kStar, begin);
    case '?':
      return Make(TokenKind::kQuestion, begin);
    case '/':
      return Make(TokenKind::kSlash, begin);
    case '|':
      return Make(TokenKind::kBar, begin);
    case ':':
      if (Peek() == ':') {
        ++position_;
        return Make(TokenKind::kColonColon, begin);
      }
      return Make(TokenKind::kColon, begin);
    case '-':
      if (Peek() == '>') {
        ++position_;
        return Make(TokenKind::kArrow, begin);
      }
      return Make(TokenKind::kMinus, begin);
    default:
      return Fail(begin, "unexpected character");
  }
}

Token Lexer::LexNumber(size_t begin) {
  if (text_[begin] == '0' && Peek() == 'x' && Is(Peek(1), kHexDigit)) {
    position_ += 2;
    while (Is(Peek(), kHexDigit)) ++position_;
    return Make(TokenKind::kInteger, begin);
  }
  while (Is(Peek(), kDigit)) ++position_;
  if (Peek() != '.') return Make(TokenKind::kInteger, begin);
  ++position_;
  while (Is(Peek(), kDigit)) ++position_;
  if (Peek() == 'e' || Peek() == 'E') {
    size_t sign = (Peek(1) == '-' || Peek(1) == '+') ? 1 : 0;
    if (Is(Peek(1 + sign), kDigit)) {
      position_ += 2 + sign;
      while (Is(Peek(), kDigit)) ++position_;
    }
  }
  return Make(TokenKind::kFloat, begin);
}

Token Lexer::LexString(size_t begin) {
  while (position_ < text_.size()) {
    char c = text_[position_++];
    if (c == '"') return Make(TokenKind::kString, begin);
    if (c == '\n') return Fail(begin, "expected '\"' before the end of the line");
    if (c == '\\') {
      char e = Peek();
      if (e == '"' || e == '\\' || e == 'n' || e == 't') {
        ++position_;
      } else if (HexValue(e) >= 0 && HexValue(Peek(1)) >= 0) {
        position_ += 2;
      } else {
        return Fail(begin, "unknown escape in string");
      }
    }
  }
  return Fail(begin, "expected '\"' at the end of the string");
}

Token Lexer::LexPrefixed(size_t begin, TokenKind kind) {
  // Values and blocks may also be all digits or hold '-'; the rest are identifiers with a sigil.
  auto is_part = [&](char c) { return Is(c, kIdPart) || (c == '-' && kind != TokenKind::kAtId); };
  char c = Peek();
  if (Is(c, kDigit)) {
    while (Is(Peek(), kDigit)) ++position_;
    return Make(kind, begin);
  }
  if (!Is(c, kIdStart) && !(kind != TokenKind::kAtId && (c == '$' || c == '.' || c == '-'))) {
    return Fail(begin, "expected a name after the sigil");
  }
  while (position_ < text_.size() && is_part(text_[position_])) {
    // "%a->" ends the name before the arrow.
    if (text_[position_] == '-' && Peek(1) == '>') break;
    ++position_;
  }
  return Make(kind, begin);
}

std::optional<std::string> Unescape(std::string_view quoted) {
  if (quoted.size() < 2) return std::nullopt;
  std::string_view body = quoted.substr(1, quoted.size() - 2);
  std::string out;
  out.reserve(body.size());
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      out += body[i];
      continue;
    }
    if (++i >= body.size()) return std::nullopt;
    switch (body[i]) {
      case '"':
      case '\\':
        out += body[i];
        break;
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      default: {
        if (i + 1 >= body.size()) return std::nullopt;
        int high = HexValue(body[i]), low = HexValue(body[i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        out += static_cast<char>(high * 16 + low);
        ++i;
      }
    }
  }
  return out;
}

bool IsBareIdentifier(std::string_view text) {
  if (text.empty() || !Is(text[0], kIdStart)) return false;
  for (char c : text) {
    if (!Is(c, kIdPart)) return false;
  }
  return true;
}

}  // namespace tenon
