// CPU threads, shared by all programs of the process.
#ifndef TENON_KERNELS_THREADS_THREAD_POOL_H_
#define TENON_KERNELS_THREADS_THREAD_POOL_H_

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "kernels/kernel.h"
#include "kernels/threads/pool_governor.h"
#include "kernels/threads/stall_watch.h"
#include "kernels/threads/worker_thread.h"

namespace tenon::kernels {

// Threads that help the threads that call Run. A call, called a region, is cut into chunks. Caller
// and workers claim them one by one. The call returns when all chunks are finished. It never waits
// for a worker that has claimed none, such as one that sleeps or has lost its core. Idle workers
// spin for a moment and then sleep.
//
// A worker that loses its core while it has a chunk holds up its region. A caller that can only
// wait for such a worker lends it its own core for the rest of the chunk.
//
// Thread-safe: several callers may be in regions at once. Together they use no more threads than
// there are; a caller counts as one (see Caller). A call from inside a region runs on its own
// thread. Workers compute in the floating-point mode of the caller (rounding, flushing of
// subnormals), so that results do not depend on the thread.
//
// Workers are kept off the core of the caller. The scheduler might wake one there, where it would
// wait for longer than most regions last.
class Workers {
 public:
  struct Options {
    int threads = 0;  // with the caller; 0: one per core that this process may use
    // How long an idle worker spins before it sleeps. Waking a thread takes tens of microseconds,
    // and hundreds in a virtual machine. At most 20 us if there are more threads than cores.
    std::chrono::nanoseconds spin = std::chrono::microseconds(200);
    // How long a caller spins while others finish its last chunks.
    std::chrono::nanoseconds caller_spin = std::chrono::milliseconds(1);
    // Makes callers work alone for a while if help does not pay, keep workers off their core, and
    // lend it to a worker that holds them up.
    bool adaptive = true;
  };

  explicit Workers(const Options& options);
  ~Workers();  // requires that no thread is in a region
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Returns the workers of the process: one thread per core, created by the first call, gone with
  // the last owner. TENON_SPIN_US in the environment sets the spin time in microseconds.
  static std::shared_ptr<Workers> OfProcess();

  // The number of threads, with the caller.
  int num_threads() const { return num_workers_.load(std::memory_order_relaxed) + 1; }
  // Adds workers until there are `threads` threads, also more than cores.
  void Ensure(int threads);

  // Counts a thread as a caller; keep one as long as the thread may call Run.
  class Caller {
   public:
    explicit Caller(Workers& workers) : workers_(workers) {
      workers_.callers_.fetch_add(1, std::memory_order_relaxed);
    }
    ~Caller() { workers_.callers_.fetch_sub(1, std::memory_order_relaxed); }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

   private:
    Workers& workers_;
  };

  // Implements ParallelFor::Run with at most `threads` threads and a cancel flag, which may be
  // null. Allocates no memory.
  void Run(int threads, int64_t n, int64_t grain, void (*f)(void* arg, int64_t begin, int64_t end),
           void* arg, const std::atomic<bool>* cancelled);

 private:
  struct Region;
  struct Worker;
  // Further callers at the same time get no help.
  static constexpr int kMaxRegions = 16;

  void Work(Worker& worker);
  enum class Help : uint8_t { kNone, kGiven, kWrongCore };
  Help HelpAny(Worker& worker);
  int HelpersFor(int threads) const;
  Region* Reserve();
  static void RunAlone(int64_t n, int64_t count, int64_t grain,
                       void (*f)(void* arg, int64_t begin, int64_t end), void* arg,
                       const std::atomic<bool>* cancelled);
  void KeepOff(int core, int64_t now);
  void Await(Region& region, uint32_t foreign);
  Worker* LendCore(const Region& region, StallWatch& watch);
  void TakeCoreBack(Worker& worker);
  void Announce(int64_t wanted);

  const Options options_;
  const pid_t process_;  // the process that has the workers
  const int cores_;
  const std::unique_ptr<std::array<Region, kMaxRegions>> regions_;
  PoolGovernor governor_;
  std::atomic<int> callers_{0};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<uint32_t> news_{0};  // changes with each region
  std::atomic<int> kept_off_{-1};              // the core that workers are kept off; -1: none
  std::atomic<int64_t> moved_{0};              // time of the last change of kept_off_
  std::mutex mutex_;                           // guards threads_
  std::list<Worker> threads_;
  std::atomic<int> num_workers_{0};
};

// The ParallelFor of kernels: up to `num_threads` threads of `workers`. Call it from one thread at
// a time, or from inside of its regions.
class ThreadPool : public ParallelFor {
 public:
  // num_threads 0: all threads of the workers. Null workers: those of the process.
  explicit ThreadPool(int num_threads = 0, std::shared_ptr<Workers> workers = nullptr);

  Workers& workers() { return *workers_; }
  int num_threads() const override { return num_threads_; }
  void Run(int64_t n, int64_t grain, void (*f)(void* arg, int64_t begin, int64_t end),
           void* arg) override {
    workers_->Run(num_threads_, n, grain, f, arg, cancel_flag());
  }

 private:
  std::shared_ptr<Workers> workers_;
  int num_threads_;
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_THREADS_THREAD_POOL_H_
