#include "ir/base/element_order.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>

#include "fmt/format.h"

namespace tenon {
namespace {

// The places that one part reaches on one side, from `first` on. False if 64 bits cannot count it.
bool Reach(int64_t first, std::span<const ElementOrder::Loop> loops,
           int64_t ElementOrder::Loop::*step, int64_t& least, int64_t& most) {
  least = most = first;
  for (const ElementOrder::Loop& loop : loops) {
    int64_t far = 0;
    if (__builtin_mul_overflow(loop.count - 1, loop.*step, &far)) return false;
    int64_t& end = far < 0 ? least : most;
    if (__builtin_add_overflow(end, far, &end)) return false;
  }
  return true;
}

using Loops = std::span<const ElementOrder::Loop>;

// A transposed matrix: `inner` steps to the next element of the tensor, and `outer` to the next
// packed one. In squares, so that both sides are read and written by whole cache lines.
template <size_t kBytes>
void CopyTransposed(const ElementOrder::Loop& inner, const ElementOrder::Loop& outer,
                    const std::byte* packed, std::byte* plain) {
  constexpr auto kElement = static_cast<ptrdiff_t>(kBytes);
  constexpr auto kSide = static_cast<int64_t>(64 / kBytes);
  for (int64_t i = 0; i < outer.count; i += kSide) {
    const int64_t rows = std::min(kSide, outer.count - i);
    for (int64_t j = 0; j < inner.count; j += kSide) {
      const int64_t columns = std::min(kSide, inner.count - j);
      for (int64_t row = i; row < i + rows; ++row) {
        for (int64_t column = j; column < j + columns; ++column) {
          std::memcpy(plain + (row * outer.plain + column) * kElement,
                      packed + (row + column * inner.packed) * kElement, kBytes);
        }
      }
    }
  }
}

template <size_t kBytes>
void Copy(Loops loops, const std::byte* packed, std::byte* plain) {
  constexpr auto kElement = static_cast<ptrdiff_t>(kBytes);
  if (loops.empty()) {
    std::memcpy(plain, packed, kBytes);
    return;
  }
  const ElementOrder::Loop& loop = loops.back();
  if (loops.size() == 1 && loop.plain == 1 && loop.packed == 1) {
    std::memcpy(plain, packed, static_cast<size_t>(loop.count) * kBytes);
    return;
  }
  if (loops.size() == 2 && loops.front().plain == 1 && loop.packed == 1) {
    CopyTransposed<kBytes>(loops.front(), loop, packed, plain);
    return;
  }
  for (int64_t i = 0; i < loop.count; ++i) {
    Copy<kBytes>(loops.first(loops.size() - 1), packed + i * loop.packed * kElement,
                 plain + i * loop.plain * kElement);
  }
}

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }  // b > 0
int64_t CeilDivOf(int64_t a, int64_t b) { return -FloorDiv(-a, b); }

// The elements of the tensor that are to be written: from `first` to `end`, which lie at `to`.
struct Window {
  int64_t first, end;
  std::byte* to;
};

// Copies what the loops write to the window, beginning with element `plain` of the tensor.
template <size_t kBytes>
void CopyWindow(Loops loops, const std::byte* packed, int64_t plain, const Window& window) {
  constexpr auto kElement = static_cast<ptrdiff_t>(kBytes);
  int64_t least = 0, most = 0;
  Reach(plain, loops, &ElementOrder::Loop::plain, least, most);
  if (most < window.first || least >= window.end) return;
  if (least >= window.first && most < window.end) {
    Copy<kBytes>(loops, packed, window.to + (plain - window.first) * kElement);
    return;
  }
  const ElementOrder::Loop& loop = loops.back();
  const Loops inner = loops.first(loops.size() - 1);
  int64_t begin = 0, end = loop.count;         // steps that may reach the window
  int64_t whole_begin = end, whole_end = end;  // of those, the ones that stay in it
  if (loop.plain > 0) {
    Reach(plain, inner, &ElementOrder::Loop::plain, least, most);
    begin = std::max(begin, CeilDivOf(window.first - most, loop.plain));
    end = std::min(end, FloorDiv(window.end - 1 - least, loop.plain) + 1);
    whole_begin = std::max(begin, CeilDivOf(window.first - least, loop.plain));
    whole_end = std::min(end, FloorDiv(window.end - 1 - most, loop.plain) + 1);
  }
  for (int64_t i = begin; i < end; ++i) {
    const std::byte* const from = packed + i * loop.packed * kElement;
    const int64_t to = plain + i * loop.plain;
    if (i != whole_begin || whole_begin >= whole_end) {
      CopyWindow<kBytes>(inner, from, to, window);
      continue;
    }
    std::vector<ElementOrder::Loop> whole(loops.begin(), loops.end());
    whole.back().count = whole_end - whole_begin;
    Copy<kBytes>(whole, from, window.to + (to - window.first) * kElement);
    i = whole_end - 1;
  }
}

template <size_t kBytes>
void CopyParts(const ElementOrder& order, const std::byte* packed, size_t first,
               std::span<std::byte> plain) {
  const Window window = {static_cast<int64_t>(first / kBytes),
                         static_cast<int64_t>((first + plain.size()) / kBytes), plain.data()};
  for (const ElementOrder::Part& part : order.parts) {
    // Neighbours in the tensor one after another: the writes are then in order.
    std::vector<ElementOrder::Loop> loops = part.loops;
    std::stable_sort(loops.begin(), loops.end(), [](const auto& a, const auto& b) {
      return std::abs(a.plain) < std::abs(b.plain);
    });
    // Neighbours among the packed elements second, for CopyTransposed.
    const auto neighbours = std::ranges::find(loops, int64_t{1}, &ElementOrder::Loop::packed);
    if (neighbours != loops.end() && neighbours != loops.begin() && loops.front().plain == 1)
      std::rotate(loops.begin() + 1, neighbours, neighbours + 1);
    CopyWindow<kBytes>(loops, packed + part.packed * static_cast<ptrdiff_t>(kBytes), part.plain,
                       window);
  }
}

}  // namespace

std::string ElementOrder::Text() const {
  std::string text = fmt::format("{} bytes", element_bytes);
  for (const Part& part : parts) {
    text += fmt::format("; {} from {}", part.plain, part.packed);
    for (const Loop& loop : part.loops)
      text += fmt::format(" x {} +{} from +{}", loop.count, loop.plain, loop.packed);
  }
  return text;
}

bool Fits(const ElementOrder& order, size_t plain_bytes, size_t packed_bytes) {
  const size_t element = order.element_bytes;
  if (element != 1 && element != 2 && element != 4 && element != 8) return false;
  if (plain_bytes % element != 0 || plain_bytes > packed_bytes) return false;
  const auto plain = static_cast<int64_t>(plain_bytes / element);
  const auto packed = static_cast<int64_t>(packed_bytes / element);
  int64_t total = 0;
  for (const ElementOrder::Part& part : order.parts) {
    if (part.loops.size() > ElementOrder::kMaxLoops) return false;
    int64_t copies = 1;
    for (const ElementOrder::Loop& loop : part.loops) {
      if (loop.count < 1 || __builtin_mul_overflow(copies, loop.count, &copies)) return false;
    }
    if (__builtin_add_overflow(total, copies, &total)) return false;
    int64_t least = 0, most = 0;
    if (!Reach(part.plain, part.loops, &ElementOrder::Loop::plain, least, most) || least < 0 ||
        most >= plain)
      return false;
    if (!Reach(part.packed, part.loops, &ElementOrder::Loop::packed, least, most) || least < 0 ||
        most >= packed)
      return false;
  }
  return total == plain;
}

void Unpack(const ElementOrder& order, const std::byte* packed, std::byte* plain,
            size_t plain_bytes) {
  UnpackRange(order, packed, 0, {plain, plain_bytes});
}

void UnpackRange(const ElementOrder& order, const std::byte* packed, size_t first,
                 std::span<std::byte> plain) {
  std::ranges::fill(plain, std::byte{0});
  switch (order.element_bytes) {
    case 1:
      return CopyParts<1>(order, packed, first, plain);
    case 2:
      return CopyParts<2>(order, packed, first, plain);
    case 4:
      return CopyParts<4>(order, packed, first, plain);
    default:
      return CopyParts<8>(order, packed, first, plain);
  }
}

}  // namespace tenon
