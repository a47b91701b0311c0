#include "tools/ir-bench/machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "kernels/cpu/isa.h"
#include "tools/ir-bench/statistics.h"

namespace tenon::ir_bench {
namespace {

constexpr int64_t kFmaSteps = 400'000;
constexpr size_t kReadBytes = size_t{256} << 20;  // of all threads

template <int kBytes>
struct Vector {
  using Floats [[gnu::vector_size(kBytes)]] = float;
  using Words [[gnu::vector_size(kBytes)]] = uint64_t;
};

// Twelve chains hide the latency of four cycles of two units. Returns something that depends on all
// of them; the number of operations is 2 * 12 * steps * lanes. Every loop over the chains is
// unrolled, else they would live in memory.
template <int kBytes>
[[gnu::always_inline]] inline float Multiply(int64_t steps) {
  using V = typename Vector<kBytes>::Floats;
  constexpr int kChains = 12;
  const V factor = V{} + 0.999f, term = V{} + 0.001f;
  V sums[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) sums[i] = V{} + static_cast<float>(i);
  for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = sums[i] * factor + term;
  }
  V total = V{};
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) total += sums[i];
  return total[0];
}

template <int kBytes>
[[gnu::always_inline]] inline uint64_t Read(const std::byte* bytes, size_t count) {
  using V = typename Vector<kBytes>::Words;
  V sums[8];
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) sums[k] = V{};
  const V* at = reinterpret_cast<const V*>(bytes);
  for (size_t i = 0; i + 8 <= count / kBytes; i += 8) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) sums[k] ^= at[i + k];
  }
  V total = V{};
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) total ^= sums[k];
  return total[0];
}

struct Probe {
  int lanes;
  float (*multiply)(int64_t steps);
  uint64_t (*read)(const std::byte* bytes, size_t count);
};

#if defined(__x86_64__)
[[gnu::target("avx512f,avx512vl,fma")]] float Multiply64(int64_t steps) {
  return Multiply<64>(steps);
}
[[gnu::target("avx512f,avx512vl,fma")]] uint64_t Read64(const std::byte* bytes, size_t count) {
  return Read<64>(bytes, count);
}
[[gnu::target("avx2,fma")]] float Multiply32(int64_t steps) { return Multiply<32>(steps); }
[[gnu::target("avx2,fma")]] uint64_t Read32(const std::byte* bytes, size_t count) {
  return Read<32>(bytes, count);
}
#endif
float Multiply16(int64_t steps) { return Multiply<16>(steps); }
uint64_t Read16(const std::byte* bytes, size_t count) { return Read<16>(bytes, count); }

Probe ProbeOf(kernels::cpu::Isa isa) {
#if defined(__x86_64__)
  if (isa >= kernels::cpu::Isa::kAvx512) return {16, Multiply64, Read64};
  if (isa >= kernels::cpu::Isa::kAvx2) return {8, Multiply32, Read32};
#else
  static_cast<void>(isa);
#endif
  return {4, Multiply16, Read16};
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds in which all threads do their `work`, which they begin together.
double SecondsOf(int threads, const std::function<void(int thread)>& work) {
  std::atomic<int> ready{0};
  std::vector<double> begin(threads), end(threads);
  auto run = [&](int thread) {
    ready.fetch_add(1);
    while (ready.load() < threads) std::this_thread::yield();
    begin[thread] = Now();
    work(thread);
    end[thread] = Now();
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  run(0);
  for (std::thread& other : others) other.join();
  return *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
}

// Rates of the passes of `amount` (of 1e9) that fit into `seconds`, at least one: their median.
// Raises `best`.
double MedianRate(double seconds, double amount, double& best,
                  const std::function<double()>& seconds_of_pass) {
  std::vector<double> rates;
  const double start = Now();
  do {
    rates.push_back(amount / seconds_of_pass());
  } while (Now() - start < seconds);
  const Percentiles percentiles = PercentilesOf(rates);
  best = std::max(best, *std::max_element(rates.begin(), rates.end()));
  return percentiles.median;
}

}  // namespace

Machine::Machine(int threads) : threads_(threads), memory_(nullptr) {
  void* const memory =
      mmap(nullptr, kReadBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  madvise(memory, kReadBytes, MADV_HUGEPAGE);
  std::memset(memory, 1, kReadBytes);
  memory_ = static_cast<std::byte*>(memory);
}

Machine::~Machine() {
  if (memory_ != nullptr) munmap(memory_, kReadBytes);
}

void Machine::Turn(double ms) {
  const Probe probe = ProbeOf(kernels::cpu::ActiveIsa());
  std::atomic<uint64_t> sink{0};  // keeps the compiler from leaving the work out
  MachineRates& round = report_.rounds.emplace_back();
  const double gflop = 2.0 * 12 * static_cast<double>(kFmaSteps) * probe.lanes * threads_ / 1e9;
  round.gflops = MedianRate(ms / 2e3, gflop, report_.best.gflops, [&] {
    return SecondsOf(threads_,
                     [&](int) { sink += static_cast<uint64_t>(probe.multiply(kFmaSteps)); });
  });
  if (memory_ == nullptr) return;
  const size_t share = kReadBytes / static_cast<size_t>(threads_) / 4096 * 4096;
  const double gbyte = static_cast<double>(share) * threads_ / 1e9;
  round.read_gbps = MedianRate(ms / 2e3, gbyte, report_.best.read_gbps, [&] {
    return SecondsOf(threads_, [&](int thread) {
      sink += probe.read(memory_ + share * static_cast<size_t>(thread), share);
    });
  });
}

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    return colon == std::string::npos ? "unknown" : line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace tenon::ir_bench
