// Data shared by callers and workers of a set of threads. Internal to the pool.
#ifndef TENON_KERNELS_THREADS_THREAD_POOL_REGION_H_
#define TENON_KERNELS_THREADS_THREAD_POOL_REGION_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "kernels/threads/thread_pool.h"
#include "kernels/threads/worker_thread.h"

namespace tenon::kernels {

// The progress of a region in one word, so that a claim is one compare-and-swap. If it succeeds,
// the claimed chunk belongs to the region that the word describes, however old the claimant's other
// data is.
struct Progress {
  static constexpr uint32_t kMaxTickets = (1u << 8) - 1;
  static constexpr uint32_t kMaxChunks = (1u << 20) - 1;

  uint32_t serial;   // tells regions of one slot apart; 16 bits
  uint32_t tickets;  // workers that may still join; 8 bits
  uint32_t chunks;   // 20 bits
  uint32_t next;     // the first chunk that is not claimed; 20 bits

  uint64_t Pack() const {
    return uint64_t{serial & 0xffff} << 48 | uint64_t{tickets} << 40 | uint64_t{chunks} << 20 |
           next;
  }
  static Progress Unpack(uint64_t word) {
    return {.serial = static_cast<uint32_t>(word >> 48),
            .tickets = static_cast<uint32_t>(word >> 40) & kMaxTickets,
            .chunks = static_cast<uint32_t>(word >> 20) & kMaxChunks,
            .next = static_cast<uint32_t>(word) & kMaxChunks};
  }
};

// Divides a range into chunks that become smaller, down to `grain` if possible: late chunks balance
// the time of earlier ones. Each has at least one element.
struct Chunks {
  int64_t n = 0, count = 1, least = 0;

  Chunks() = default;
  // Requires 0 < count <= n.
  Chunks(int64_t size, int64_t number, int64_t grain)
      : n(size), count(number), least(std::clamp<int64_t>(grain, 1, size / number)) {}
  // Each chunk gets `least` elements; the rest is divided in shares of count, count - 1, …, 1.
  int64_t begin(int64_t i) const {
    const int64_t rest = n - count * least, shares = i * (2 * count - i + 1);
    const int64_t all = count * (count + 1);
    return i * least + rest / all * shares + (rest % all * shares + all - 1) / all;
  }
};

// A slot for one caller at a time. Slots live as long as the workers, which may look at one whose
// region is over. They read members that are not atomic only with a claim, which keeps the region
// open.
struct Workers::Region {
  alignas(64) std::atomic<uint64_t> progress{0};
  std::atomic<bool> reserved{false};
  std::atomic<int> core{-1};  // of the caller, when the region began
  // Written before `progress` opens the region.
  void (*f)(void*, int64_t, int64_t) = nullptr;
  void* arg = nullptr;
  Chunks chunks;
  uint32_t helpers = 0;  // number of workers that may join
  uint32_t float_mode = 0;
  const std::atomic<bool>* cancelled = nullptr;
  alignas(64) std::atomic<uint32_t> finished{0};  // chunks finished by workers

  // Claims a chunk. `serial` is that of the region that the claimant has joined; that region may be
  // over and another one in its place. Without it, the claimant joins now.
  std::optional<Progress> Claim(std::optional<uint32_t> serial) {
    uint64_t word = progress.load(std::memory_order_acquire);
    for (;;) {
      const Progress p = Progress::Unpack(word);
      const bool joins = !serial.has_value();
      if (p.next >= p.chunks || (joins ? p.tickets == 0 : *serial != p.serial)) return std::nullopt;
      Progress after = p;
      ++after.next;
      if (joins) --after.tickets;
      if (progress.compare_exchange_weak(word, after.Pack(), std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
        return p;
      }
    }
  }

  bool open() const {
    const Progress p = Progress::Unpack(progress.load(std::memory_order_relaxed));
    return p.next < p.chunks;
  }

  void Execute(uint32_t chunk) const {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) return;
    f(arg, chunks.begin(chunk), chunks.begin(chunk + 1));
  }
};

struct Workers::Worker {
  alignas(64) std::atomic<const Region*> region{nullptr};  // the region that it has joined
  // True while it runs on the core of a waiting caller; it leaves that core when its chunk is done.
  std::atomic<bool> lent{false};
  WorkerThread thread;
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_THREADS_THREAD_POOL_REGION_H_
