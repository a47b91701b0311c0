#include "ir/base/shown_text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "fmt/format.h"
#include "ir/base/limits.h"

namespace tenon {
namespace {

struct Character {
  uint32_t code = 0;
  size_t size = 1;  // in bytes
  bool valid = false;
};

// The first character of a text that is not empty; one invalid byte if there is none.
Character FirstOf(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  uint32_t code = lead & (0xffU >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr uint32_t kLeastOfSize[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeastOfSize[size] || code > 0x10ffff || surrogate) return {};
  return {code, size, true};
}

// Controls, and characters that are not seen but order or hide others.
bool IsHidden(uint32_t code) {
  constexpr struct {
    uint32_t first, last;
  } kRanges[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
                 {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
                 {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](const auto& range) { return code >= range.first && code <= range.last; });
}

bool IsPlain(char c) { return c >= 0x20 && c < 0x7f; }

void AppendEscaped(std::string& out, std::string_view text, bool keep_lines) {
  while (!text.empty()) {
    const auto* end = std::find_if_not(text.begin(), text.end(), IsPlain);
    const auto plain = static_cast<size_t>(end - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) return;
    const Character c = FirstOf(text);
    const bool line = keep_lines && (c.code == '\n' || c.code == '\t');
    if (c.valid && (line || !IsHidden(c.code))) {
      out += text.substr(0, c.size);
    } else {
      for (size_t i = 0; i < c.size; ++i)
        out += fmt::format("\\{:02X}", static_cast<unsigned char>(text[i]));
    }
    text.remove_prefix(c.size);
  }
}

bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80; }

// The beginning and the end of what is too long, cut between characters.
void AppendShortened(std::string& out, std::string_view text, size_t most, bool keep_lines) {
  if (text.size() <= most) return AppendEscaped(out, text, keep_lines);
  size_t head = most * 2 / 3, tail = text.size() - most / 3;
  for (int i = 0; i < 3 && Continues(text[head]); ++i) --head;
  for (int i = 0; i < 3 && tail < text.size() && Continues(text[tail]); ++i) ++tail;
  AppendEscaped(out, text.substr(0, head), keep_lines);
  out += fmt::format("... ({} bytes) ...", text.size());
  AppendEscaped(out, text.substr(tail), keep_lines);
}

// Shortens words longer than a name may be, but no paths: these must be found again.
std::string WithShortWords(std::string_view line) {
  std::string out;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, std::min(line.find(' ') + 1, line.size()));
    const std::string_view part = word.empty() ? line : word;
    if (part.size() > kLongestShownName + 8 && part.find('/') == std::string_view::npos) {
      const size_t half = kLongestShownName / 2;
      size_t head = half, tail = part.size() - half;
      for (int i = 0; i < 3 && Continues(part[head]); ++i) --head;
      for (int i = 0; i < 3 && Continues(part[tail]); ++i) ++tail;
      out += fmt::format("{}... ({} bytes) ...{}", part.substr(0, head), part.size(),
                         part.substr(tail));
    } else {
      out += part;
    }
    line.remove_prefix(part.size());
  }
  return out;
}

}  // namespace

std::string ShownText(std::string_view text) {
  std::string out;
  AppendEscaped(out, text, true);
  return out;
}

std::string ShownMessage(std::string_view message, size_t most) {
  std::string out;
  while (true) {
    const size_t end = message.find('\n');
    AppendShortened(out, WithShortWords(message.substr(0, end)), most, true);
    if (end == std::string_view::npos) return out;
    out += '\n';
    message.remove_prefix(end + 1);
  }
}

std::string ShownName(std::string_view name) {
  std::string out;
  AppendShortened(out, name, kLongestShownName, false);
  return out;
}

std::string JsonQuoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const Character c = FirstOf(text);
    if (!c.valid) {
      out += "\\ufffd";
    } else if (c.code == '"' || c.code == '\\') {
      out += '\\';
      out += static_cast<char>(c.code);
    } else if (c.code >= 0x20 && c.code < 0x7f) {
      out += static_cast<char>(c.code);
    } else if (c.code < 0x10000) {
      out += fmt::format("\\u{:04x}", c.code);
    } else {
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((c.code - 0x10000) >> 10),
                         0xdc00 + ((c.code - 0x10000) & 0x3ffU));
    }
    text.remove_prefix(c.size);
  }
  return out + "\"";
}

}  // namespace tenon
