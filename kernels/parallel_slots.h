// Ranges shared out among threads that each have memory of their own.
#ifndef TENON_KERNELS_PARALLEL_SLOTS_H_
#define TENON_KERNELS_PARALLEL_SLOTS_H_

#include <cstdint>

#include "kernels/kernel.h"

namespace tenon::kernels {

// Of the call of ParallelFor whose range this thread executes: 0 is the caller; every thread that
// helps it has another number, below num_threads(). 0 outside of such calls.
int CurrentSlot();

// f(slot, begin, end) for ranges that cover [0, n): no two at the same time with one slot in
// [0, slots). REQUIRES: slots is 1, which makes this one call, or at least parallel.num_threads().
template <typename F>
void ForRangesInSlots(ParallelFor& parallel, int64_t slots, int64_t n, int64_t grain, F&& f) {
  if (n <= 0) return;
  if (n <= grain || slots == 1 || slots < parallel.num_threads()) {
    return f(int64_t{0}, int64_t{0}, n);
  }
  parallel(n, grain, [&](int64_t begin, int64_t end) { f(int64_t{CurrentSlot()}, begin, end); });
}

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_PARALLEL_SLOTS_H_
