#include "executor/memory/memory_sweep.h"

#include <algorithm>
#include <tuple>

#include "absl/container/flat_hash_set.h"

namespace tenon {
namespace {

// Buffers to come that a layout is judged by.
constexpr size_t kAhead = 16;

struct SweptItem {
  int64_t size = 0;
  int first = 0, last = 0;
  size_t buffer = 0;  // index in the caller's list
};

struct LivingItem {
  int64_t begin = 0;
  size_t item = 0;
};

// One way to place the items so far: where those lie that are still alive, by begin.
struct Layout {
  std::vector<LivingItem> living;
  size_t parent = 0;  // the layout that the last item was added to
  int64_t place = 0;  // of the last item
  int64_t room = 0;   // sum of the largest gaps that items to come will find
};

class Sweep {
 public:
  // `items` by first.
  Sweep(std::span<const SweptItem> items, int64_t capacity, int64_t& steps)
      : items_(items), capacity_(capacity), steps_(steps) {}

  // Keeps `width` layouts. Fills the places, one for each item.
  bool Run(size_t width, std::vector<int64_t>& places) {
    std::vector<Layout> layouts(1);
    std::vector<std::vector<std::pair<size_t, int64_t>>> trail;  // parents and places
    for (size_t item = 0; item < items_.size() && !layouts.empty(); ++item) {
      if (steps_ < 0) return false;
      std::vector<Layout> next = Extend(layouts, item);
      if (next.size() > width) {
        std::stable_sort(next.begin(), next.end(),
                         [](const Layout& a, const Layout& b) { return a.room > b.room; });
        next.resize(width);
      }
      trail.emplace_back();
      for (const Layout& layout : next) trail.back().emplace_back(layout.parent, layout.place);
      layouts = std::move(next);
    }
    if (layouts.empty()) return false;
    places.resize(items_.size());
    size_t at = 0;
    for (size_t item = items_.size(); item-- > 0;) {
      std::tie(at, places[item]) = trail[item][at];
    }
    return true;
  }

 private:
  std::vector<Layout> Extend(std::span<const Layout> layouts, size_t item) {
    std::vector<Layout> next;
    absl::flat_hash_set<std::vector<int64_t>> seen;
    std::vector<LivingItem> living;
    for (size_t parent = 0; parent < layouts.size(); ++parent) {
      living.clear();
      for (const LivingItem& placed : layouts[parent].living) {
        if (items_[placed.item].last >= items_[item].first) living.push_back(placed);
      }
      int64_t begin = 0;
      for (size_t at = 0; at <= living.size() && steps_ >= 0; ++at) {
        const int64_t end = at < living.size() ? living[at].begin : capacity_;
        const int64_t highest = end - items_[item].size;
        if (highest >= begin) Add(living, at, {begin, item}, parent, seen, next);
        if (highest > begin) Add(living, at, {highest, item}, parent, seen, next);
        if (at < living.size()) begin = end + items_[living[at].item].size;
      }
    }
    return next;
  }

  void Add(const std::vector<LivingItem>& living, size_t at, LivingItem placed, size_t parent,
           absl::flat_hash_set<std::vector<int64_t>>& seen, std::vector<Layout>& next) {
    Layout layout = {.living = living, .parent = parent, .place = placed.begin};
    layout.living.insert(layout.living.begin() + static_cast<std::ptrdiff_t>(at), placed);
    std::vector<int64_t> key;
    for (const LivingItem& p : layout.living) {
      key.push_back(p.begin);
      key.push_back(static_cast<int64_t>(p.item));
    }
    steps_ -= static_cast<int64_t>(layout.living.size());
    if (seen.insert(std::move(key)).second && LooksAhead(placed.item, layout)) {
      next.push_back(std::move(layout));
    }
  }

  // False if one of the items to come has no gap. Sets `room`.
  bool LooksAhead(size_t item, Layout& layout) {
    const size_t stop = std::min(items_.size(), item + 1 + kAhead);
    for (size_t later = item + 1; later < stop; ++later) {
      int64_t begin = 0, gap = 0;
      for (const LivingItem& placed : layout.living) {
        if (items_[placed.item].last < items_[later].first) continue;
        gap = std::max(gap, placed.begin - begin);
        begin = placed.begin + items_[placed.item].size;
      }
      gap = std::max(gap, capacity_ - begin);
      steps_ -= static_cast<int64_t>(layout.living.size());
      if (gap < items_[later].size) return false;
      layout.room += gap / kArenaAlignment;
    }
    return true;
  }

  const std::span<const SweptItem> items_;
  const int64_t capacity_;
  int64_t& steps_;
};

}  // namespace

bool SweepMemoryPlan(std::span<const BufferLifetime> buffers, int64_t capacity, int64_t steps,
                     std::vector<int64_t>& offsets) {
  std::vector<SweptItem> items;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const BufferLifetime& b = buffers[i];
    if (b.size <= 0) continue;
    items.push_back(
        {(b.size + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment, b.first, b.last, i});
  }
  std::sort(items.begin(), items.end(), [](const SweptItem& a, const SweptItem& b) {
    return std::tuple(a.first, -a.size, a.buffer) < std::tuple(b.first, -b.size, b.buffer);
  });
  std::vector<int64_t> places;
  for (size_t width = 8; steps > 0 && width <= 2048; width *= 4) {
    if (!Sweep(items, capacity, steps).Run(width, places)) continue;
    offsets.assign(buffers.size(), 0);
    for (size_t i = 0; i < items.size(); ++i) offsets[items[i].buffer] = places[i];
    return true;
  }
  return false;
}

}  // namespace tenon
