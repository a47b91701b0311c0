// Words of rules in text.
#ifndef TENON_DRR_TEXT_TEXT_LEXER_H_
#define TENON_DRR_TEXT_TEXT_LEXER_H_

#include <cstdint>
#include <string_view>

namespace tenon::drr {

struct Token {
  enum class Kind : uint8_t { kName, kNumber, kString, kSign, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view text;  // a string without its quotes; a sign '"' is an unclosed one
  int line = 1, column = 1;
  bool too_long = false;  // more than kMaxTokenLength; a sign whose text is its first bytes then
};

// Names and texts of rules are told in messages and reports.
inline constexpr size_t kMaxTokenLength = 4096;

// Splits `text`, which must outlive it, into words and skips comments.
class TextLexer {
 public:
  explicit TextLexer(std::string_view text) : text_(text) {}
  Token Next();  // kEnd at the end, and ever after

 private:
  Token Read();
  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  size_t line_start_ = 0;
  bool after_operand_ = false;  // a '-' is a sign of its own then
};

}  // namespace tenon::drr

#endif  // TENON_DRR_TEXT_TEXT_LEXER_H_
