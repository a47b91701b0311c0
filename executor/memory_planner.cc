#include "executor/memory_planner.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "fmt/format.h"

namespace tenon {
namespace {

int64_t RoundUp(int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

bool Meet(const BufferLifetime& a, const BufferLifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

// Offset of the smallest gap of at least `size` bytes among `taken`, which is sorted by begin;
// after all of them if there is none.
int64_t BestFit(std::span<const std::pair<int64_t, int64_t>> taken, int64_t size) {
  int64_t end = 0, best = -1, best_gap = 0;
  for (const auto& [begin, stop] : taken) {
    const int64_t gap = begin - end;
    if (gap >= size && (best < 0 || gap < best_gap)) best = end, best_gap = gap;
    end = std::max(end, stop);
  }
  return best >= 0 ? best : end;
}

}  // namespace

MemoryPlan PlanMemory(std::span<const BufferLifetime> buffers) {
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].size > buffers[b].size; });
  std::vector<size_t> placed;
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (size_t index : order) {
    const BufferLifetime& buffer = buffers[index];
    if (buffer.size <= 0) continue;
    taken.clear();
    for (size_t other : placed) {
      if (!Meet(buffer, buffers[other])) continue;
      taken.emplace_back(plan.offsets[other], plan.offsets[other] + RoundUp(buffers[other].size));
    }
    std::sort(taken.begin(), taken.end());
    const int64_t offset = BestFit(taken, RoundUp(buffer.size));
    plan.offsets[index] = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + RoundUp(buffer.size));
    placed.push_back(index);
  }
  return plan;
}

std::string CheckMemoryPlan(std::span<const BufferLifetime> buffers, const MemoryPlan& plan) {
  if (plan.offsets.size() != buffers.size()) {
    return fmt::format("{} offsets for {} buffers", plan.offsets.size(), buffers.size());
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
  std::map<int, int64_t> change;
  for (const BufferLifetime& b : buffers) {
    change[b.first] += b.size;
    change[b.last + 1] -= b.size;
  }
  int64_t live = 0, most = 0;
  for (const auto& [time, delta] : change) most = std::max(most, live += delta);
  return most;
}

}  // namespace tenon
