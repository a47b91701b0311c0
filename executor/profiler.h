// Records when each instruction of a run began and ended.
//
//   Profiler profiler;
//   session.Run(inputs, outputs, {.profiler = &profiler});
//   std::cout << ProfileTable(profiler);
#ifndef TENON_EXECUTOR_PROFILER_H_
#define TENON_EXECUTOR_PROFILER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "kernels/op_cost.h"

namespace tenon {

struct Instruction;
struct ProgramImpl;

// A kernel run as far as it does not change from run to run.
struct ProfiledCall {
  std::string op, kernel;
  std::string node;    // of the model; empty if unknown
  std::string shapes;  // "f32[1,128,768], f32[768,768] -> f32[1,128,768]"
  // Why it is slow or on another device than the program is for (fallbacks.h); empty: it is not.
  std::string fallback{};
  kernels::OpCost cost;
};

// Collects over all runs that it is given to, of one session at a time.
class Profiler {
 public:
  Profiler() : identity_(std::make_shared<int>()) {}
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // Nanoseconds of a steady clock.
  static int64_t Now();

  struct Event {
    int call = 0;    // position in calls()
    int thread = 0;  // 0 is the thread that runs the program
    int64_t begin_ns = 0, end_ns = 0;
  };
  // Kernel runs, in order, each on thread 0 from its beginning to its end.
  const std::vector<Event>& events() const { return events_; }
  // What threads did of them, when their work was shared.
  const std::vector<Event>& chunks() const { return chunks_; }
  const std::vector<ProfiledCall>& calls() const { return calls_; }
  struct RunTimes {
    int64_t begin_ns = 0, end_ns = 0;
  };
  const std::vector<RunTimes>& runs() const { return runs_; }

  // What follows is for the executor.
  // Another object has another identity, even at the same address later.
  std::shared_ptr<const void> identity() const { return identity_; }
  int Add(ProfiledCall call);
  // The same for equal calls. Slower: for programs whose shapes differ from run to run.
  int Find(ProfiledCall call);
  void Record(int call, int64_t begin_ns, int64_t end_ns) {
    events_.push_back({call, 0, begin_ns, end_ns});
  }
  // From any thread, while a kernel runs: a share of its work that ends now.
  void RecordChunk(int64_t begin_ns);
  void BeginRun() { runs_.push_back({Now(), 0}); }
  void EndRun();

 private:
  std::shared_ptr<const void> identity_;
  std::vector<ProfiledCall> calls_;
  std::map<std::string, int> found_;
  std::vector<Event> events_;
  std::vector<RunTimes> runs_;
  std::mutex mutex_;  // of what follows
  std::map<std::thread::id, int> threads_;
  std::vector<Event> chunks_;  // `call`: the event that they belong to, until EndRun
  size_t resolved_ = 0;
};

ProfiledCall DescribeCall(const ProgramImpl& program, const Instruction& instruction,
                          std::span<const kernels::TensorView> inputs,
                          std::span<const kernels::TensorView> outputs, const void* attrs);

}  // namespace tenon

#endif  // TENON_EXECUTOR_PROFILER_H_
