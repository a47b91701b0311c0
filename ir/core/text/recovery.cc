// Going on behind an error, so that one reading finds several.
#include <algorithm>

#include "fmt/format.h"
#include "ir/core/text/op_parser.h"

namespace tenon {

OpParser::Mark OpParser::MarkHere() const {
  return {offset(),
          pending_regions_.size(),
          scopes_.size(),
          block_names_.size(),
          located_later_.size(),
          arguments_located_later_.size(),
          scopes_.back()->nesting};
}

bool OpParser::KeepError() {
  if (first_error_.ok()) first_error_ = status_;
  if (num_errors_ >= kMaxErrors && !stopped_) {
    EmitRemark(context_, LocationAt(PositionAt(offset())),
               fmt::format("reading ends here, after {} errors", kMaxErrors));
  }
  stopped_ = stopped_ || num_errors_ >= kMaxErrors || absl::IsResourceExhausted(status_);
  if (!stopped_) status_ = absl::OkStatus();
  return !stopped_;
}

bool OpParser::Recover(const Mark& mark, bool top) {
  if (AtEnd()) stopped_ = true;
  if (!KeepError()) return false;
  Unwind(mark);
  Skip(mark.begin, std::max(offset(), mark.begin + 1), top);
  if (top || !AtEnd()) return true;
  // A brace is missing: what is open would only say so again.
  stopped_ = true;
  status_ = first_error_;
  return false;
}

void OpParser::Unwind(const Mark& mark) {
  for (size_t i = mark.regions; i < pending_regions_.size(); ++i)
    pending_regions_[i]->DropAllReferences();
  pending_regions_.resize(mark.regions);
  block_names_.resize(mark.block_names);
  scopes_.resize(mark.scopes);
  while (scopes_.back()->nesting > mark.nesting) ForgetRegion(*scopes_.back());
  located_later_.resize(mark.located);
  arguments_located_later_.resize(mark.arguments_located);
}

void OpParser::Skip(size_t begin, size_t least, bool top) {
  lexer_.set_position(begin);
  Advance();
  if (top && (At(TokenKind::kHashId) || At(TokenKind::kExclaimId)))
    told_.emplace(token_.text.data(), token_.text.size());
  bool results = At(TokenKind::kPercentId), label = At(TokenKind::kCaretId);
  int depth = 0;
  for (; !AtEnd(); Advance()) {
    if (depth == 0 && offset() >= least) {
      if (At(TokenKind::kRBrace) && !top) return;
      if (At(TokenKind::kMetadataBegin)) return;
      if (IsFirstOfLine() && AtStatement(top)) return;
    }
    if (At(TokenKind::kPercentId)) {
      if (results || label) DefineUnknown(token_.text);
    } else if (results && !At(TokenKind::kComma) && !At(TokenKind::kColon) &&
               !At(TokenKind::kInteger)) {
      results = false;
    }
    if (At(TokenKind::kLBrace)) ++depth;
    if (At(TokenKind::kRBrace)) depth = std::max(0, depth - 1);
  }
}

bool OpParser::IsFirstOfLine() const {
  const std::string_view before = lexer_.text().substr(0, offset());
  const size_t end = before.find_last_not_of(" \t\r");
  return end == std::string_view::npos || before[end] == '\n';
}

bool OpParser::AtStatement(bool top) const {
  Lexer ahead = lexer_;
  switch (token_.kind) {
    case TokenKind::kHashId:
    case TokenKind::kExclaimId:
      return top && ahead.Next().kind == TokenKind::kEqual;
    case TokenKind::kCaretId: {
      const TokenKind next = ahead.Next().kind;
      return !top && (next == TokenKind::kColon || next == TokenKind::kLParen);
    }
    case TokenKind::kBareId:
      // `loc(`, `dense(` and the like go on with what is before them.
      return token_.text.find('.') != std::string_view::npos &&
             ahead.Next().kind == TokenKind::kLParen;
    case TokenKind::kString:
      return ahead.Next().kind == TokenKind::kLParen;
    case TokenKind::kPercentId:
      for (;;) {
        Token next = ahead.Next();
        if (next.kind == TokenKind::kColon) {
          if (ahead.Next().kind != TokenKind::kInteger) return false;
          next = ahead.Next();
        }
        if (next.kind == TokenKind::kEqual) return true;
        if (next.kind != TokenKind::kComma || ahead.Next().kind != TokenKind::kPercentId)
          return false;
      }
    default:
      return false;
  }
}

void OpParser::DefineUnknown(std::string_view name) {
  if (!unknown_) unknown_ = placeholders_.AddArgument(Type::None(context_));
  ValueScope& scope = *scopes_.back();
  Definition definition;
  definition.argument = unknown_;
  definition.count = UINT32_MAX;
  if (scope.Define(name, definition) != nullptr) return;
  if (scope.nesting > 0) scope.names.push_back(ToKey(name));
  scope.forward.erase(ToKey(name));
}

bool OpParser::CheckNoForwardUses(const ValueScope& scope) {
  std::vector<std::pair<size_t, std::string_view>> undefined;
  for (const auto& [key, uses] : scope.forward) {
    size_t first = std::string_view::npos;
    for (const auto& [number, use] : uses) first = std::min(first, use.offset);
    undefined.emplace_back(first, std::string_view(key.data(), key.size()));
  }
  std::sort(undefined.begin(), undefined.end());
  for (const auto& [at, name] : undefined) {
    ErrorAt(at, fmt::format("value '{}' is not defined", name));
    if (!KeepError()) return false;
  }
  return true;
}

bool OpParser::CheckBlocksDefined() {
  std::vector<std::pair<size_t, std::string_view>> undefined;
  for (const auto& [key, entry] : *block_names_.back()) {
    if (entry.undefined)
      undefined.emplace_back(entry.offset, std::string_view(key.data(), key.size()));
  }
  std::sort(undefined.begin(), undefined.end());
  for (const auto& [at, name] : undefined) {
    ErrorAt(at, fmt::format("block '{}' is not defined", name));
    if (!KeepError()) return false;
  }
  return true;
}

}  // namespace tenon
