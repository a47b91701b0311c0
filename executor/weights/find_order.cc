#include "executor/weights/find_order.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "ir/base/dtype.h"

namespace tenon {
namespace {

using Part = ElementOrder::Part;
using Loop = ElementOrder::Loop;

// Joins parts of the same form at equal distances, as they come, and parts of those in turn.
class PartJoiner {
 public:
  static constexpr size_t kMostParts = 4096;

  // False if there are too many parts.
  bool Add(Part part) { return Add(0, std::move(part)); }
  // Returns the parts. Call it once, behind all.
  std::vector<Part> Take() {
    for (size_t i = 0; i < levels_.size(); ++i) Close(i);
    return std::move(parts_);
  }

 private:
  // Parts that are one so far.
  struct Level {
    Part first;
    int64_t count = 0, last_plain = 0, last_packed = 0;
    int64_t plain = 0, packed = 0;  // their distance
  };

  bool Add(size_t at, Part part) {
    if (at == levels_.size()) {
      parts_.push_back(std::move(part));
      return parts_.size() <= kMostParts;
    }
    Level& level = levels_[at];
    if (level.count > 0 && part.loops == level.first.loops) {
      const int64_t plain = part.plain - level.last_plain;
      const int64_t packed = part.packed - level.last_packed;
      if (level.count == 1 || (plain == level.plain && packed == level.packed)) {
        level.plain = plain, level.packed = packed;
        level.last_plain = part.plain, level.last_packed = part.packed;
        ++level.count;
        return true;
      }
    }
    if (!Close(at)) return false;
    level.count = 1;
    level.last_plain = part.plain, level.last_packed = part.packed;
    level.first = std::move(part);
    return true;
  }

  bool Close(size_t at) {
    Level& level = levels_[at];
    if (level.count == 0) return true;
    Part joined = std::move(level.first);
    if (level.count > 1) joined.loops.push_back({level.count, level.plain, level.packed});
    level.count = 0;
    return Add(at + 1, std::move(joined));
  }

  std::vector<Level> levels_{ElementOrder::kMaxLoops - 2};
  std::vector<Part> parts_;
};

bool ByLoops(const Part& a, const Part& b) {
  return std::lexicographical_compare(a.loops.begin(), a.loops.end(), b.loops.begin(),
                                      b.loops.end(), [](const Loop& x, const Loop& y) {
                                        return std::tie(x.count, x.plain, x.packed) <
                                               std::tie(y.count, y.plain, y.packed);
                                      });
}

// Numbers that elements of some size can hold: each probe shows a digit.
class Digits {
 public:
  explicit Digits(size_t element_bytes)
      : bytes_(std::min(element_bytes, sizeof(uint32_t))),
        base_(bytes_ == 4 ? std::numeric_limits<uint32_t>::max()
                          : (uint64_t{1} << (8 * bytes_)) - 1) {}

  // How many probes so many elements need.
  int CountFor(uint64_t elements) const {
    int count = 1;
    for (uint64_t reach = base_; reach < elements; reach *= base_) ++count;
    return count;
  }
  // Digits are not 0, which is what padding has.
  void Put(uint64_t element, int digit, std::byte* to) const {
    for (int i = 0; i < digit; ++i) element /= base_;
    const auto value = static_cast<uint32_t>(element % base_ + 1);
    std::memcpy(to, &value, bytes_);
  }
  // The value of a digit; nothing if there is none.
  std::optional<uint64_t> Get(const std::byte* from, size_t element_bytes, int digit) const {
    uint64_t value = 0;
    std::memcpy(&value, from, element_bytes);
    if (value == 0 || value > base_) return std::nullopt;
    --value;
    for (int i = 0; i < digit; ++i) value *= base_;
    return value;
  }

 private:
  size_t bytes_;
  uint64_t base_;
};

}  // namespace

std::optional<ElementOrder> FindOrder(std::span<const uint32_t> sources, size_t elements) {
  std::vector<bool> seen(elements);
  size_t found = 0;
  PartJoiner joiner;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] == 0 || sources[i] > elements) continue;
    const size_t plain = sources[i] - 1;
    if (seen[plain]) continue;
    seen[plain] = true;
    ++found;
    if (!joiner.Add({static_cast<int64_t>(plain), static_cast<int64_t>(i), {}}))
      return std::nullopt;
  }
  if (found != elements) return std::nullopt;
  // Parts of one form may alternate with others, as in the panels of several matrices.
  std::vector<Part> parts = joiner.Take();
  std::stable_sort(parts.begin(), parts.end(), ByLoops);
  PartJoiner again;
  for (Part& part : parts) {
    if (!again.Add(std::move(part))) return std::nullopt;
  }
  constexpr size_t kMostParts = 256;
  ElementOrder order;
  order.parts = again.Take();
  const auto is_deep = [](const Part& part) { return part.loops.size() > ElementOrder::kMaxLoops; };
  if (order.parts.size() > kMostParts || std::ranges::any_of(order.parts, is_deep))
    return std::nullopt;
  return order;
}

std::vector<ElementOrder> ProbeOrders(std::span<kernels::TensorView> views,
                                      std::span<const int> from, size_t bytes,
                                      const std::function<void(std::byte*)>& fill) {
  std::vector<ElementOrder> orders(from.size());
  for (const int input : from) {
    const kernels::TensorView& view = views[static_cast<size_t>(input)];
    if (!IsFloat(view.dtype) || SizeOf(view.dtype) < 2 ||
        static_cast<uint64_t>(view.numel()) >= std::numeric_limits<uint32_t>::max())
      return orders;
  }
  // In 8-byte units, so that elements and packed bytes are aligned.
  std::vector<std::vector<uint64_t>> numbers(from.size());
  std::vector<void*> data(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    kernels::TensorView& view = views[static_cast<size_t>(from[i])];
    numbers[i].resize(static_cast<size_t>(view.bytes()) / sizeof(uint64_t) + 1);
    data[i] = std::exchange(view.data, numbers[i].data());
  }
  constexpr size_t kAlignment = 64;
  std::vector<std::byte> memory(bytes + kAlignment);
  std::byte* const packed =
      memory.data() + kAlignment - reinterpret_cast<uintptr_t>(memory.data()) % kAlignment;
  for (size_t i = 0; i < from.size(); ++i) {
    const kernels::TensorView& view = views[static_cast<size_t>(from[i])];
    const size_t element = SizeOf(view.dtype);
    const auto elements = static_cast<size_t>(view.numel());
    const Digits digits(element);
    auto* const plain = reinterpret_cast<std::byte*>(numbers[i].data());
    std::vector<uint32_t> sources(bytes / element);  // 0: none
    for (int digit = 0; digit < digits.CountFor(elements); ++digit) {
      for (size_t k = 0; k < elements; ++k) digits.Put(k, digit, plain + k * element);
      std::fill_n(packed, bytes, std::byte{0});
      fill(packed);
      for (size_t k = 0; k < sources.size(); ++k) {
        const std::optional<uint64_t> value = digits.Get(packed + k * element, element, digit);
        const uint64_t before = digit == 0 ? 1 : sources[k];
        const bool is_number = value && before > 0 && *value + before <= elements;
        sources[k] = is_number ? static_cast<uint32_t>(*value + before) : 0;
      }
    }
    if (std::optional<ElementOrder> order = FindOrder(sources, elements)) {
      orders[i] = *std::move(order);
      orders[i].element_bytes = element;
    }
    std::ranges::fill(numbers[i], 0);
  }
  for (size_t i = 0; i < from.size(); ++i) views[static_cast<size_t>(from[i])].data = data[i];
  return orders;
}

}  // namespace tenon
