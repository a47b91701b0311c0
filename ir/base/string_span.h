// Spans: where a string lies in a text. The elements of a tensor of strings. This header includes
// nothing else of Tenon, so that kernels can use it without the IR.
#ifndef TENON_IR_BASE_STRING_SPAN_H_
#define TENON_IR_BASE_STRING_SPAN_H_

#include <cstdint>

namespace tenon {

// A span is the first byte of a string times 2^31, plus its number of bytes. 0 is the empty string,
// so that new elements are empty strings.
inline constexpr int kSpanLengthBits = 31;
// One more than the most bytes of a string.
inline constexpr int64_t kMaxStringBytes = int64_t{1} << kSpanLengthBits;
// One more than the most bytes of a text.
inline constexpr int64_t kMaxTextBytes = int64_t{1} << 32;

// Requires 0 <= start < kMaxTextBytes and 0 <= length < kMaxStringBytes.
constexpr int64_t MakeSpan(int64_t start, int64_t length) {
  return length == 0 ? 0 : start << kSpanLengthBits | length;
}
// The first byte; negative for what is no span.
constexpr int64_t SpanStart(int64_t span) { return span >> kSpanLengthBits; }
// The number of bytes.
constexpr int64_t SpanLength(int64_t span) { return span & (kMaxStringBytes - 1); }

}  // namespace tenon

#endif  // TENON_IR_BASE_STRING_SPAN_H_
