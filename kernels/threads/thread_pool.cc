#include "kernels/threads/thread_pool.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/threads/parallel_slots.h"
#include "kernels/threads/spin.h"
#include "kernels/threads/thread_pool_region.h"

namespace tenon::kernels {
namespace {

// Chunks per thread: enough to even out unequal speeds, few enough to stay cheap.
constexpr int64_t kChunksPerThread = 4;

// Workers are moved at most so often (nanoseconds): a system call for each of them.
constexpr int64_t kMoveInterval = 200'000;

// Of more threads than cores those that look out for work take time from those that have some.
constexpr std::chrono::nanoseconds kCrowdedSpin = std::chrono::microseconds(20);

struct ThisThread {
  bool in_region = false;  // executes a chunk
  int slot = 0;            // see CurrentSlot
};

ThisThread& Self() {
  thread_local ThisThread self;
  return self;
}

// Rounding, flushing and masks of floating-point operations, without the flags that they raise.
uint32_t FloatMode() {
#if defined(__x86_64__)
  return _mm_getcsr() & ~static_cast<uint32_t>(_MM_EXCEPT_MASK);
#else
  return 0;
#endif
}

void SetFloatMode([[maybe_unused]] uint32_t mode) {
#if defined(__x86_64__)
  if (FloatMode() != mode) _mm_setcsr(mode);
#endif
}

std::chrono::nanoseconds SpinFromEnvironment(std::chrono::nanoseconds otherwise) {
  const char* text = std::getenv("TENON_SPIN_US");
  if (text == nullptr) return otherwise;
  int64_t value = 0;
  const char* end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, value);
  if (error != std::errc() || at != end || value < 0) return otherwise;
  return std::chrono::microseconds(std::min<int64_t>(value, 1'000'000));
}

}  // namespace

Workers::Workers(const Options& options)
    : options_(options),
      process_(getpid()),
      cores_(static_cast<int>(std::thread::hardware_concurrency())),
      regions_(std::make_unique<std::array<Region, kMaxRegions>>()) {
  Ensure(options.threads > 0 ? options.threads
                             : static_cast<int>(std::thread::hardware_concurrency()));
}

Workers::~Workers() {
  stop_.store(true, std::memory_order_relaxed);
  news_.fetch_add(1, std::memory_order_release);
  news_.notify_all();
  for (Worker& worker : threads_) worker.thread.Join();
}

void Workers::Ensure(int threads) {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (static_cast<int>(threads_.size()) + 1 < threads) {
    // Joins the others once it has its thread: the system may refuse to make one.
    std::list<Worker> made(1);
    Worker& worker = made.front();
    worker.thread = WorkerThread(std::thread([this, &worker] { Work(worker); }));
    threads_.splice(threads_.end(), made);
    kept_off_.store(-1, std::memory_order_relaxed);
  }
  num_workers_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
}

std::shared_ptr<Workers> Workers::OfProcess() {
  // Cores belong to the process, and so do the threads that share them out.
  static std::mutex mutex;
  static std::weak_ptr<Workers> current;
  const std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Workers> workers = current.lock();
  if (workers == nullptr) {
    Options options;
    options.spin = SpinFromEnvironment(options.spin);
    workers = std::make_shared<Workers>(options);
    current = workers;
  }
  return workers;
}

int Workers::HelpersFor(int threads) const {
  const int others = std::max(callers_.load(std::memory_order_relaxed) - 1, 0);
  return std::min({threads - 1, num_workers_.load(std::memory_order_relaxed) - others,
                   static_cast<int>(Progress::kMaxTickets)});
}

Workers::Region* Workers::Reserve() {
  for (Region& region : *regions_) {
    if (!region.reserved.load(std::memory_order_relaxed) &&
        !region.reserved.exchange(true, std::memory_order_acquire)) {
      return &region;
    }
  }
  return nullptr;
}

// With several callers workers go wherever the scheduler finds room.
void Workers::KeepOff(int core, int64_t now) {
  if (callers_.load(std::memory_order_relaxed) > 1) core = -1;
  if (core == kept_off_.load(std::memory_order_relaxed)) return;
  if (now - moved_.load(std::memory_order_relaxed) < kMoveInterval) return;
  // A child made by fork() has no workers; their handles may stand for the calling thread there.
  if (getpid() != process_) return;
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  // Of the calling thread, and of the process's first one.
  cpu_set_t callers, first;
  if (sched_getaffinity(0, sizeof(callers), &callers) != 0) CPU_ZERO(&callers);
  if (sched_getaffinity(process_, sizeof(first), &first) != 0) CPU_ZERO(&first);
  CPU_OR(&callers, &callers, &first);
  for (Worker& worker : threads_) worker.thread.KeepOff(core, callers);
  kept_off_.store(core, std::memory_order_relaxed);
  moved_.store(Now(), std::memory_order_relaxed);
}

// Wakes sleepers, if there are any; without a system call otherwise.
void Workers::Announce(int64_t wanted) {
  news_.fetch_add(1, std::memory_order_seq_cst);
  if (wanted >= num_workers_.load(std::memory_order_relaxed)) {
    news_.notify_all();
    return;
  }
  for (int64_t i = 0; i < wanted; ++i) news_.notify_one();
}

void Workers::RunAlone(int64_t n, int64_t count, int64_t grain, void (*f)(void*, int64_t, int64_t),
                       void* arg, const std::atomic<bool>* cancelled) {
  const int outer = std::exchange(Self().slot, 0);
  const Chunks chunks(n, cancelled == nullptr ? 1 : count, grain);
  for (int64_t i = 0; i < chunks.count; ++i) {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) break;
    f(arg, chunks.begin(i), chunks.begin(i + 1));
  }
  Self().slot = outer;
}

void Workers::Run(int threads, int64_t n, int64_t grain, void (*f)(void*, int64_t, int64_t),
                  void* arg, const std::atomic<bool>* cancelled) {
  if (n <= 0) return;
  const int helpers = Self().in_region ? 0 : HelpersFor(threads);
  const int64_t most = (n - 1) / std::max<int64_t>(grain, 1) + 1;
  const int64_t count = std::min({(std::max(helpers, 0) + 1) * kChunksPerThread, most,
                                  static_cast<int64_t>(Progress::kMaxChunks)});
  const int64_t start = helpers > 0 && count > 1 ? Now() : 0;
  Region* region =
      start != 0 && (!options_.adaptive || governor_.MayHelp(start)) ? Reserve() : nullptr;
  if (region == nullptr) return RunAlone(n, count, grain, f, arg, cancelled);
  region->f = f;
  region->arg = arg;
  region->chunks = Chunks(n, count, grain);
  region->helpers = static_cast<uint32_t>(helpers);
  region->float_mode = FloatMode();
  region->cancelled = cancelled;
  const int core = sched_getcpu();
  region->core.store(core, std::memory_order_relaxed);
  if (options_.adaptive) KeepOff(core, start);
  region->finished.store(0, std::memory_order_relaxed);
  const uint32_t serial =
      (Progress::Unpack(region->progress.load(std::memory_order_relaxed)).serial + 1) & 0xffff;
  const Progress opened = {.serial = serial,
                           .tickets = static_cast<uint32_t>(helpers),
                           .chunks = static_cast<uint32_t>(count),
                           .next = 0};
  region->progress.store(opened.Pack(), std::memory_order_release);
  Announce(std::min<int64_t>(helpers, count - 1));

  const int64_t own_start = Now();
  uint32_t own = 0;      // chunks
  int64_t own_work = 0;  // elements
  Self().in_region = true;
  while (const std::optional<Progress> claim = region->Claim(serial)) {
    region->Execute(claim->next);
    own_work += region->chunks.begin(claim->next + 1) - region->chunks.begin(claim->next);
    ++own;
  }
  Self().in_region = false;
  const int64_t own_end = Now();
  const uint32_t foreign = static_cast<uint32_t>(count) - own;
  Await(*region, foreign);
  region->reserved.store(false, std::memory_order_release);
  if (own == 0) return;
  if (foreign == 0) return governor_.ReportUnhelped(own_end, own_end - start);
  const int64_t end = Now();
  governor_.Report(end, end - start, own_end - own_start,
                   static_cast<double>(own_work) / static_cast<double>(n));
}

// Works on open regions until there is none.
Workers::Help Workers::HelpAny(Worker& worker) {
  Help help = Help::kNone;
  for (Region& region : *regions_) {
    if (!region.open()) continue;
    // On the caller's own core a worker would take from it what it adds.
    const int core = region.core.load(std::memory_order_relaxed);
    if (options_.adaptive && core >= 0 && core == sched_getcpu()) {
      if (help == Help::kNone) help = Help::kWrongCore;
      continue;
    }
    std::optional<uint32_t> joined;
    while (const std::optional<Progress> claim = region.Claim(joined)) {
      if (!joined.has_value()) {
        joined = claim->serial;
        worker.region.store(&region, std::memory_order_relaxed);
        Self().slot = static_cast<int>(region.helpers - claim->tickets + 1);
        SetFloatMode(region.float_mode);
      }
      region.Execute(claim->next);
      region.finished.fetch_add(1, std::memory_order_seq_cst);
      region.finished.notify_one();
      help = Help::kGiven;
    }
    worker.region.store(nullptr, std::memory_order_relaxed);
    if (worker.lent.load(std::memory_order_relaxed)) return help;
  }
  return help;
}

void Workers::Work(Worker& worker) {
  Self().in_region = true;
  for (;;) {
    const uint32_t seen = news_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return;
    const Help help = HelpAny(worker);
    const bool lent = worker.lent.exchange(false, std::memory_order_relaxed);
    if (help == Help::kGiven && !lent) continue;
    const bool crowded = num_workers_.load(std::memory_order_relaxed) >= cores_;
    // Neither here: a caller waits for this core.
    const bool leaves = help == Help::kWrongCore || lent;
    const auto spin = leaves    ? std::chrono::nanoseconds(0)
                      : crowded ? std::min(options_.spin, kCrowdedSpin)
                                : options_.spin;
    if (!Spin(spin, [&] { return news_.load(std::memory_order_acquire) != seen; })) {
      news_.wait(seen, std::memory_order_acquire);
    }
  }
}

int CurrentSlot() { return Self().slot; }

ThreadPool::ThreadPool(int num_threads, std::shared_ptr<Workers> workers)
    : workers_(workers != nullptr ? std::move(workers) : Workers::OfProcess()),
      num_threads_(num_threads > 0 ? num_threads : workers_->num_threads()) {
  workers_->Ensure(num_threads_);
}

}  // namespace tenon::kernels
