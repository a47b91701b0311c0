#include "executor/memory/memory_search.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tenon {
namespace {

// Of the time a buffer is alive only the sections that it spans matter: stretches of instructions
// between which no buffer begins after another has ended. In each of them everything that is alive
// meets everything else.
struct Item {
  int64_t size = 0;
  int first = 0, stop = 0;  // sections
  size_t buffer = 0;        // index in the caller's list
};

// A step of the search may be undone: what it changed.
struct Undo {
  std::vector<int64_t> tops;                    // of the sections of the item
  std::vector<std::pair<int, int64_t>> lowest;  // of items
};

class Search {
 public:
  // `items` sorted by first section.
  Search(std::vector<Item> items, int num_sections, int64_t capacity)
      : items_(std::move(items)),
        capacity_(capacity),
        top_(num_sections, 0),
        waiting_(num_sections, 0),
        reach_(num_sections, 0),
        lowest_(items_.size(), 0),
        rank_(items_.size(), 0),
        offset_(items_.size(), 0) {
    for (const Item& item : items_) {
      for (int t = item.first; t < item.stop; ++t) waiting_[t] += item.size;
    }
  }

  // Among places at the same height, the items are tried in the order of `rank`.
  MemorySearchResult Run(std::vector<int> rank, int64_t steps) {
    rank_ = std::move(rank);
    steps_ = steps;
    std::vector<int> all(items_.size());
    std::iota(all.begin(), all.end(), 0);
    return SolveParts(all, 0, -1);
  }

  int64_t steps_left() const { return steps_; }
  int64_t offset(size_t item) const { return offset_[item]; }
  int64_t waiting(int section) const { return waiting_[section]; }
  const std::vector<Item>& items() const { return items_; }

 private:
  // Splits `waiting`, sorted by first section, where no item spans the border.
  MemorySearchResult SolveParts(std::span<const int> waiting, int64_t height, int last) {
    std::vector<std::span<const int>> parts;
    size_t begin = 0;
    int stop = 0;
    for (size_t i = 0; i < waiting.size(); ++i) {
      const Item& item = items_[waiting[i]];
      if (i > begin && item.first >= stop) {
        parts.push_back(waiting.subspan(begin, i - begin));
        begin = i;
      }
      stop = std::max(stop, item.stop);
    }
    if (begin < waiting.size()) parts.push_back(waiting.subspan(begin));
    for (std::span<const int> part : parts) {
      if (!HasRoom(part, height)) return MemorySearchResult::kImpossible;
    }
    // A part without a solution shows soonest where there is little to try.
    std::stable_sort(
        parts.begin(), parts.end(),
        [](std::span<const int> a, std::span<const int> b) { return a.size() < b.size(); });
    for (std::span<const int> part : parts) {
      const MemorySearchResult result = Solve(part, height, last);
      if (result != MemorySearchResult::kFound) return result;
    }
    return MemorySearchResult::kFound;
  }

  // In each section: what waits fits above the lowest place that any of it can still get.
  bool HasRoom(std::span<const int> waiting, int64_t height) {
    int begin = items_[waiting.front()].first, stop = begin;
    for (int i : waiting) stop = std::max(stop, items_[i].stop);
    std::fill(reach_.begin() + begin, reach_.begin() + stop, capacity_ + 1);
    for (int i : waiting) {
      const int64_t lowest = std::max(lowest_[i], height);
      if (lowest + items_[i].size > capacity_) return false;
      for (int t = items_[i].first; t < items_[i].stop; ++t) {
        reach_[t] = std::min(reach_[t], lowest);
      }
      steps_ -= 1 + (items_[i].stop - items_[i].first) / 8;
    }
    for (int t = begin; t < stop; ++t) {
      if (reach_[t] + waiting_[t] > capacity_) return false;
    }
    return true;
  }

  // Places the items of `waiting`, the next one at or above `height`; at `height` only items behind
  // `last`, for two items at one height never meet and their order makes no difference.
  MemorySearchResult Solve(std::span<const int> waiting, int64_t height, int last) {
    if (waiting.empty()) return MemorySearchResult::kFound;
    steps_ -= static_cast<int64_t>(waiting.size());
    if (steps_ < 0) return MemorySearchResult::kGaveUp;
    int64_t limit = capacity_ + 1;
    for (int i : waiting) limit = std::min(limit, lowest_[i] + items_[i].size);
    std::vector<int> tries;
    for (int i : waiting) {
      const int64_t at = lowest_[i];
      if (at < limit && (at > height || (at == height && i > last))) tries.push_back(i);
    }
    std::sort(tries.begin(), tries.end(), [this](int a, int b) {
      return std::pair(lowest_[a], rank_[a]) < std::pair(lowest_[b], rank_[b]);
    });
    std::vector<int> rest(waiting.size() - 1);
    Undo undo;
    for (size_t t = 0; t < tries.size(); ++t) {
      const int item = tries[t];
      steps_ -= static_cast<int64_t>(waiting.size() / 16);  // what follows looks at all of them
      if (steps_ < 0) return MemorySearchResult::kGaveUp;
      if (IsTwinOfEarlier(tries, t)) continue;
      std::copy_if(waiting.begin(), waiting.end(), rest.begin(), [&](int i) { return i != item; });
      const int64_t at = lowest_[item];
      Place(item, rest, undo);
      const MemorySearchResult result = SolveParts(rest, at, item);
      if (result == MemorySearchResult::kFound) {
        offset_[item] = at;
        return result;
      }
      TakeBack(item, undo);
      if (result == MemorySearchResult::kGaveUp) return result;
    }
    return MemorySearchResult::kImpossible;
  }

  // Items of equal size and life are the same to the search.
  bool IsTwinOfEarlier(std::span<const int> tries, size_t t) const {
    const Item& item = items_[tries[t]];
    for (size_t i = 0; i < t; ++i) {
      const Item& other = items_[tries[i]];
      if (item.size == other.size && item.first == other.first && item.stop == other.stop) {
        return true;
      }
    }
    return false;
  }

  void Place(int item, std::span<const int> rest, Undo& undo) {
    const Item& placed = items_[item];
    const int64_t top = lowest_[item] + placed.size;
    undo.tops.assign(top_.begin() + placed.first, top_.begin() + placed.stop);
    undo.lowest.clear();
    for (int t = placed.first; t < placed.stop; ++t) {
      top_[t] = top;
      waiting_[t] -= placed.size;
    }
    for (int i : rest) {
      if (items_[i].first >= placed.stop) break;
      if (items_[i].stop <= placed.first || lowest_[i] >= top) continue;
      undo.lowest.emplace_back(i, lowest_[i]);
      lowest_[i] = top;
    }
  }

  void TakeBack(int item, const Undo& undo) {
    const Item& placed = items_[item];
    std::copy(undo.tops.begin(), undo.tops.end(), top_.begin() + placed.first);
    for (int t = placed.first; t < placed.stop; ++t) waiting_[t] += placed.size;
    for (const auto& [i, lowest] : undo.lowest) lowest_[i] = lowest;
  }

  const std::vector<Item> items_;
  const int64_t capacity_;
  int64_t steps_ = 0;
  std::vector<int64_t> top_, waiting_,
      reach_;                    // by section: end of what is placed, sum of the rest
  std::vector<int64_t> lowest_;  // by item: the highest top of its sections
  std::vector<int> rank_;
  std::vector<int64_t> offset_;
};

// Items by first section; the number of sections.
std::pair<std::vector<Item>, int> MakeItems(std::span<const BufferLifetime> buffers) {
  // In time, ends before beginnings. A section ends with the first end after a beginning.
  struct Event {
    int64_t time;
    bool begins;
    size_t buffer;
  };
  std::vector<Event> events;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].size <= 0) continue;
    events.push_back({buffers[i].first, true, i});
    events.push_back({int64_t{buffers[i].last} + 1, false, i});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tuple(a.time, a.begins, a.buffer) < std::tuple(b.time, b.begins, b.buffer);
  });
  std::vector<Item> items;
  std::vector<size_t> item_of(buffers.size());
  int section = 0;
  bool begun = false;
  for (const Event& event : events) {
    if (event.begins) {
      item_of[event.buffer] = items.size();
      const int64_t size = buffers[event.buffer].size;
      items.push_back({(size + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment, section, 0,
                       event.buffer});
      begun = true;
      continue;
    }
    if (begun) ++section;
    begun = false;
    items[item_of[event.buffer]].stop = section;
  }
  return {std::move(items), section};
}

// The order in which items of equal height are tried: a permutation of the items as ranks.
std::vector<int> MakeRank(const Search& search, int which) {
  const std::vector<Item>& items = search.items();
  std::vector<std::pair<int64_t, int64_t>> keys;
  for (size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    const int64_t width = item.stop - item.first, area = width * item.size;
    int64_t most = 0;
    for (int t = item.first; t < item.stop; ++t) most = std::max(most, search.waiting(t));
    switch (which % 4) {
      case 0:
        keys.emplace_back(width, item.size);
        break;
      case 1:
        keys.emplace_back(area, width);
        break;
      case 2:
        keys.emplace_back(most, area);
        break;
      default:
        keys.emplace_back(item.size, width);
    }
  }
  std::vector<int> order(items.size()), rank(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] > keys[b]; });
  for (size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<int>(i);
  return rank;
}

}  // namespace

MemorySearchResult SearchMemoryPlan(std::span<const BufferLifetime> buffers, int64_t capacity,
                                    int64_t steps, std::vector<int64_t>& offsets) {
  offsets.assign(buffers.size(), 0);
  const auto [items, num_sections] = MakeItems(buffers);
  if (items.empty()) return MemorySearchResult::kFound;
  // Each turn below looks at every section of every item.
  int64_t spans = 0;
  for (const Item& item : items) spans += item.stop - item.first;
  if (spans > steps) return MemorySearchResult::kGaveUp;
  // Which order finds a plan soon is not known beforehand: they take turns, each time with more
  // steps.
  int64_t share = std::max<int64_t>(steps / 64, 1);
  for (int which = 0; steps > 0; ++which) {
    Search search(items, num_sections, capacity);
    const int64_t given = std::min(share, steps);
    const MemorySearchResult result = search.Run(MakeRank(search, which), given);
    if (result == MemorySearchResult::kFound) {
      for (size_t i = 0; i < items.size(); ++i) offsets[items[i].buffer] = search.offset(i);
    }
    if (result != MemorySearchResult::kGaveUp) return result;
    steps -= given;
    if (which % 4 == 3) share *= 4;
  }
  return MemorySearchResult::kGaveUp;
}

}  // namespace tenon
