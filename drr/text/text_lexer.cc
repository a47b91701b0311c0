#include "drr/text/text_lexer.h"

#include <cctype>

namespace tenon::drr {

Token TextLexer::Next() {
  Token token = Read();
  if (token.text.size() > kMaxTokenLength) {
    token.kind = Token::Kind::kSign;
    token.text = token.text.substr(0, 16);
    token.too_long = true;
  }
  after_operand_ = token.kind == Token::Kind::kName || token.kind == Token::Kind::kNumber ||
                   token.text == ")" || token.text == "}" || token.text == "]";
  return token;
}

Token TextLexer::Read() {
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == '\n') {
      ++line_;
      line_start_ = ++at_;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++at_;
    } else if (text_.substr(at_, 2) == "//" ||
               (c == '#' && (at_ + 1 >= text_.size() ||
                             !std::isdigit(static_cast<unsigned char>(text_[at_ + 1]))))) {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else {
      break;
    }
  }
  Token token;
  token.line = line_;
  token.column = static_cast<int>(at_ - line_start_) + 1;
  if (at_ >= text_.size()) return token;
  const size_t start = at_;
  auto letter = [&](size_t i) {
    return i < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[i])) || text_[i] == '_');
  };
  const bool digit = std::isdigit(static_cast<unsigned char>(text_[at_])) != 0;
  if (digit || (text_[at_] == '-' && !after_operand_ && at_ + 1 < text_.size() &&
                (std::isdigit(static_cast<unsigned char>(text_[at_ + 1])) ||
                 text_.substr(at_ + 1, 3) == "inf"))) {
    token.kind = Token::Kind::kNumber;
    ++at_;
    while (letter(at_) ||
           (at_ < text_.size() && ((text_[at_] == '.' && text_.substr(at_ + 1, 1) != ".") ||
                                   ((text_[at_] == '-' || text_[at_] == '+') &&
                                    (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))))) {
      ++at_;
    }
  } else if (letter(at_)) {
    token.kind = Token::Kind::kName;
    // A dash belongs to a name (of a rule) when a letter follows.
    while (letter(at_) ||
           (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == '-') && letter(at_ + 1)))
      ++at_;
  } else if (text_[at_] == '"') {
    const size_t end = text_.find_first_of("\"\n", at_ + 1);
    const bool closed = end != std::string_view::npos && text_[end] == '"';
    token.kind = closed ? Token::Kind::kString : Token::Kind::kSign;
    token.text = closed ? text_.substr(start + 1, end - start - 1) : text_.substr(start, 1);
    at_ = closed ? end + 1 : text_.size();
    return token;
  } else {
    token.kind = Token::Kind::kSign;
    static constexpr std::string_view kSigns[] = {"...", "==", "!=", ">=", "<=", "&&", "||", "->"};
    size_t length = 1;
    for (const std::string_view sign : kSigns)
      if (text_.substr(at_).starts_with(sign)) length = sign.size();
    at_ += length;
  }
  token.text = text_.substr(start, at_ - start);
  return token;
}

}  // namespace tenon::drr
