// One program run by several threads at once: runs per second.
//
// The program: 12 products of 256x256 with tanh, about 0.4 GFLOP a run. Callers run it as fast as
// they can, each in a session of its own (Program::Run). With as many callers as cores, each keeps
// a core, however many threads its session might use; the rounds of one and several callers take
// turns.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "frontends/cpp/tenon.h"

namespace {

constexpr int kLayers = 12;
constexpr int64_t kSize = 256;

std::string Layers() {
  const std::string type = fmt::format("tensor<{0}x{0}xf32>", kSize);
  std::string text = fmt::format(
      "func.func() <{{function_type = ({0}) -> {0}, sym_name = \"main\"}}> ({{\n^bb0(%v0: {0}):\n",
      type);
  for (int i = 0; i < kLayers; ++i) {
    text += fmt::format(
        "  %w{0} = core.constant() <{{value = dense<0.00{1}> : {2}}}> : () -> {2}\n"
        "  %p{0} = ten.matmul(%v{0}, %w{0}) : ({2}, {2}) -> {2}\n"
        "  %v{3} = ten.tanh(%p{0}) : ({2}) -> {2}\n",
        i, i + 1, type, i + 1);
  }
  return text + fmt::format("  func.return(%v{}) : ({}) -> ()\n}}) : () -> ()\n", kLayers, type);
}

double RunsPerSecond(const tenon::Program& program, int callers) {
  constexpr auto kRound = std::chrono::milliseconds(200);
  const tenon::Tensor in =
      tenon::Tensor::Make(tenon::DType::kF32, std::vector<int64_t>{kSize, kSize});
  std::fill_n(in.as<float>(), in.numel(), 0.5f);
  std::atomic<bool> stop = false;
  std::atomic<int64_t> runs = 0;
  std::vector<std::thread> threads;
  const auto start = std::chrono::steady_clock::now();
  for (int c = 0; c < callers; ++c) {
    threads.emplace_back([&] {
      while (!stop) runs += program.Run(std::vector{in}).ok() ? 1 : 0;
    });
  }
  std::this_thread::sleep_for(kRound);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(runs) /
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  absl::StatusOr<tenon::Model> model = tenon::LoadFromBytes(Layers(), "layers");
  if (!model.ok()) return 1;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  absl::StatusOr<tenon::Program> one = tenon::Compile(*model, {.threads = 1});
  absl::StatusOr<tenon::Program> all = tenon::Compile(*model, {.threads = cores});
  if (!one.ok() || !all.ok()) return 1;
  constexpr int kRounds = 7;
  const std::vector<int> callers = {1, cores, 4 * cores};
  std::vector<std::vector<double>> with_one(callers.size()), with_all(callers.size());
  for (int round = -1; round < kRounds; ++round) {
    for (size_t i = 0; i < callers.size(); ++i) {
      const double a = RunsPerSecond(*one, callers[i]), b = RunsPerSecond(*all, callers[i]);
      if (round < 0) continue;
      with_one[i].push_back(a);
      with_all[i].push_back(b);
    }
  }
  fmt::print("runs per second, medians of {} rounds; to one caller with one thread\n", kRounds);
  const double base = Median(with_one[0]);
  for (size_t i = 0; i < callers.size(); ++i) {
    const double a = Median(with_one[i]), b = Median(with_all[i]);
    fmt::print("{:>3} callers: 1 thread each {:8.0f} ({:.2f}), {} threads each {:8.0f} ({:.2f})\n",
               callers[i], a, a / base, cores, b, b / base);
  }
  return 0;
}
