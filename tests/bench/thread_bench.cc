// The thread pool: what a region costs, and what a busy neighbour costs.
//
//   thread_bench fork-join   time of a region without work: spinning workers, sleeping ones
//   thread_bench neighbour   a process spins on the last core; a fixed amount of work in regions of
//                            several sizes, with one thread and with two, in turns; prints the
//                            median of the ratios (one thread / two threads; 1 is no gain)
//   thread_bench scaling     the same without a neighbour
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/threads/thread_pool.h"

namespace {

using tenon::kernels::ThreadPool;
using tenon::kernels::Workers;
using Clock = std::chrono::steady_clock;

double Us(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Work that stays in registers, about a microsecond a unit.
double Compute(int64_t units) {
  double x = 1.000001;
  for (int64_t i = 0; i < units * 250; ++i) x = x * 1.0000001 + 1e-9;
  return x;
}

volatile double sink;

// Regions of `region_us` microseconds of work, until `total_us` are done; the time it took.
double TimeRegions(ThreadPool& pool, int64_t region_us, int64_t total_us) {
  const auto start = Clock::now();
  for (int64_t done = 0; done < total_us; done += region_us) {
    pool(region_us, 5, [](int64_t begin, int64_t end) { sink = Compute(end - begin); });
  }
  return Us(Clock::now() - start);
}

void ForkJoin() {
  fmt::print("{:>10} {:>16} {:>16}\n", "spin", "back to back", "after 1 ms");
  for (int spin_us : {200, 0}) {
    ThreadPool pool(
        2, std::make_shared<Workers>(Workers::Options{
               .threads = 2, .spin = std::chrono::microseconds(spin_us), .adaptive = false}));
    auto region = [&] {
      const auto start = Clock::now();
      pool(2, 1, [](int64_t, int64_t) {});
      return Us(Clock::now() - start);
    };
    std::vector<double> hot, cold;
    for (int i = 0; i < 10000; ++i) hot.push_back(region());
    for (int i = 0; i < 200; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      cold.push_back(region());
    }
    fmt::print("{:>7} us {:>13.2f} us {:>13.2f} us\n", spin_us, Median(hot), Median(cold));
  }
}

// A process that keeps the last core busy while in scope.
class Neighbour {
 public:
  Neighbour() : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t last;
    CPU_ZERO(&last);
    CPU_SET(std::thread::hardware_concurrency() - 1, &last);
    sched_setaffinity(0, sizeof(last), &last);
    for (;;) sink = Compute(1000);
  }
  ~Neighbour() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

 private:
  pid_t pid_;
};

void Ratios() {
  constexpr int kRounds = 11;
  constexpr int64_t kRoundUs = 100'000;
  fmt::print("{:>12} {:>12} {:>12} {:>8}   (medians of {} rounds of {} ms)\n", "region", "1 thread",
             "2 threads", "ratio", kRounds, kRoundUs / 1000);
  for (int64_t region_us : {20, 100, 1000, 5000}) {
    ThreadPool one(1), two(2);
    TimeRegions(two, region_us, kRoundUs);
    std::vector<double> a, b, ratios;
    for (int round = 0; round < kRounds; ++round) {
      a.push_back(TimeRegions(one, region_us, kRoundUs));
      b.push_back(TimeRegions(two, region_us, kRoundUs));
      ratios.push_back(a.back() / b.back());
    }
    fmt::print("{:>9} us {:>9.1f} ms {:>9.1f} ms {:>8.3f}\n", region_us, Median(a) / 1000,
               Median(b) / 1000, Median(ratios));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "fork-join") {
    ForkJoin();
  } else if (what == "neighbour") {
    const Neighbour neighbour;
    Ratios();
  } else if (what == "scaling") {
    Ratios();
  } else {
    fmt::print(stderr, "expected fork-join, neighbour or scaling\n");
    return 2;
  }
  return 0;
}
