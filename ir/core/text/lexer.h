// Splitting IR text into tokens.
#ifndef TENON_IR_CORE_TEXT_LEXER_H_
#define TENON_IR_CORE_TEXT_LEXER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {

enum class TokenKind : uint8_t {
  kEof,
  kError,      // Lexer::error() says why
  kBareId,     // [A-Za-z_][A-Za-z0-9_$.]*
  kAtId,       // @name, @"name"
  kHashId,     // #name
  kExclaimId,  // !name
  kPercentId,  // %name
  kCaretId,    // ^name
  kInteger,    // 12, 0x1F
  kFloat,      // 1.0, 1.0e-5
  kString,     // "text" with escapes
  kLParen,
  kRParen,
  kLBrace,
  kRBrace,
  kLSquare,
  kRSquare,
  kLess,
  kGreater,
  kComma,
  kColon,
  kColonColon,
  kEqual,
  kArrow,
  kMinus,
  kPlus,
  kStar,
  kQuestion,
  kSlash,
  kBar,
  kMetadataBegin,  // {-#
  kMetadataEnd,    // #-}
};

struct Token {
  TokenKind kind = TokenKind::kEof;
  std::string_view text;  // includes prefix and quotes
};

// Splits `text`, which must outlive it, into tokens. Never reads past the end.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  // Returns the next token, kEof at the end. Skips space and // comments.
  Token Next();
  // The reason why the last token was kError.
  const char* error() const { return error_; }

  // The offset of the first character that has not been read.
  size_t position() const { return position_; }
  void set_position(size_t position) { position_ = position; }
  std::string_view text() const { return text_; }
  size_t OffsetOf(const Token& token) const {
    return static_cast<size_t>(token.text.data() - text_.data());
  }

  void SkipSpaceAndComments();

 private:
  Token Make(TokenKind kind, size_t begin) {
    return {kind, text_.substr(begin, position_ - begin)};
  }
  Token Fail(size_t begin, const char* error) {
    error_ = error;
    return Make(TokenKind::kError, begin);
  }
  Token LexNumber(size_t begin);
  Token LexString(size_t begin);
  Token LexPrefixed(size_t begin, TokenKind kind);
  char Peek(size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }

  std::string_view text_;
  size_t position_ = 0;
  const char* error_ = "";
};

// Returns the contents of a string token, without quotes and escapes. Returns nullopt if an escape
// is malformed.
std::optional<std::string> Unescape(std::string_view quoted);
// The value of each hexadecimal digit, in either case; -1 for other characters.
inline constexpr std::array<int8_t, 256> kHexValues = [] {
  std::array<int8_t, 256> values;
  values.fill(-1);
  for (int i = 0; i < 16; ++i) {
    values[static_cast<size_t>("0123456789abcdef"[i])] = static_cast<int8_t>(i);
    values[static_cast<size_t>("0123456789ABCDEF"[i])] = static_cast<int8_t>(i);
  }
  return values;
}();
inline int HexValue(char c) { return kHexValues[static_cast<unsigned char>(c)]; }
// True if the text reads back as one kBareId token.
bool IsBareIdentifier(std::string_view text);

}  // namespace tenon

#endif  // TENON_IR_CORE_TEXT_LEXER_H_
