#include "executor/memory/memory_planner.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "executor/memory/memory_search.h"
#include "executor/memory/memory_sweep.h"
#include "fmt/format.h"

namespace tenon {
namespace {

int64_t RoundUp(int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

// A buffer that has its place.
struct Placed {
  int64_t begin, end;
  int first, last;
};

enum class Fit : uint8_t { kSmallestGap, kLowestGap };

// Places the buffers in the given order, each into a gap between those placed that it meets. The
// first ones have `given` places.
MemoryPlan PlaceInOrder(std::span<const BufferLifetime> buffers, std::span<const size_t> order,
                        Fit fit, std::span<const int64_t> given = {}) {
  MemoryPlan plan;
  plan.offsets.assign(given.begin(), given.end());
  plan.offsets.resize(buffers.size(), 0);
  std::vector<Placed> placed;  // by begin
  placed.reserve(order.size() + given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    if (buffers[i].size <= 0) continue;
    const int64_t end = given[i] + RoundUp(buffers[i].size);
    placed.push_back({given[i], end, buffers[i].first, buffers[i].last});
    plan.arena_bytes = std::max(plan.arena_bytes, end);
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
  for (size_t index : order) {
    const BufferLifetime& buffer = buffers[index];
    const int64_t size = RoundUp(buffer.size);
    int64_t end = 0, best = -1, best_gap = 0;
    for (const Placed& other : placed) {
      if (other.last < buffer.first || buffer.last < other.first) continue;
      const int64_t gap = other.begin - end;
      if (gap >= size && (best < 0 || gap < best_gap)) {
        best = end;
        best_gap = gap;
        if (fit == Fit::kLowestGap) break;
      }
      end = std::max(end, other.end);
    }
    const int64_t offset = best >= 0 ? best : end;
    plan.offsets[index] = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + size);
    const Placed mine = {offset, offset + size, buffer.first, buffer.last};
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), mine,
                         [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
        mine);
  }
  return plan;
}

// The gaps of an arena in which some buffers lie, while time goes on.
class Gaps {
 public:
  // Takes a place for `size` bytes: in the smallest gap that has room, else at the end.
  int64_t Take(int64_t size) {
    const auto found = by_size_.lower_bound({size, 0});
    if (found != by_size_.end()) {
      const auto [gap, begin] = *found;
      Remove(begin, gap);
      if (gap > size) Insert(begin + size, gap - size);
      return begin;
    }
    int64_t begin = end_;
    if (!by_begin_.empty()) {
      const auto [last, gap] = *by_begin_.rbegin();
      if (last + gap == end_) {  // the arena ends with a gap, which grows
        begin = last;
        Remove(last, gap);
      }
    }
    end_ = begin + size;
    return begin;
  }
  void Free(int64_t begin, int64_t size) {
    const auto next = by_begin_.find(begin + size);
    if (next != by_begin_.end()) {
      const int64_t gap = next->second;
      Remove(begin + size, gap);
      size += gap;
    }
    const auto above = by_begin_.lower_bound(begin);
    if (above != by_begin_.begin()) {
      const auto [below, gap] = *std::prev(above);
      if (below + gap == begin) {
        Remove(below, gap);
        begin = below, size += gap;
      }
    }
    Insert(begin, size);
  }
  int64_t end() const { return end_; }  // of the arena so far

 private:
  void Insert(int64_t begin, int64_t size) {
    by_begin_.emplace(begin, size);
    by_size_.emplace(size, begin);
  }
  void Remove(int64_t begin, int64_t size) {
    by_begin_.erase(begin);
    by_size_.erase({size, begin});
  }

  std::map<int64_t, int64_t> by_begin_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t end_ = 0;
};

// Places the buffers as they begin, in the way of an allocator. Takes n log n steps.
MemoryPlan PlaceAlongTime(std::span<const BufferLifetime> buffers, std::vector<size_t> order) {
  MemoryPlan plan;
  plan.offsets.resize(buffers.size(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(buffers[a].first, -buffers[a].size) <
           std::pair(buffers[b].first, -buffers[b].size);
  });
  Gaps gaps;
  std::set<std::pair<int, size_t>> alive;  // by end
  for (size_t i : order) {
    while (!alive.empty() && alive.begin()->first < buffers[i].first) {
      const size_t ended = alive.begin()->second;
      gaps.Free(plan.offsets[ended], RoundUp(buffers[ended].size));
      alive.erase(alive.begin());
    }
    plan.offsets[i] = gaps.Take(RoundUp(buffers[i].size));
    alive.emplace(buffers[i].last, i);
  }
  plan.arena_bytes = gaps.end();
  return plan;
}

// For each buffer the most that is alive with it at one time.
std::vector<int64_t> CrowdOf(std::span<const BufferLifetime> buffers) {
  std::map<int, int64_t> change;
  for (const BufferLifetime& b : buffers) {
    change[b.first] += RoundUp(b.size);
    change[b.last + 1] -= RoundUp(b.size);
  }
  std::vector<int> times;
  std::vector<int64_t> live;
  int64_t sum = 0;
  for (const auto& [time, delta] : change) {
    times.push_back(time);
    live.push_back(sum += delta);
  }
  std::vector<int64_t> crowd;
  for (const BufferLifetime& b : buffers) {
    const auto begin = std::lower_bound(times.begin(), times.end(), b.first) - times.begin();
    const auto end = std::upper_bound(times.begin(), times.end(), b.last) - times.begin();
    crowd.push_back(*std::max_element(live.begin() + begin, live.begin() + end));
  }
  return crowd;
}

// The work of the greedy orders, in looks at a placed buffer. 5,000 buffers get all of them.
constexpr int64_t kGreedySteps = int64_t{1} << 27;

// The looks of one greedy order, if all buffers are alive together.
int64_t GreedyCost(size_t buffers) {
  const auto n = static_cast<int64_t>(std::min<size_t>(buffers, 1u << 24));
  return n * n / 2;
}

// The best of several greedy orders; stops at one that reaches `bound`. Very many buffers get fewer
// orders, and one that takes little time.
MemoryPlan PlaceGreedily(std::span<const BufferLifetime> buffers, int64_t bound) {
  std::vector<size_t> order;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].size > 0) order.push_back(i);
  }
  MemoryPlan best;
  constexpr int kAttempts = 10;
  int64_t steps = kGreedySteps;
  const int64_t cost = GreedyCost(order.size());
  if (cost * kAttempts > steps) best = PlaceAlongTime(buffers, order);
  if (best.arena_bytes == bound && !best.offsets.empty()) return best;
  const auto attempt = [&](auto key) {
    if (steps < cost) return true;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return key(a) > key(b); });
    for (Fit fit : {Fit::kSmallestGap, Fit::kLowestGap}) {
      if (steps < cost) return true;
      steps -= cost;
      MemoryPlan plan = PlaceInOrder(buffers, order, fit);
      if (best.offsets.empty() || plan.arena_bytes < best.arena_bytes) best = std::move(plan);
      if (best.arena_bytes == bound) return true;
    }
    return false;
  };
  const auto size = [&](size_t i) { return buffers[i].size; };
  const auto duration = [&](size_t i) { return int64_t{buffers[i].last} - buffers[i].first + 1; };
  if (attempt(size) || steps < cost) return best;
  const std::vector<int64_t> crowd = CrowdOf(buffers);
  if (attempt([&](size_t i) { return std::pair(crowd[i], size(i)); })) return best;
  if (attempt([&](size_t i) { return size(i) * duration(i); })) return best;
  if (attempt([&](size_t i) { return std::pair(duration(i), size(i)); })) return best;
  attempt([&](size_t i) { return std::pair(-buffers[i].first, size(i)); });
  return best;
}

// Greedy again and again, each time with the buffers that ended above the bound, and thus came too
// late, earlier in the order (squeaky wheel optimisation: Joslin and Clements, JAIR 10, 1999).
void PlaceAgain(std::span<const BufferLifetime> buffers, int64_t bound, int64_t steps,
                MemoryPlan& best) {
  std::vector<size_t> order;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].size > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].size > buffers[b].size; });
  const auto cost = static_cast<int64_t>(order.size() * order.size() / 4 + 1);
  std::minstd_rand random(1);  // the same numbers everywhere
  std::vector<std::pair<double, size_t>> keyed(order.size());
  for (; steps >= cost && best.arena_bytes > bound; steps -= cost) {
    MemoryPlan plan = PlaceInOrder(buffers, order, Fit::kSmallestGap);
    for (size_t place = 0; place < order.size(); ++place) {
      const size_t i = order[place];
      const bool late = plan.offsets[i] + RoundUp(buffers[i].size) > bound;
      const double forward = late ? static_cast<double>(random() % 1024) / 1024 : 0;
      keyed[place] = {static_cast<double>(place) * (1 - forward), i};
    }
    std::stable_sort(keyed.begin(), keyed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t place = 0; place < order.size(); ++place) order[place] = keyed[place].second;
    if (plan.arena_bytes < best.arena_bytes) best = std::move(plan);
  }
}

int64_t ArenaBytes(std::span<const BufferLifetime> buffers, std::span<const int64_t> offsets) {
  int64_t bytes = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].size > 0) bytes = std::max(bytes, offsets[i] + RoundUp(buffers[i].size));
  }
  return bytes;
}

}  // namespace

MemoryPlan PlanMemory(std::span<const BufferLifetime> buffers, const MemoryPlanOptions& options) {
  const int64_t bound = MaxLiveBytes(buffers);
  MemoryPlan plan = PlaceGreedily(buffers, bound);
  if (plan.offsets.empty()) plan.offsets.assign(buffers.size(), 0);
  std::vector<int64_t> offsets;
  const auto take = [&](bool found) {
    if (!found) return false;
    plan.arena_bytes = ArenaBytes(buffers, offsets);
    plan.offsets = std::move(offsets);
    return true;
  };
  const auto sweep = [&](int64_t capacity) {
    return take(SweepMemoryPlan(buffers, capacity, options.search_steps / 8, offsets));
  };
  const auto search = [&](int64_t capacity, int64_t steps) {
    return take(SearchMemoryPlan(buffers, capacity, steps, offsets) == MemorySearchResult::kFound);
  };
  if (plan.arena_bytes > bound && !sweep(bound)) {
    PlaceAgain(buffers, bound, options.search_steps / 8, plan);
  }
  // The bound itself gets half of the steps. Failing that, the sizes between, by halves.
  int64_t impossible = bound - kArenaAlignment, steps = options.search_steps / 2;
  int64_t attempt = bound;
  while (steps > 0 && attempt < plan.arena_bytes) {
    const bool swept = attempt > bound && sweep(attempt);
    if (!swept && !search(attempt, steps)) impossible = attempt;
    if (attempt == bound) steps /= 4;
    if (plan.arena_bytes - impossible <= std::max(kArenaAlignment, bound / 1024)) break;
    attempt = RoundUp(impossible + (plan.arena_bytes - impossible) / 2);
  }
  plan.live_bytes = bound;
  plan.sum_bytes = SumOfBytes(buffers);
  return plan;
}

MemoryPlan ExtendMemoryPlan(std::span<const BufferLifetime> buffers,
                            std::span<const int64_t> offsets) {
  if (GreedyCost(buffers.size()) > kGreedySteps) return PlanMemory(buffers);
  std::vector<size_t> order;
  for (size_t i = offsets.size(); i < buffers.size(); ++i) {
    if (buffers[i].size > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].size > buffers[b].size; });
  MemoryPlan plan = PlaceInOrder(buffers, order, Fit::kSmallestGap, offsets);
  plan.live_bytes = MaxLiveBytes(buffers);
  plan.sum_bytes = SumOfBytes(buffers);
  if (plan.arena_bytes == plan.live_bytes) return plan;
  MemoryPlan other = PlanMemory(buffers);
  return other.arena_bytes < plan.arena_bytes ? other : plan;
}

std::string CheckMemoryPlan(std::span<const BufferLifetime> buffers, const MemoryPlan& plan) {
  if (plan.offsets.size() != buffers.size()) {
    return fmt::format("the plan has {} offsets for {} buffers", plan.offsets.size(),
                       buffers.size());
  }
  if (plan.arena_bytes > kMaxPlannedBytes) {
    return fmt::format("the arena has {} bytes (expected {} at most)", plan.arena_bytes,
                       kMaxPlannedBytes);
  }
  // A sweep over time: the buffers alive at each instruction, by offset, must not overlap.
  std::map<int, std::vector<size_t>> starts, stops;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].size <= 0) continue;
    const int64_t offset = plan.offsets[i];
    if (offset < 0 || offset % kArenaAlignment != 0 ||
        offset > plan.arena_bytes - buffers[i].size) {
      return fmt::format(
          "offset {} of a buffer of {} bytes is not in the arena of {} bytes (or not a multiple of "
          "{})",
          offset, buffers[i].size, plan.arena_bytes, kArenaAlignment);
    }
    starts[buffers[i].first].push_back(i);
    stops[buffers[i].last + 1].push_back(i);
  }
  std::map<int64_t, size_t> live;
  for (const auto& [time, begun] : starts) {
    for (auto it = stops.begin(); it != stops.end() && it->first <= time; it = stops.erase(it)) {
      for (size_t i : it->second) live.erase(plan.offsets[i]);
    }
    for (size_t i : begun) {
      const int64_t begin = plan.offsets[i], end = begin + buffers[i].size;
      auto next = live.lower_bound(begin);
      bool overlap = next != live.end() && next->first < end;
      if (!overlap && next != live.begin()) {
        const size_t previous = std::prev(next)->second;
        overlap = plan.offsets[previous] + buffers[previous].size > begin;
      }
      if (overlap) {
        return fmt::format(
            "two buffers overlap at instruction {} (one of them at offset {}, {} bytes)", time,
            begin, buffers[i].size);
      }
      live.emplace(begin, i);
    }
  }
  return "";
}

int64_t MaxLiveBytes(std::span<const BufferLifetime> buffers) {
  std::vector<std::pair<int64_t, int64_t>> changes;  // time, bytes; ends before beginnings
  changes.reserve(2 * buffers.size());
  for (const BufferLifetime& b : buffers) {
    if (b.size <= 0) continue;
    changes.emplace_back(b.first, RoundUp(b.size));
    changes.emplace_back(int64_t{b.last} + 1, -RoundUp(b.size));
  }
  std::sort(changes.begin(), changes.end());
  int64_t live = 0, most = 0;
  for (const auto& [time, bytes] : changes) most = std::max(most, live += bytes);
  return most;
}

int64_t SumOfBytes(std::span<const BufferLifetime> buffers) {
  int64_t sum = 0;
  for (const BufferLifetime& b : buffers) {
    if (b.size <= 0) continue;
    if (b.size > kMaxPlannedBytes || __builtin_add_overflow(sum, RoundUp(b.size), &sum))
      return INT64_MAX;
  }
  return sum;
}

}  // namespace tenon
