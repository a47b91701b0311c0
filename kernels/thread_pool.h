// The CPU threads: one set for the process, shared by all that runs in it.
#ifndef TENON_KERNELS_THREAD_POOL_H_
#define TENON_KERNELS_THREAD_POOL_H_

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
#include "kernels/pool_governor.h"
#include "kernels/stall_watch.h"
#include "kernels/worker_thread.h"

namespace tenon::kernels {

// Threads that help the threads that call Run. A call ("region") is cut into chunks that are
// claimed one by one, by the caller too. It returns when all chunks are finished, and so never
// waits for a worker that claimed none: one that sleeps or has lost its core holds up nobody. Idle
// workers spin for a moment and then sleep.
//
// A worker that lost its core with a chunk in hand holds up its region. A caller that is left with
// nothing but to wait for such a one lends it its own core for the rest of the chunk.
//
// Several callers may be in regions at once. Together they use no more threads than there are: a
// caller counts as one (see Caller), and is helped by what the others leave. A call from inside a
// region runs on its thread alone. Workers compute in the caller's floating-point mode (rounding,
// flushing of subnormals), so that results do not depend on the thread.
//
// Workers may not run on the core of the caller: the scheduler may wake one behind it, where it
// waits for longer than most regions last while another core is idle.
class Workers {
 public:
  struct Options {
    int threads = 0;  // the caller's included; 0: one per core that this process may use
    // How long an idle worker looks out for work before it sleeps. To wake a sleeping thread takes
    // tens of microseconds, and hundreds where the host of a virtual machine wakes its processor.
    // At most 20 us where there are more threads than cores.
    std::chrono::nanoseconds spin = std::chrono::microseconds(200);
    // How long a caller does so whose last chunks others are finishing.
    std::chrono::nanoseconds caller_spin = std::chrono::milliseconds(1);
    // Callers work alone for a while when help does not pay, keep workers off their core, and lend
    // it to one that holds them up.
    bool adaptive = true;
  };

  explicit Workers(const Options& options);
  ~Workers();  // REQUIRES: nobody is in a region
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // The process's: made by the first call, gone with the last owner. One thread per core;
  // TENON_SPIN_US in the environment says how long they spin.
  static std::shared_ptr<Workers> OfProcess();

  // Threads, the caller's included.
  int num_threads() const { return num_workers_.load(std::memory_order_relaxed) + 1; }
  // Adds workers until there are so many threads: more than cores only if somebody asks for it.
  void Ensure(int threads);

  // For as long as a thread may call Run.
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

  // ParallelFor::Run with at most `threads` threads, and its cancel flag. Allocates nothing.
  void Run(int threads, int64_t n, int64_t grain, void (*f)(void* arg, int64_t begin, int64_t end),
           void* arg, const std::atomic<bool>* cancelled);

 private:
  struct Region;
  struct Worker;
  // More callers than this at once get no help.
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
  const pid_t process_;  // that has the workers
  const int cores_;
  const std::unique_ptr<std::array<Region, kMaxRegions>> regions_;
  PoolGovernor governor_;
  std::atomic<int> callers_{0};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<uint32_t> news_{0};  // changes with each region
  std::atomic<int> kept_off_{-1};              // the core that workers may not run on
  std::atomic<int64_t> moved_{0};              // when it was changed
  std::mutex mutex_;                           // of threads_
  std::list<Worker> threads_;
  std::atomic<int> num_workers_{0};
};

// What kernels get: up to so many threads of a set. Call it from one thread at a time, or from
// inside of its regions.
class ThreadPool : public ParallelFor {
 public:
  // 0 threads: all that there are. No workers: the process's.
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

#endif  // TENON_KERNELS_THREAD_POOL_H_
