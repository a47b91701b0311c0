#include "tools/ir-bench/processors.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "fmt/format.h"

namespace tenon::ir_bench {
namespace {

// Empty, with errno set, where the system does not say.
std::vector<int> AllowedProcessors() {
  cpu_set_t set;
  std::vector<int> processors;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  return processors;
}

bool Pin(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i : processors) CPU_SET(i, &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

double ProcessorSeconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

absl::Status PinToFirst(int count) {
  std::vector<int> processors = AllowedProcessors();
  if (processors.empty()) {
    return absl::InternalError(fmt::format(
        "--pin: the system does not say which processors there are: {}", std::strerror(errno)));
  }
  if (static_cast<size_t>(count) > processors.size()) {
    return absl::InvalidArgumentError(
        fmt::format("--pin: there are {} processors for {} threads", processors.size(), count));
  }
  processors.resize(static_cast<size_t>(count));
  if (Pin(processors)) return absl::OkStatus();
  return absl::InternalError(fmt::format("--pin: {}", std::strerror(errno)));
}

Neighbour::Neighbour(double busy_ms) : pid_(fork()) {
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::vector<int> processors = AllowedProcessors();
  if (!processors.empty()) Pin({processors.back()});
  // By the clock, not by the work that it gets done: one that loses its processor comes back no
  // later for that.
  using Clock = std::chrono::steady_clock;
  const auto phase = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double, std::milli>(busy_ms));
  for (Clock::time_point end = Clock::now() + phase;; end = Clock::now() + phase) {
    for (volatile unsigned count = 0; phase.count() == 0 || Clock::now() < end;) count = count + 1;
    std::this_thread::sleep_for(phase);
  }
}

Neighbour::~Neighbour() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

bool WaitUntilIdle(clockid_t clock) {
  constexpr double kIdleShare = 0.05;
  // The kernel may add the time of a thread that goes on running at its ticks only, which are as
  // far as 10 ms apart.
  constexpr auto kWindow = std::chrono::milliseconds(15);
  constexpr auto kLongest = std::chrono::seconds(2);
  double used = ProcessorSeconds(clock);
  const auto start = std::chrono::steady_clock::now();
  for (auto since = start; since - start < kLongest;) {
    std::this_thread::sleep_for(kWindow);
    const double now_used = ProcessorSeconds(clock);
    const auto now = std::chrono::steady_clock::now();
    if (now_used - used < kIdleShare * std::chrono::duration<double>(now - since).count())
      return true;
    used = now_used;
    since = now;
  }
  return false;
}

}  // namespace tenon::ir_bench
