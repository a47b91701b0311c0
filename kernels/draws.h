// What random numbers of a run depend on: its seed, and the draws that it has made.
#ifndef TENON_KERNELS_DRAWS_H_
#define TENON_KERNELS_DRAWS_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace tenon::kernels {

// Counts the draws of one run. Not thread-safe.
class Draws {
 public:
  // Starts a run: its draws are those of `seed` again. Keeps memory.
  void BeginRun(uint64_t seed) {
    seed_ = seed;
    for (auto& [stream, count] : counts_) count = 0;
  }
  // The seed of the run.
  uint64_t seed() const { return seed_; }
  // Returns how often the run has drawn from `stream` before. Allocates memory for a new stream.
  uint32_t Next(int64_t stream) {
    auto it = std::lower_bound(counts_.begin(), counts_.end(), stream,
                               [](const auto& entry, int64_t of) { return entry.first < of; });
    if (it == counts_.end() || it->first != stream) it = counts_.insert(it, {stream, 0});
    return it->second++;
  }

 private:
  uint64_t seed_ = 0;
  std::vector<std::pair<int64_t, uint32_t>> counts_;  // by stream, sorted
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_DRAWS_H_
