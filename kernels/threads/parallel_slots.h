// Parallel ranges with memory of their own per thread.
#ifndef TENON_KERNELS_THREADS_PARALLEL_SLOTS_H_
#define TENON_KERNELS_THREADS_PARALLEL_SLOTS_H_

#include <cstdint>

#include "kernels/kernel.h"

namespace tenon::kernels {

// Returns the number of this thread in the ParallelFor call whose range it executes: 0 for the
// caller, and different numbers below num_threads() for its helpers. Returns 0 outside of such
// calls.
int CurrentSlot();

// Calls f(slot, begin, end) for ranges that cover [0, n). No two calls run at the same time with
// one slot in [0, slots). Requires slots == 1, which makes one call, or at least
// parallel.num_threads().
template <typename F>
void ForRangesInSlots(ParallelFor& parallel, int64_t slots, int64_t n, int64_t grain, F&& f) {
  if (n <= 0) return;
  if (n <= grain || slots == 1 || slots < parallel.num_threads()) {
    return f(int64_t{0}, int64_t{0}, n);
  }
  parallel(n, grain, [&](int64_t begin, int64_t end) { f(int64_t{CurrentSlot()}, begin, end); });
}

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_THREADS_PARALLEL_SLOTS_H_
