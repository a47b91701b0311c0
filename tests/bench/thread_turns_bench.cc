// A model on one thread and on several by turns, beside processes that somebody else has started.
//
//   thread_turns_bench MODEL INPUTS THREADS SECONDS [PID …]
//
// INPUTS: a folder as that of ir-run's --inputs. A turn is 0.4 s of the system's clock, not of this
// process's: several of these at once are all on one thread, or all on THREADS. PID: the processes
// that it is to run beside. A turn in which others used more than a tenth of a processor is left
// out. Prints the mean times of a run and their ratio (above 1: THREADS are faster).
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/cpp/tenon.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTurn = std::chrono::milliseconds(400);
constexpr double kForeign = 0.1;  // processors

double Seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

int64_t TurnAt(Clock::time_point time) { return time.time_since_epoch() / kTurn; }

// Of all processors, since the system began.
double BusySeconds() {
  std::ifstream file("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0;
  file >> name >> user >> nice >> system;
  return (user + nice + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double UsedSeconds(const std::vector<clockid_t>& processes) {
  double sum = 0;
  for (clockid_t process : processes) {
    timespec used{};
    clock_gettime(process, &used);
    sum += static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  }
  return sum;
}

struct Times {
  int64_t runs = 0;
  double seconds = 0;
  int turns = 0;
  double ms() const { return seconds * 1e3 / static_cast<double>(runs); }
};

// A session with memory for inputs and results.
class Runner {
 public:
  static absl::StatusOr<Runner> Make(const tenon::Program& program,
                                     const std::vector<tenon::Tensor>& inputs) {
    Runner runner(program.NewSession());
    for (const tenon::Tensor& input : inputs) runner.inputs_.push_back(input.view());
    TENON_ASSIGN_OR_RETURN(const std::vector<tenon::ResultShape> shapes,
                           runner.session_.OutputShapes(runner.inputs_));
    for (const tenon::ResultShape& shape : shapes) {
      TENON_ASSIGN_OR_RETURN(tenon::Tensor result,
                             tenon::Tensor::TryMake(shape.dtype, shape.shape));
      runner.outputs_.push_back(result.view());
      runner.results_.push_back(std::move(result));
    }
    TENON_RETURN_IF_ERROR(runner.Run());
    return runner;
  }

  absl::Status Run() { return session_.Run(inputs_, outputs_); }

 private:
  explicit Runner(tenon::Session session) : session_(std::move(session)) {}

  tenon::Session session_;
  std::vector<tenon::kernels::TensorView> inputs_, outputs_;
  std::vector<tenon::Tensor> results_;
};

// A run that is not counted, then as many as begin in this turn.
absl::Status RunATurn(Runner& runner, const std::vector<clockid_t>& processes, Times& times) {
  const auto begin = Clock::now();
  const double busy = BusySeconds(), used = UsedSeconds(processes);
  TENON_RETURN_IF_ERROR(runner.Run());
  const auto start = Clock::now();
  auto now = start;
  int64_t runs = 0;
  for (; TurnAt(now) == TurnAt(begin); now = Clock::now()) {
    TENON_RETURN_IF_ERROR(runner.Run());
    ++runs;
  }
  const double foreign = BusySeconds() - busy - (UsedSeconds(processes) - used);
  if (runs == 0 || foreign > kForeign * Seconds(now - begin)) return absl::OkStatus();
  times.runs += runs;
  times.seconds += Seconds(now - start);
  ++times.turns;
  return absl::OkStatus();
}

absl::Status Measure(const std::string& path, const std::string& folder, int threads,
                     double seconds, const std::vector<clockid_t>& processes) {
  TENON_ASSIGN_OR_RETURN(tenon::Model model, tenon::Load(path));
  TENON_ASSIGN_OR_RETURN(const tenon::Sample sample, tenon::ReadInputs(model.main(), folder));
  TENON_RETURN_IF_ERROR(tenon::Optimize(model));
  TENON_ASSIGN_OR_RETURN(const tenon::Program one, tenon::Compile(model, {.threads = 1}));
  TENON_ASSIGN_OR_RETURN(const tenon::Program several,
                         tenon::Compile(std::move(model), {.threads = threads}));
  std::vector<Runner> runners;
  for (const tenon::Program* program : {&one, &several}) {
    TENON_ASSIGN_OR_RETURN(Runner runner, Runner::Make(*program, sample.inputs));
    runners.push_back(std::move(runner));
  }
  std::array<Times, 2> times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (auto now = Clock::now(); now < end; now = Clock::now()) {
    const auto which = static_cast<size_t>(TurnAt(now) % 2);
    TENON_RETURN_IF_ERROR(RunATurn(runners[which], processes, times[which]));
  }
  if (times[0].turns == 0 || times[1].turns == 0)
    return absl::UnavailableError("other processes ran in all turns");
  fmt::print("1 thread {:.2f} ms, {} threads {:.2f} ms, ratio {:.2f} ({} and {} turns)\n",
             times[0].ms(), threads, times[1].ms(), times[0].ms() / times[1].ms(), times[0].turns,
             times[1].turns);
  return absl::OkStatus();
}

bool ReadNumber(std::string_view text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 0, seconds = 0;
  bool valid = argc >= 5 && ReadNumber(argv[3], threads) && ReadNumber(argv[4], seconds);
  std::vector<clockid_t> processes = {CLOCK_PROCESS_CPUTIME_ID};
  for (int i = 5; i < argc; ++i) {
    int pid = 0;
    clockid_t clock{};
    valid = valid && ReadNumber(argv[i], pid) && clock_getcpuclockid(pid, &clock) == 0;
    processes.push_back(clock);
  }
  if (!valid) {
    fmt::print(stderr, "expected MODEL INPUTS THREADS SECONDS [PID …], of processes that run\n");
    return 2;
  }
  const absl::Status status = Measure(argv[1], argv[2], threads, seconds, processes);
  if (status.ok()) return 0;
  fmt::print(stderr, "thread_turns_bench: {}\n", std::string(status.message()));
  return 1;
}
