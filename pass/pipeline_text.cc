#include "pass/pipeline_text.h"

#include <algorithm>

#include "fmt/format.h"

namespace tenon {
namespace {

constexpr int kMaxPipelineNesting = 64;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

bool IsPipelineName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), IsNameChar);
}

namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<PipelineElement>> ParseAll() {
    std::vector<PipelineElement> elements;
    SkipSpace();
    if (at_ == text_.size()) return elements;
    TENON_RETURN_IF_ERROR(ParseList(elements, 0));
    if (at_ == text_.size()) return elements;
    return Error(at_, fmt::format("unexpected '{}' (expected ',' or the end)", text_[at_]));
  }

  absl::StatusOr<std::vector<OptionText>> ParseOptions() {
    std::vector<OptionText> options;
    TENON_RETURN_IF_ERROR(ParseOptionList(options));
    if (at_ == text_.size()) return options;
    return Error(at_, fmt::format("unexpected '{}' (expected option=value)", text_[at_]));
  }

 private:
  absl::Status Error(size_t offset, std::string_view message) const {
    return PipelineError(text_, offset, message);
  }
  void SkipSpace() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  }
  bool Peek(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool Take(char c) {
    if (!Peek(c)) return false;
    ++at_;
    return true;
  }
  std::string_view TakeName() {
    const size_t start = at_;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }

  absl::Status ParseList(std::vector<PipelineElement>& elements, int depth) {
    do {
      SkipSpace();
      PipelineElement& element = elements.emplace_back();
      element.offset = at_;
      element.name = std::string(TakeName());
      if (element.name.empty()) {
        return Error(at_,
                     at_ < text_.size()
                         ? fmt::format("unexpected '{}' (expected the name of a pass)", text_[at_])
                         : "the text ends here (expected the name of a pass)");
      }
      SkipSpace();
      const size_t open = at_;
      if (Take('{')) {
        TENON_RETURN_IF_ERROR(ParseOptionList(element.options.emplace()));
        if (!Take('}')) return Error(open, "'{' is never closed (expected '}')");
        SkipSpace();
      } else if (Take('(')) {
        if (depth == kMaxPipelineNesting)
          return Error(open, fmt::format("nested more than {} deep", kMaxPipelineNesting));
        element.children.emplace();
        SkipSpace();
        if (!Peek(')')) TENON_RETURN_IF_ERROR(ParseList(*element.children, depth + 1));
        if (at_ == text_.size()) return Error(open, "'(' is never closed (expected ')')");
        if (!Take(')'))
          return Error(at_, fmt::format("unexpected '{}' (expected ',' or ')')", text_[at_]));
        SkipSpace();
      }
    } while (Take(','));
    return absl::OkStatus();
  }

  // Up to a '}' that is not ours, or the end.
  absl::Status ParseOptionList(std::vector<OptionText>& options) {
    for (SkipSpace(); at_ < text_.size() && !Peek('}'); SkipSpace()) {
      OptionText& option = options.emplace_back();
      option.offset = at_;
      option.key = std::string(TakeName());
      if (option.key.empty()) {
        return Error(at_, fmt::format("unexpected '{}' (expected option=value)", text_[at_]));
      }
      if (Take('=')) {
        option.has_value = true;
        option.value_offset = at_;
        TENON_RETURN_IF_ERROR(ParseValue(option));
      } else if (at_ < text_.size() && !IsSpace(text_[at_]) && !Peek('}')) {
        return Error(at_, fmt::format("unexpected '{}' (expected '=' and a value)", text_[at_]));
      }
    }
    return absl::OkStatus();
  }

  // A value ends at a space or '}' outside quotes and braces.
  absl::Status ParseValue(OptionText& option) {
    const size_t start = at_;
    const bool braced = Peek('{');
    std::string piece;
    std::vector<size_t> open;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        const size_t quote = at_++;
        while (at_ < text_.size() && text_[at_] != c) {
          if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
          piece += text_[at_++];
        }
        if (at_ == text_.size()) return Error(quote, fmt::format("{} is never closed", c));
        continue;
      }
      if (c == '{') {
        open.push_back(at_);
        if (braced && open.size() == 1) continue;
      } else if (c == '}') {
        if (open.empty()) break;
        open.pop_back();
        if (braced && open.empty()) {
          ++at_;
          break;
        }
      } else if (open.empty() && IsSpace(c)) {
        break;
      } else if (c == ',' && open.size() == (braced ? 1u : 0u)) {
        option.pieces.push_back(std::move(piece));
        piece.clear();
        continue;
      }
      piece += c;
    }
    if (!open.empty()) return Error(open.back(), "'{' is never closed (expected '}')");
    if (at_ < text_.size() && !IsSpace(text_[at_]) && !Peek('}')) {
      return Error(
          at_, fmt::format("unexpected '{}' after a value (expected a space or '}}')", text_[at_]));
    }
    if (at_ != start) option.pieces.push_back(std::move(piece));
    for (size_t i = 0; i < option.pieces.size(); ++i) {
      option.whole += (i ? "," : "") + option.pieces[i];
    }
    return absl::OkStatus();
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<PipelineElement>> ParsePipelineText(std::string_view text) {
  return Parser(text).ParseAll();
}

absl::StatusOr<std::vector<OptionText>> ParseOptionsText(std::string_view text) {
  return Parser(text).ParseOptions();
}

absl::Status PipelineError(std::string_view text, size_t offset, std::string_view message) {
  offset = std::min(offset, text.size());
  const size_t before = text.substr(0, offset).rfind('\n');
  const size_t start = before == std::string_view::npos ? 0 : before + 1;
  size_t line = 1;
  for (char c : text.substr(0, start)) line += c == '\n';
  const size_t column = offset - start + 1;
  // A long line is shown around the fault.
  constexpr size_t kBefore = 60, kAfter = 40;
  const size_t from = column > kBefore ? offset - kBefore : start;
  std::string shown(text.substr(from, std::min(text.find('\n', offset), offset + kAfter) - from));
  for (char& c : shown) {
    if (IsSpace(c)) c = ' ';
  }
  return absl::InvalidArgumentError(fmt::format("pipeline:{}:{}: {}\n  {}\n  {}^", line, column,
                                                message, shown, std::string(offset - from, ' ')));
}

}  // namespace tenon
