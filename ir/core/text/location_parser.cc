#include <algorithm>
#include <charconv>

#include "fmt/format.h"
#include "ir/base/limits.h"
#include "ir/core/location_extent.h"
#include "ir/core/text/asm_parser.h"

namespace tenon {

AsmParser::Position AsmParser::PositionAt(size_t offset) {
  std::string_view text = lexer_.text();
  if (offset < line_start_) line_start_ = 0, line_ = 1, line_end_ = text.find('\n');
  while (offset > line_end_) {  // npos on the last line
    line_start_ = line_end_ + 1;
    ++line_;
    line_end_ = text.find('\n', line_start_);
  }
  return {line_, static_cast<uint32_t>(offset - line_start_ + 1)};
}

Location AsmParser::LocationAt(Position position) {
  return PositionInText(context_, file_name_, position.line, position.col);
}

bool AsmParser::ParseTrailingLocation(Location& location, std::string_view& pending_alias) {
  if (!ConsumeKeyword("loc")) return true;
  Lexer before = lexer_;
  Token token = token_;
  if (Consume(TokenKind::kLParen) && At(TokenKind::kHashId) &&
      !FindLocationAlias(token_.text.substr(1), location)) {
    pending_alias = token_.text;
    Advance();
    return Expect(TokenKind::kRParen, "')' after a location");
  }
  lexer_ = before;
  token_ = token;
  return ParseLocation(location);
}

bool AsmParser::FindLocationAlias(std::string_view name, Location& location) const {
  auto it = location_aliases_.find(name);
  if (it == location_aliases_.end()) return false;
  location = it->second;
  return true;
}

bool AsmParser::ParseLocation(Location& location) {
  return Expect(TokenKind::kLParen, "'(' after 'loc'") && ParseLocationBody(location) &&
         Expect(TokenKind::kRParen, "')' after a location");
}

bool AsmParser::ParseLocationBody(Location& location) {
  DepthGuard guard(*this);
  ++parts_;
  if (!CheckDepth()) return false;
  if (At(TokenKind::kHashId)) {
    if (FindLocationAlias(token_.text.substr(1), location)) {
      if (!CountReference(token_.text.substr(1))) return false;
    } else {
      return ErrorOnce(token_.text, offset(),
                       fmt::format("undefined location alias '{}'", token_.text));
    }
    Advance();
    return true;
  }
  if (ConsumeKeyword("unknown")) {
    location = Location();
    return true;
  }
  if (ConsumeKeyword("fused")) return ParseFused(location);
  if (ConsumeKeyword("callsite")) {
    Location callee, caller;
    if (!Expect(TokenKind::kLParen, "'(' after 'callsite'") || !ParseLocationBody(callee))
      return false;
    if (!ConsumeKeyword("at")) return ErrorExpected("'at' in a call site location");
    if (!ParseLocationBody(caller) || !Expect(TokenKind::kRParen, "')' after a call site location"))
      return false;
    const Location both[] = {callee, caller};
    if (!CheckLocation(both)) return false;
    location = Location::CallSite(context_, callee, caller);
    return true;
  }
  std::string name;
  if (!ParseString(name, "a location")) return false;
  if (Consume(TokenKind::kColon)) return ParseFileLineCol(name, location);
  Location child;
  if (Consume(TokenKind::kLParen)) {
    if (!ParseLocationBody(child) || !Expect(TokenKind::kRParen, "')' after a location"))
      return false;
  }
  if (!CheckLocation({&child, 1})) return false;
  location = Location::Name(context_, name, child);
  return true;
}

// Refuses what the functions of Location would leave out.
bool AsmParser::CheckLocation(std::span<const Location> parts) {
  if (LocationsFit(context_, parts)) return true;
  Error(fmt::format("a location has more than {} parts, or more than {} levels", kMaxLocationParts,
                    kMaxNesting));
  status_ = absl::ResourceExhaustedError(status_.message());
  return false;
}

// `line:col`, or a range `line:col to [line]:col`, of which the start is kept.
bool AsmParser::ParseFileLineCol(std::string_view file, Location& location) {
  auto number = [&](uint32_t& value) {
    if (!At(TokenKind::kInteger)) return ErrorExpected("a line and column");
    auto [end, error] =
        std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), value);
    if (error != std::errc() || end != token_.text.data() + token_.text.size()) {
      return Error("line or column out of range");
    }
    Advance();
    return true;
  };
  uint32_t line = 0, col = 0, ignored = 0;
  if (!number(line) || !Expect(TokenKind::kColon, "':' before the column") || !number(col))
    return false;
  if (ConsumeKeyword("to")) {
    if (At(TokenKind::kInteger) && !number(ignored)) return false;
    if (!Expect(TokenKind::kColon, "':' before the column") || !number(ignored)) return false;
  }
  location = Location::FileLineCol(context_, file, line, col);
  return true;
}

bool AsmParser::ParseFused(Location& location) {
  if (Consume(TokenKind::kLess)) {
    Attribute metadata;  // not kept
    if (!ParseAttribute(metadata) || !Expect(TokenKind::kGreater, "'>' after location metadata"))
      return false;
  }
  if (!Expect(TokenKind::kLSquare, "'[' after 'fused'")) return false;
  std::vector<Location> parts;
  while (!At(TokenKind::kRSquare)) {
    if (!parts.empty() && !Expect(TokenKind::kComma, "',' or ']' in a fused location"))
      return false;
    Location part;
    if (!ParseLocationBody(part)) return false;
    parts.push_back(part);
  }
  Advance();
  if (parts.size() <= Location::kMaxFused && !CheckLocation(parts)) return false;
  location = Location::Fused(context_, parts);
  return true;
}

}  // namespace tenon
