#include "ir/core/text/source_line.h"

#include <algorithm>

#include "ir/base/shown_text.h"

namespace tenon {
namespace {

// Bytes of a line before and behind the place.
constexpr size_t kShownBefore = 80, kShownBehind = 80;

bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80; }

std::string Escaped(std::string_view text) {
  std::string plain(text);
  std::replace(plain.begin(), plain.end(), '\t', ' ');
  return ShownText(plain);
}

}  // namespace

std::string SourceLine(std::string_view line, size_t column) {
  column = std::min(column, line.size());
  size_t begin = column > kShownBefore ? column - kShownBefore : 0;
  size_t end = std::min(line.size(), column + kShownBehind);
  while (begin < column && Continues(line[begin])) ++begin;
  while (end > column && end < line.size() && Continues(line[end])) --end;
  const std::string before = (begin > 0 ? "..." : "") + Escaped(line.substr(begin, column - begin));
  std::string out = before + Escaped(line.substr(column, end - column));
  if (end < line.size()) out += "...";
  const auto width = static_cast<size_t>(
      std::count_if(before.begin(), before.end(), [](char c) { return !Continues(c); }));
  return out + "\n" + std::string(width, ' ') + "^";
}

void AddSourceLines(const Context& context, std::string_view file, std::string_view text,
                    Diagnostic& diagnostic) {
  for (Diagnostic& note : diagnostic.notes) AddSourceLines(context, file, text, note);
  const LocationData& place = Resolve(context, diagnostic.location);
  if (!diagnostic.source.empty() || place.kind != Location::Kind::kFileLineCol ||
      place.text != file || place.line == 0 || place.col == 0)
    return;
  size_t begin = 0;
  for (uint32_t line = 1; line < place.line; ++line) {
    begin = text.find('\n', begin);
    if (begin == std::string_view::npos) return;
    ++begin;
  }
  std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  diagnostic.source = SourceLine(line, place.col - 1);
}

}  // namespace tenon
