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

template <size_t kBytes>
void Copy(std::span<const ElementOrder::Loop> loops, const std::byte* packed, std::byte* plain) {
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
  for (int64_t i = 0; i < loop.count; ++i) {
    Copy<kBytes>(loops.first(loops.size() - 1), packed + i * loop.packed * kElement,
                 plain + i * loop.plain * kElement);
  }
}

template <size_t kBytes>
void CopyParts(const ElementOrder& order, const std::byte* packed, std::byte* plain) {
  for (const ElementOrder::Part& part : order.parts) {
    // Neighbours in the tensor one after another: the writes are then in order.
    std::vector<ElementOrder::Loop> loops = part.loops;
    std::stable_sort(loops.begin(), loops.end(), [](const auto& a, const auto& b) {
      return std::abs(a.plain) < std::abs(b.plain);
    });
    Copy<kBytes>(loops, packed + part.packed * static_cast<ptrdiff_t>(kBytes),
                 plain + part.plain * static_cast<ptrdiff_t>(kBytes));
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
  std::memset(plain, 0, plain_bytes);
  switch (order.element_bytes) {
    case 1:
      return CopyParts<1>(order, packed, plain);
    case 2:
      return CopyParts<2>(order, packed, plain);
    case 4:
      return CopyParts<4>(order, packed, plain);
    default:
      return CopyParts<8>(order, packed, plain);
  }
}

}  // namespace tenon
