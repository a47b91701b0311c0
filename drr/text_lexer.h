// Words of the text form of rules.
#ifndef TENON_DRR_TEXT_LEXER_H_
#define TENON_DRR_TEXT_LEXER_H_

#include <cstdint>
#include <string_view>

namespace tenon::drr {

struct Token {
  enum class Kind : uint8_t { kName, kNumber, kString, kSign, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view text;  // a string without its quotes; a sign '"' opens one that nothing closes
  int line = 1, column = 1;
};

class TextLexer {
 public:
  explicit TextLexer(std::string_view text) : text_(text) {}
  Token Next();  // kEnd for ever once the text is over

 private:
  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  size_t line_start_ = 0;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_TEXT_LEXER_H_
