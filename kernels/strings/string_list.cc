#include "kernels/strings/string_list.h"

#include <array>
#include <clocale>
#include <cstring>
#include <cwctype>

#include "ir/base/string_span.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

constexpr std::string_view kBlanks = " \t\n\v\f\r";

// The rules of C.UTF-8, which do not depend on the environment.
class Utf8Locale {
 public:
  Utf8Locale() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{})) {}
  ~Utf8Locale() {
    if (locale_ != locale_t{}) freelocale(locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

  bool ok() const { return locale_ != locale_t{}; }
  char32_t Change(char32_t c, bool upper) const {
    const auto wide = static_cast<wint_t>(c);
    return static_cast<char32_t>(upper ? towupper_l(wide, locale_) : towlower_l(wide, locale_));
  }

 private:
  locale_t locale_;
};

// Takes a code point off the front of `rest`. Returns false, and takes one byte, if there is none.
bool TakeCodePoint(std::string_view& rest, char32_t& code, std::string_view& bytes) {
  const auto first = static_cast<unsigned char>(rest[0]);
  const size_t length = first < 0x80             ? 1
                        : (first & 0xe0) == 0xc0 ? 2
                        : (first & 0xf0) == 0xe0 ? 3
                        : (first & 0xf8) == 0xf0 ? 4
                                                 : 0;
  code = length == 1 ? first : first & (0x7f >> length);
  bool valid = length > 0 && length <= rest.size();
  for (size_t i = 1; valid && i < length; ++i) {
    const auto next = static_cast<unsigned char>(rest[i]);
    valid = (next & 0xc0) == 0x80;
    code = code << 6 | (next & 0x3f);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  valid = valid && code >= kLeast[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  bytes = rest.substr(0, valid ? length : 1);
  rest.remove_prefix(bytes.size());
  return valid;
}

void AppendUtf8(char32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int following = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr std::array<int, 4> kMarks = {0, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(kMarks[static_cast<size_t>(following)] |
                           static_cast<int>(code >> (6 * following)));
  for (int i = following - 1; i >= 0; --i) {
    out += static_cast<char>(0x80 | static_cast<int>(code >> (6 * i) & 0x3f));
  }
}

// Calls part(begin, end) for each part of a string, as byte positions.
template <typename Part>
void SplitAtBlanks(std::string_view string, int64_t most, Part part) {
  size_t at = string.find_first_not_of(kBlanks);
  for (int64_t splits = 0; at != std::string_view::npos; ++splits) {
    const size_t end = splits == most ? std::string_view::npos : string.find_first_of(kBlanks, at);
    part(at, std::min(end, string.size()));
    at = end == std::string_view::npos ? end : string.find_first_not_of(kBlanks, end);
  }
}

template <typename Part>
void SplitAt(std::string_view string, std::string_view delimiter, int64_t most, Part part) {
  size_t at = 0;
  for (int64_t splits = 0;; ++splits) {
    const size_t end = splits == most ? std::string_view::npos : string.find(delimiter, at);
    part(at, std::min(end, string.size()));
    if (end == std::string_view::npos) return;
    at = end + delimiter.size();
  }
}

}  // namespace

KernelStatus ReadStrings(const TensorView& spans, const TensorView& text,
                         std::vector<std::string_view>& strings) {
  const int64_t count = spans.numel(), bytes = text.numel();
  const std::string_view all = bytes == 0
                                   ? std::string_view()
                                   : std::string_view(text.as<char>(), static_cast<size_t>(bytes));
  strings.clear();
  strings.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t span = spans.as<int64_t>()[i];
    const int64_t start = SpanStart(span), length = SpanLength(span);
    if (start < 0 || start > bytes || length > bytes - start) {
      return KernelStatus::Invalid("element " + std::to_string(i) + " is the span " +
                                   std::to_string(span) + ", which is outside of a text of " +
                                   std::to_string(bytes) + " bytes (expected one within it)");
    }
    strings.push_back(all.substr(static_cast<size_t>(start), static_cast<size_t>(length)));
  }
  return KernelStatus::Ok();
}

KernelStatus StringList::Add(std::string_view string) {
  const auto start = static_cast<int64_t>(text.size()),
             length = static_cast<int64_t>(string.size());
  if (length >= kMaxStringBytes || start + length >= kMaxTextBytes) {
    return KernelStatus::Invalid("a string of " + std::to_string(length) + " bytes behind " +
                                 std::to_string(start) +
                                 " others is too long (expected strings of less than 2 GiB, and "
                                 "less than 4 GiB together)");
  }
  spans.push_back(MakeSpan(start, length));
  text += string;
  return KernelStatus::Ok();
}

KernelStatus StringList::CopyTo(const TensorView& spans_out, const TensorView& text_out) const {
  if (spans_out.numel() != static_cast<int64_t>(spans.size()) ||
      text_out.numel() != static_cast<int64_t>(text.size())) {
    return KernelStatus::Internal("strings of another size than was planned");
  }
  if (!spans.empty()) std::memcpy(spans_out.data, spans.data(), spans.size() * sizeof(int64_t));
  if (!text.empty()) std::memcpy(text_out.data, text.data(), text.size());
  return KernelStatus::Ok();
}

KernelStatus ConcatStrings(std::span<const TensorView> operands, StringList& made) {
  std::vector<std::string_view> a, b;
  if (KernelStatus status = ReadStrings(operands[0], operands[1], a); !status.ok()) return status;
  if (KernelStatus status = ReadStrings(operands[2], operands[3], b); !status.ok()) return status;
  const Dims shape = BroadcastShape(operands[0].shape, operands[2].shape);
  const int64_t count = Product(View(shape));
  const std::array<Dims, 2> strides = {BroadcastStrides(operands[0].shape, View(shape)),
                                       BroadcastStrides(operands[2].shape, View(shape))};
  StridedWalk<2> walk(View(shape), strides);
  std::string joined;
  for (int64_t i = 0; i < count; ++i, walk.Next()) {
    joined.assign(a[static_cast<size_t>(walk[0])]);
    joined += b[static_cast<size_t>(walk[1])];
    if (KernelStatus status = made.Add(joined); !status.ok()) return status;
  }
  return KernelStatus::Ok();
}

KernelStatus ChangeCase(std::span<const TensorView> operands, bool upper, StringList& made) {
  const Utf8Locale locale;
  if (!locale.ok()) return KernelStatus::Unsupported("the system has no locale C.UTF-8");
  std::vector<std::string_view> strings;
  if (KernelStatus status = ReadStrings(operands[0], operands[1], strings); !status.ok()) {
    return status;
  }
  std::string changed;
  for (std::string_view rest : strings) {
    changed.clear();
    while (!rest.empty()) {
      char32_t code = 0;
      std::string_view bytes;
      if (TakeCodePoint(rest, code, bytes)) {
        AppendUtf8(locale.Change(code, upper), changed);
      } else {
        changed += bytes;
      }
    }
    if (KernelStatus status = made.Add(changed); !status.ok()) return status;
  }
  return KernelStatus::Ok();
}

KernelStatus PackStrings(std::span<const TensorView> operands, StringList& made) {
  std::vector<std::string_view> strings;
  if (KernelStatus status = ReadStrings(operands[0], operands[1], strings); !status.ok()) {
    return status;
  }
  for (const std::string_view string : strings) {
    if (KernelStatus status = made.Add(string); !status.ok()) return status;
  }
  return KernelStatus::Ok();
}

KernelStatus SplitEach(std::span<const TensorView> operands, std::string_view delimiter,
                       std::optional<int64_t> maxsplit, SplitStrings& made) {
  std::vector<std::string_view> strings;
  if (KernelStatus status = ReadStrings(operands[0], operands[1], strings); !status.ok()) {
    return status;
  }
  const int64_t most = maxsplit.value_or(-1);
  for (size_t i = 0; i < strings.size(); ++i) {
    const int64_t start = SpanStart(operands[0].as<int64_t>()[i]);
    std::vector<int64_t>& parts = made.parts.emplace_back();
    const auto part = [&](size_t begin, size_t end) {
      parts.push_back(
          MakeSpan(start + static_cast<int64_t>(begin), static_cast<int64_t>(end - begin)));
    };
    if (delimiter.empty()) {
      SplitAtBlanks(strings[i], most, part);
    } else {
      SplitAt(strings[i], delimiter, most, part);
    }
    made.most = std::max(made.most, static_cast<int64_t>(parts.size()));
  }
  return KernelStatus::Ok();
}

}  // namespace tenon::kernels
