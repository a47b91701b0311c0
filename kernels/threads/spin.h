// Waiting for an event by spinning, for a bounded time.
#ifndef TENON_KERNELS_THREADS_SPIN_H_
#define TENON_KERNELS_THREADS_SPIN_H_

#include <chrono>
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tenon::kernels {

// The steady clock, in nanoseconds.
inline int64_t Now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// Tells the processor that the thread spins.
inline void Relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until `done()` is true or the time is over. Returns whether it is done.
template <typename Done>
bool Spin(std::chrono::nanoseconds time, Done done) {
  if (done()) return true;
  if (time.count() <= 0) return false;
  const int64_t end = Now() + time.count();
  do {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      Relax();
    }
  } while (Now() < end);
  return false;
}

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_THREADS_SPIN_H_
