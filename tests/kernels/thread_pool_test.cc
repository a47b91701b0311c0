#include "kernels/threads/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/threads/parallel_slots.h"

namespace tenon::kernels {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::shared_ptr<Workers> Make(int threads, microseconds spin = microseconds(30)) {
  return std::make_shared<Workers>(
      Workers::Options{.threads = threads, .spin = spin, .adaptive = false});
}

void ExpectEachOnce(ThreadPool& pool, int64_t n, int64_t grain) {
  std::vector<std::atomic<int>> hits(static_cast<size_t>(n));
  pool(n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
  });
  for (const auto& h : hits) ASSERT_EQ(h, 1);
}

TEST(ThreadPool, CoversTheRangeOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads, Make(threads));
    EXPECT_EQ(pool.num_threads(), threads);
    for (int64_t n : {0, 1, 7, 1000}) {
      for (int64_t grain : {0, 1, 10, 5000}) ExpectEachOnce(pool, n, grain);
    }
  }
}

TEST(ThreadPool, LateChunksAreSmaller) {
  ThreadPool pool(2, Make(2));
  for (const auto& [n, grain] :
       {std::pair<int64_t, int64_t>{1000, 1}, {1000, 100}, {int64_t{1} << 40, 1}, {11, 1}}) {
    std::mutex mutex;
    std::map<int64_t, int64_t> sizes;  // by begin
    pool(n, grain, [&](int64_t begin, int64_t end) {
      const std::lock_guard<std::mutex> lock(mutex);
      sizes[begin] = end - begin;
    });
    ASSERT_GT(sizes.size(), 4) << n;
    int64_t next = 0, last = n;
    for (const auto& [begin, size] : sizes) {
      EXPECT_EQ(begin, next) << n;
      EXPECT_LE(size, last + 1) << n;  // rounded
      EXPECT_GE(size, std::min(grain, n / static_cast<int64_t>(sizes.size()))) << n;
      last = size;
      next = begin + size;
    }
    EXPECT_EQ(next, n);
    EXPECT_TRUE(grain > 1 || last * 4 <= std::max<int64_t>(sizes[0], 4)) << n;
  }
}

TEST(ThreadPool, SlotsAreNotShared) {
  ThreadPool pool(3, Make(3)), other(3, Make(3));
  std::array<std::atomic<int>, 3> inside = {};
  for (int i = 0; i < 60; ++i) {
    ForRangesInSlots(pool, 3, 30, 1, [&](int64_t slot, int64_t, int64_t) {
      ASSERT_LT(slot, 3);
      EXPECT_EQ(++inside[static_cast<size_t>(slot)], 1);
      // Calls from inside are the only ones with their memory.
      ForRangesInSlots(other, 3, 4, 1, [&](int64_t s, int64_t, int64_t) { EXPECT_EQ(s, 0); });
      EXPECT_EQ(CurrentSlot(), slot);
      std::this_thread::yield();
      --inside[static_cast<size_t>(slot)];
    });
    EXPECT_EQ(CurrentSlot(), 0);
  }
  int calls = 0;  // without a lock: one slot
  ForRangesInSlots(pool, 1, 30, 1, [&](int64_t slot, int64_t begin, int64_t end) {
    EXPECT_EQ(slot, 0);
    EXPECT_EQ(end - begin, 30);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}

// A worker that comes late to the end of a region finds the next one, of another size, in its
// place.
TEST(ThreadPool, SlotsAreThoseOfTheRegion) {
  const std::shared_ptr<Workers> workers = Make(4);
  ThreadPool four(4, workers), two(2, workers);
  std::array<std::atomic<int>, 4> inside = {};
  for (int i = 0; i < 20000; ++i) {
    ThreadPool& pool = i % 3 == 2 ? two : four;
    ForRangesInSlots(pool, pool.num_threads(), 5, 1, [&](int64_t slot, int64_t, int64_t) {
      ASSERT_LT(slot, pool.num_threads());
      EXPECT_EQ(++inside[static_cast<size_t>(slot)], 1);
      --inside[static_cast<size_t>(slot)];
    });
  }
}

TEST(ThreadPool, RepeatedRegionsWithAndWithoutSpinning) {
  for (int spin : {0, 1, 30}) {
    ThreadPool pool(3, Make(3, microseconds(spin)));
    for (int i = 0; i < 2000; ++i) ExpectEachOnce(pool, 1 + i % 40, 1);
  }
}

TEST(ThreadPool, NestedCallsRunSerially) {
  ThreadPool pool(3, Make(3));
  std::atomic<int64_t> sum = 0;
  pool(6, 1, [&](int64_t begin, int64_t end) {
    const std::thread::id self = std::this_thread::get_id();
    for (int64_t i = begin; i < end; ++i) {
      pool(10, 1, [&](int64_t b, int64_t e) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        sum += e - b;
      });
    }
  });
  EXPECT_EQ(sum, 60);
}

TEST(ThreadPool, HelpersTakePart) {
  ThreadPool pool(2, Make(2));
  // The caller stays in its first chunk until somebody else has begun one: without help this would
  // not end.
  std::atomic<int> begun = 0;
  pool(8, 1, [&](int64_t, int64_t) {
    ++begun;
    while (begun < 2) std::this_thread::yield();
  });
  EXPECT_GE(begun, 2);
}

TEST(ThreadPool, NeverMoreThreadsThanAsked) {
  const std::shared_ptr<Workers> workers = Make(6);
  ThreadPool pool(3, workers);
  std::atomic<int> inside = 0, most = 0;
  for (int i = 0; i < 200; ++i) {
    pool(30, 1, [&](int64_t, int64_t) {
      const int now = ++inside;
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::yield();
      --inside;
    });
  }
  EXPECT_LE(most, 3);
}

// Two callers of a set of two threads leave each other alone.
TEST(ThreadPool, CallersCountAsThreads) {
  const std::shared_ptr<Workers> workers = Make(2);
  ThreadPool pool(2, workers);
  const Workers::Caller self(*workers), other(*workers);
  std::set<std::thread::id> ids;  // without a lock: nobody else is here
  for (int i = 0; i < 100; ++i) {
    pool(8, 1, [&](int64_t, int64_t) { ids.insert(std::this_thread::get_id()); });
  }
  EXPECT_EQ(ids, std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST(ThreadPool, ManyCallersAtOnce) {
  const std::shared_ptr<Workers> workers = Make(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum = 0;
  for (int c = 0; c < 20; ++c) {  // more than there are regions
    callers.emplace_back([&] {
      ThreadPool pool(3, workers);
      for (int i = 0; i < 300; ++i) {
        pool(9, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 20 * 300 * 9);
}

// A worker that has claimed nothing is not waited for: here the only one is busy elsewhere.
TEST(ThreadPool, DoesNotWaitForABusyWorker) {
  const std::shared_ptr<Workers> workers = Make(2);
  std::atomic<bool> release = false;
  std::atomic<int> held = 0;
  std::thread holder([&] {
    ThreadPool pool(2, workers);
    pool(2, 1, [&](int64_t, int64_t) {
      ++held;
      while (!release) std::this_thread::sleep_for(microseconds(50));
    });
  });
  while (held < 2) std::this_thread::yield();
  ThreadPool pool(2, workers);
  ExpectEachOnce(pool, 100, 1);
  release = true;
  holder.join();
}

TEST(ThreadPool, CancelSkipsTheRest) {
  for (int threads : {1, 2}) {
    ThreadPool pool(threads, Make(threads));
    std::atomic<bool> cancel = false;
    pool.set_cancel_flag(&cancel);
    std::atomic<int64_t> done = 0;
    pool(1000, 1, [&](int64_t begin, int64_t end) {
      cancel = true;
      done += end - begin;
    });
    EXPECT_LT(done, 1000) << threads;
    EXPECT_GT(done, 0) << threads;
    pool.set_cancel_flag(nullptr);
    ExpectEachOnce(pool, 100, 1);
  }
}

TEST(ThreadPool, ResultsDoNotDependOnTheThread) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "sets the modes of x86-64";
#else
  ThreadPool pool(2, Make(2));
  const auto subnormal = [] {
    volatile float tiny = 1e-38f;
    return tiny * 0.01f;
  };
  for (const bool flush : {true, false, true}) {
    _MM_SET_FLUSH_ZERO_MODE(flush ? _MM_FLUSH_ZERO_ON : _MM_FLUSH_ZERO_OFF);
    std::atomic<int> begun = 0;
    pool(8, 1, [&](int64_t, int64_t) {
      ++begun;
      while (begun < 2) std::this_thread::yield();
      EXPECT_EQ(subnormal() == 0, flush);
    });
  }
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_OFF);
#endif
}

std::vector<int> CoresOf(pthread_t thread) {
  cpu_set_t set;
  std::vector<int> cores;
  if (pthread_getaffinity_np(thread, sizeof(set), &set) != 0) return cores;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) cores.push_back(i);
  }
  return cores;
}

cpu_set_t SetOf(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) CPU_SET(core, &set);
  return set;
}

void Restrict(pthread_t thread, const std::vector<int>& cores) {
  const cpu_set_t set = SetOf(cores);
  ASSERT_EQ(pthread_setaffinity_np(thread, sizeof(set), &set), 0);
}

TEST(ThreadPool, WorkersLeaveTheCallersCore) {
  const std::vector<int> cores = CoresOf(pthread_self());
  if (cores.size() < 2) GTEST_SKIP() << "one core";
  std::thread([&] {
    ThreadPool pool(2, std::make_shared<Workers>(Workers::Options{.threads = 2}));
    for (int core : cores) {
      Restrict(pthread_self(), {core});
      const std::thread::id caller = std::this_thread::get_id();
      std::atomic<int> helped_on = -1;
      // Late, or in a pause because this did not pay: that ends.
      while (helped_on < 0) {
        pool(8, 1, [&](int64_t, int64_t) {
          if (std::this_thread::get_id() != caller) helped_on = sched_getcpu();
          std::this_thread::sleep_for(microseconds(200));
        });
      }
      EXPECT_NE(helped_on, core);
    }
  }).join();
}

TEST(WorkerThread, IsKeptOffOneCoreAtATime) {
  const std::vector<int> cores = CoresOf(pthread_self());
  if (cores.size() < 2) GTEST_SKIP() << "one core";
  std::atomic<bool> stop = false;
  WorkerThread worker(std::thread([&] {
    while (!stop) std::this_thread::sleep_for(microseconds(100));
  }));
  const std::vector<int> but_first(cores.begin() + 1, cores.end());
  const std::vector<int> but_last(cores.begin(), cores.end() - 1);
  const cpu_set_t others = SetOf(cores);
  worker.KeepOff(cores.front(), others);
  EXPECT_EQ(CoresOf(worker.handle()), but_first);
  worker.KeepOff(cores.back(), others);
  EXPECT_EQ(CoresOf(worker.handle()), but_last);
  worker.KeepOff(-1, others);
  EXPECT_EQ(CoresOf(worker.handle()), cores);
  // What others say counts, and one core is left to it.
  Restrict(worker.handle(), {cores.back()});
  worker.KeepOff(cores.front(), others);
  EXPECT_EQ(CoresOf(worker.handle()), std::vector<int>{cores.back()});
  worker.KeepOff(cores.back(), others);
  EXPECT_EQ(CoresOf(worker.handle()), std::vector<int>{cores.back()});
  worker.KeepOff(-1, others);
  worker.KeepOff(CPU_SETSIZE, others);
  EXPECT_EQ(CoresOf(worker.handle()), std::vector<int>{cores.back()});
  // Also where it is what the thread had, if all others were given it.
  Restrict(worker.handle(), cores);
  worker.KeepOff(cores.front(), others);
  worker.KeepOff(cores.back(), SetOf(but_first));
  for (int core : CoresOf(worker.handle())) EXPECT_NE(core, cores.front());
  stop = true;
  worker.Join();
}

TEST(WorkerThread, IsLentACore) {
  const std::vector<int> cores = CoresOf(pthread_self());
  if (cores.size() < 2) GTEST_SKIP() << "one core";
  const int first = cores.front(), last = cores.back();
  std::atomic<bool> stop = false;
  std::atomic<int> core = -1;
  WorkerThread worker(std::thread([&] {
    while (!stop) core = sched_getcpu();
  }));
  const auto comes_to = [&](int to) {
    while (core != to) std::this_thread::yield();
  };
  const cpu_set_t others = SetOf(cores);
  worker.KeepOff(first, others);
  const std::vector<int> before = CoresOf(worker.handle());
  comes_to(before.front());
  EXPECT_TRUE(worker.Lend(first));
  comes_to(first);
  EXPECT_EQ(CoresOf(worker.handle()), cores);
  worker.TakeBack();
  EXPECT_EQ(CoresOf(worker.handle()), before);
  // What was said in the meantime counts.
  EXPECT_TRUE(worker.Lend(first));
  worker.KeepOff(last, others);
  worker.TakeBack();
  EXPECT_EQ(CoresOf(worker.handle()), std::vector<int>(cores.begin(), cores.end() - 1));
  // Not a core that others have forbidden.
  Restrict(worker.handle(), {last});
  EXPECT_FALSE(worker.Lend(first));
  EXPECT_FALSE(worker.Lend(-1));
  EXPECT_EQ(CoresOf(worker.handle()), std::vector<int>{last});
  // The time that it uses grows.
  const std::optional<int64_t> used = worker.Used();
  ASSERT_TRUE(used.has_value());
  while (worker.Used() == used) std::this_thread::yield();
  EXPECT_GT(worker.Used(), used);
  stop = true;
  worker.Join();
}

// The only worker has a core to itself but for another thread that never leaves it. In the middle
// of a chunk it goes on only once it is on the caller's core, where nobody else lets it go.
TEST(ThreadPool, CallersLendTheirCoreToAStalledWorker) {
  const std::vector<int> cores = CoresOf(pthread_self());
  if (cores.size() < 2) GTEST_SKIP() << "one core";
  const int mine = cores[0], contended = cores[1];
  std::thread([&] {
    Restrict(pthread_self(), {mine, contended});  // of the worker too, and of the busy thread
    ThreadPool pool(2, std::make_shared<Workers>(Workers::Options{.threads = 2}));
    std::atomic<bool> stop = false;
    std::thread busy([&] {
      Restrict(pthread_self(), {contended});
      while (!stop) {
      }
    });
    Restrict(pthread_self(), {mine});
    const std::thread::id caller = std::this_thread::get_id();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(240);
    bool lent = false;
    while (!lent && std::chrono::steady_clock::now() < deadline) {
      pool(8, 1, [&](int64_t, int64_t) {
        const auto end = std::chrono::steady_clock::now() + milliseconds(20);
        if (std::this_thread::get_id() == caller) {
          std::this_thread::sleep_for(microseconds(200));
          return;
        }
        while (!lent && std::chrono::steady_clock::now() < end) lent = sched_getcpu() == mine;
      });
    }
    EXPECT_TRUE(lent);
    // It has left again.
    while (lent && std::chrono::steady_clock::now() < deadline) {
      pool(8, 1, [&](int64_t, int64_t) {
        if (std::this_thread::get_id() == caller) {
          std::this_thread::sleep_for(microseconds(200));
        } else {
          lent = sched_getcpu() == mine;
        }
      });
    }
    EXPECT_FALSE(lent);
    stop = true;
    busy.join();
  }).join();
}

// Workers are gone there, and what they were may stand for the thread that calls.
TEST(ThreadPool, ChildrenOfAForkKeepTheirCores) {
  const std::vector<int> cores = CoresOf(pthread_self());
  if (cores.size() < 2) GTEST_SKIP() << "one core";
  ThreadPool pool(2, std::make_shared<Workers>(Workers::Options{.threads = 2}));
  std::atomic<int64_t> sum = 0;
  const auto run = [&] { pool(64, 1, [&](int64_t begin, int64_t end) { sum += end - begin; }); };
  run();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // From core to core, so that there is something to be kept off.
    bool kept = true;
    for (int core : cores) {
      Restrict(pthread_self(), {core});
      std::this_thread::sleep_for(microseconds(300));
      run();
      kept = kept && CoresOf(pthread_self()) == std::vector<int>{core};
    }
    Restrict(pthread_self(), cores);
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(microseconds(300));
      run();
    }
    _exit(kept && CoresOf(pthread_self()) == cores ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ThreadPool, GrowsOnRequest) {
  const std::shared_ptr<Workers> workers = Make(1);
  EXPECT_EQ(workers->num_threads(), 1);
  ThreadPool all(0, workers), four(4, workers);
  EXPECT_EQ(all.num_threads(), 1);
  EXPECT_EQ(workers->num_threads(), 4);
  ExpectEachOnce(four, 100, 1);
}

// It goes on with those that it has.
TEST(ThreadPool, ThreadsThatTheSystemRefuses) {
  const std::shared_ptr<Workers> workers =
      std::make_shared<Workers>(Workers::Options{.threads = 2});
  pthread_attr_t before, huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
  // No address space has room for such a stack.
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 62), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  EXPECT_THROW(workers->Ensure(4), std::system_error);
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  pthread_attr_destroy(&huge);
  pthread_attr_destroy(&before);
  EXPECT_EQ(workers->num_threads(), 2);
  ThreadPool two(2, workers);
  for (int i = 0; i < 100; ++i) ExpectEachOnce(two, 100, 1);
  workers->Ensure(4);
  EXPECT_EQ(workers->num_threads(), 4);
}

TEST(StallWatch, TellsSlowFromStalled) {
  constexpr int64_t kStep = StallWatch::kStandstill / 3;
  StallWatch watch;
  const int one = 0, other = 1;
  int64_t mine = 1000, used = 5;
  // However slow, it runs.
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(watch.Stalled(&one, mine += kStep, ++used));
  // It does not.
  EXPECT_FALSE(watch.Stalled(&one, mine + kStep, used));
  EXPECT_FALSE(watch.Stalled(&one, mine + 2 * kStep, used));
  EXPECT_TRUE(watch.Stalled(&one, mine + 3 * kStep, used));
  EXPECT_TRUE(watch.Stalled(&one, mine + 100 * kStep, used));
  // It does again, and stops again.
  mine += 101 * kStep;
  EXPECT_FALSE(watch.Stalled(&one, mine, ++used));
  EXPECT_FALSE(watch.Stalled(&one, mine + StallWatch::kStandstill - 1, used));
  EXPECT_TRUE(watch.Stalled(&one, mine + StallWatch::kStandstill, used));
  // Another one is watched from now on, though its time is the same.
  EXPECT_FALSE(watch.Stalled(&other, mine + StallWatch::kStandstill, used));
  EXPECT_TRUE(watch.Stalled(&other, mine + 2 * StallWatch::kStandstill, used));
}

// Both times grow in large steps at once: that says nothing.
TEST(StallWatch, CoarseTimes) {
  StallWatch watch;
  const int thread = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t time = i / 100 * 1000 * StallWatch::kStandstill;
    EXPECT_FALSE(watch.Stalled(&thread, time, time));
  }
}

TEST(PoolGovernor, PausesWhileHelpDoesNotPay) {
  PoolGovernor governor;
  constexpr int64_t kMs = 1'000'000;
  int64_t now = 1000 * kMs;
  EXPECT_TRUE(governor.MayHelp(now));
  // A caller that did half of the work in half of the time that it alone would have taken.
  governor.Report(now, 4 * kMs, 4 * kMs, 0.5);
  EXPECT_TRUE(governor.MayHelp(now));
  // It waited for its helper until there was nothing won.
  governor.Report(now, 4 * kMs, 2 * kMs, 0.5);
  EXPECT_FALSE(governor.MayHelp(now));
  EXPECT_FALSE(governor.MayHelp(now + PoolGovernor::kFirstPause - 1));
  EXPECT_TRUE(governor.MayHelp(now + PoolGovernor::kFirstPause));
  // Failing again and again makes the pauses longer, up to a bound.
  int64_t last = PoolGovernor::kFirstPause;
  for (int i = 0; i < 20; ++i) {
    now += last;
    governor.Report(now, 4 * kMs, 2 * kMs, 0.5);
    EXPECT_EQ(governor.pause(), std::min(2 * last, PoolGovernor::kLongestPause));
    last = governor.pause();
  }
  // Success shortens the next one.
  governor.Report(now, 4 * kMs, 4 * kMs, 0.5);
  EXPECT_EQ(governor.pause(), PoolGovernor::kLongestPause / 2);
  EXPECT_FALSE(governor.MayHelp(now));  // the running one goes on
}

TEST(PoolGovernor, PausesWhenNobodyComesForLong) {
  PoolGovernor governor;
  int64_t now = 0;
  // Late now and then, as sleepers are when they are called: no pause, however often.
  for (int i = 0; i < 100; ++i) {
    now += PoolGovernor::kUnhelped / 2;
    governor.ReportUnhelped(now, PoolGovernor::kUnhelped / 2);
    EXPECT_TRUE(governor.MayHelp(now));
    governor.Report(now, 1000, 1000, 0.5);
  }
  EXPECT_EQ(governor.pause(), 0);
  governor.ReportUnhelped(now, PoolGovernor::kUnhelped - 1);
  EXPECT_TRUE(governor.MayHelp(now));
  governor.ReportUnhelped(now, 1);
  EXPECT_FALSE(governor.MayHelp(now));
  EXPECT_TRUE(governor.MayHelp(now + PoolGovernor::kFirstPause));
}

TEST(PoolGovernor, JudgesAWhile) {
  PoolGovernor governor;
  int64_t now = 0;
  // Single bad regions among good ones do not count.
  for (int i = 0; i < 1000; ++i) {
    now += 100'000;
    governor.Report(now, 100'000, i % 10 == 0 ? 40'000 : 90'000, 0.5);
    EXPECT_TRUE(governor.MayHelp(now));
  }
}

}  // namespace
}  // namespace tenon::kernels
