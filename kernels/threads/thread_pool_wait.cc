// How a caller waits for the chunks of others, and lends its core to a worker without one.
#include <sched.h>
#include <unistd.h>

#include "kernels/threads/spin.h"
#include "kernels/threads/thread_pool.h"
#include "kernels/threads/thread_pool_region.h"

namespace tenon::kernels {
namespace {

// A caller that waits looks so often whether those that it waits for run.
constexpr std::chrono::nanoseconds kLookInterval = std::chrono::microseconds(8);

}  // namespace

// The worker that was lent this thread's core because it holds up the region, if there is one.
Workers::Worker* Workers::LendCore(const Region& region, StallWatch& watch) {
  if (getpid() != process_) return nullptr;
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;
  for (Worker& worker : threads_) {
    if (worker.region.load(std::memory_order_relaxed) != &region) continue;
    const std::optional<int64_t> used = worker.thread.Used();
    const std::optional<int64_t> mine = ProcessorTime(CLOCK_THREAD_CPUTIME_ID);
    if (!used.has_value() || !mine.has_value()) return nullptr;
    if (!watch.Stalled(&worker, *mine, *used)) return nullptr;
    worker.lent.store(true, std::memory_order_relaxed);
    if (worker.thread.Lend(sched_getcpu())) return &worker;
    worker.lent.store(false, std::memory_order_relaxed);
  }
  return nullptr;
}

void Workers::TakeCoreBack(Worker& worker) {
  const std::lock_guard<std::mutex> lock(mutex_);
  worker.lent.store(false, std::memory_order_relaxed);
  worker.thread.TakeBack();
}

// Until workers have finished so many chunks.
void Workers::Await(Region& region, uint32_t foreign) {
  const auto finished = [&] { return region.finished.load(std::memory_order_acquire); };
  const auto done = [&] { return finished() == foreign; };
  const auto look = options_.adaptive ? kLookInterval : options_.caller_spin;
  const int64_t until = done() ? 0 : Now() + options_.caller_spin.count();
  StallWatch watch;
  while (!Spin(look, done)) {
    const uint32_t now = finished();
    Worker* const lent = options_.adaptive ? LendCore(region, watch) : nullptr;
    if (lent == nullptr && Now() < until) continue;
    // With its core lent, spinning would take from the one that it waits for.
    if (now != foreign) region.finished.wait(now, std::memory_order_acquire);
    if (lent != nullptr) TakeCoreBack(*lent);
  }
}

}  // namespace tenon::kernels
