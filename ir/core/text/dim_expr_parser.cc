// Text form of dimension expressions.
#include <cctype>
#include <optional>

#include "ir/core/dims/dim_expr.h"
#include "ir/core/dims/dim_expr_terms.h"

namespace tenon {
namespace {

// sum := product (('+' | '-') product)*      product := unary (('*' | 'floordiv' | 'mod') unary)*
// unary := '-' unary | atom                  atom := integer | symbol | `text` | '?' | '(' sum ')'
// | call
class Reader {
 public:
  Reader(Context& context, std::string_view text) : context_(context), text_(text) {}

  std::optional<DimExpr> Read() {
    std::optional<DimExpr> e = Sum();
    SkipSpace();
    return at_ == text_.size() ? e : std::nullopt;
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Eat(std::string_view token) {
    SkipSpace();
    if (text_.substr(at_, token.size()) != token) return false;
    if (std::isalpha(static_cast<unsigned char>(token[0])) && at_ + token.size() < text_.size() &&
        IsWord(text_[at_ + token.size()])) {
      return false;
    }
    at_ += token.size();
    return true;
  }
  static bool IsWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
  }

  std::optional<DimExpr> Sum() {
    if (depth_++ > dims::kMaxDepth) return std::nullopt;
    std::optional<DimExpr> left = Term();
    while (left) {
      bool plus = Eat("+");
      if (!plus && !Eat("-")) break;
      std::optional<DimExpr> right = Term();
      if (!right) return std::nullopt;
      left = plus ? *left + *right : *left - *right;
    }
    --depth_;
    return left;
  }

  std::optional<DimExpr> Term() {
    std::optional<DimExpr> left = Unary();
    while (left) {
      int kind = Eat("*") ? 0 : Eat("floordiv") ? 1 : Eat("mod") ? 2 : -1;
      if (kind < 0) break;
      std::optional<DimExpr> right = Unary();
      if (!right) return std::nullopt;
      left = kind == 0 ? *left * *right : kind == 1 ? FloorDiv(*left, *right) : Mod(*left, *right);
    }
    return left;
  }

  std::optional<DimExpr> Unary() {
    bool negative = false;
    while (Eat("-")) negative = !negative;
    std::optional<DimExpr> e = Atom();
    return e && negative ? std::optional<DimExpr>(*e * -1) : e;
  }

  std::optional<DimExpr> Atom() {
    SkipSpace();
    if (at_ >= text_.size()) return std::nullopt;
    char c = text_[at_];
    if (c == '?') {
      ++at_;
      return DimExpr::Unknown(context_);
    }
    if (c == '(') {
      ++at_;
      std::optional<DimExpr> e = Sum();
      return e && Eat(")") ? e : std::nullopt;
    }
    if (c == '`') {
      size_t end = text_.find('`', at_ + 1);
      if (end == std::string_view::npos || end == at_ + 1) return std::nullopt;
      std::string_view name = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return DimExpr::Symbol(context_, name);
    }
    if (std::isdigit(static_cast<unsigned char>(c))) {
      int64_t value = 0;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, text_[at_] - '0', &value)) {
          return std::nullopt;
        }
        ++at_;
      }
      return DimExpr::Constant(context_, value);
    }
    using Binary = DimExpr (*)(DimExpr, DimExpr);
    const std::pair<std::string_view, Binary> kCalls[] = {
        {"min", &Min}, {"max", &Max}, {"broadcast", &Broadcast}};
    for (const auto& [name, make] : kCalls) {
      if (!Eat(name)) continue;
      if (!Eat("(")) return std::nullopt;
      std::optional<DimExpr> a = Sum();
      if (!a || !Eat(",")) return std::nullopt;
      std::optional<DimExpr> b = Sum();
      if (!b || !Eat(")")) return std::nullopt;
      return make(*a, *b);
    }
    if (!std::isalpha(static_cast<unsigned char>(c)) && c != '_') return std::nullopt;
    size_t begin = at_;
    while (at_ < text_.size() && IsWord(text_[at_])) ++at_;
    std::string_view name = text_.substr(begin, at_ - begin);
    if (name == "floordiv" || name == "mod") return std::nullopt;
    return DimExpr::Symbol(context_, name);
  }

  Context& context_;
  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<DimExpr> DimExpr::Parse(Context& context, std::string_view text) {
  return Reader(context, text).Read();
}

}  // namespace tenon
