// Recording when each instruction of a run began and ended.
//
//   Profiler profiler;
//   session.Run(inputs, outputs, {.profiler = &profiler});
//   std::cout << ProfileTable(profiler);
#ifndef TENON_EXECUTOR_PROFILE_PROFILER_H_
#define TENON_EXECUTOR_PROFILE_PROFILER_H_

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

// The facts about a kernel call that do not change from run to run.
struct ProfiledCall {
  std::string op,      // such as "fused.linear"
      kernel;          // such as "cpu.linear"
  std::string node;    // the model node; empty if unknown
  std::string shapes;  // "f32[1,128,768], f32[768,768] -> f32[1,128,768]"
  // Why it is slow or off its device (fallbacks.h); empty if it is not.
  std::string fallback{};
  kernels::OpCost cost;  // the work of one call
};

// Collects all runs that it is passed to (RunOptions::profiler), of one session at a time. Read it
// when no run is in progress.
class Profiler {
 public:
  Profiler() : identity_(std::make_shared<int>()) {}
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // The steady clock, in nanoseconds.
  static int64_t Now();

  // One span of time.
  struct Event {
    int call = 0;          // index into calls()
    int thread = 0;        // 0 is the thread that called Run
    int64_t begin_ns = 0,  // when it began, by Now()
        end_ns = 0;        // when it ended, by Now()
  };
  // Kernel calls, in order, each on thread 0 from beginning to end.
  const std::vector<Event>& events() const { return events_; }
  // The shares of these calls on each thread, for kernels that split their work.
  const std::vector<Event>& chunks() const { return chunks_; }
  // The calls that events refer to.
  const std::vector<ProfiledCall>& calls() const { return calls_; }
  // Beginning and end of one run.
  struct RunTimes {
    int64_t begin_ns = 0,  // when it began, by Now()
        end_ns = 0;        // when it ended, by Now(); 0 while it goes on
  };
  // All runs, in order.
  const std::vector<RunTimes>& runs() const { return runs_; }

  // ---- for the executor
  // An identity that no other profiler has, also not later at the same address.
  std::shared_ptr<const void> identity() const { return identity_; }
  // Adds a call and returns its index.
  int Add(ProfiledCall call);
  // Returns the index of an equal call, and adds it if there is none. Slower than Add; for programs
  // whose shapes differ from run to run.
  int Find(ProfiledCall call);
  // Records that a call ran. Times are those of Now.
  void Record(int call, int64_t begin_ns, int64_t end_ns) {
    events_.push_back({call, 0, begin_ns, end_ns});
  }
  // Records a share of the work of the current kernel, which ends now. From any thread.
  void RecordChunk(int64_t begin_ns);
  void BeginRun() { runs_.push_back({Now(), 0}); }  // a run begins now
  void EndRun();                                    // the last run ends now

 private:
  std::shared_ptr<const void> identity_;
  std::vector<ProfiledCall> calls_;
  std::map<std::string, int> found_;
  std::vector<Event> events_;
  std::vector<RunTimes> runs_;
  std::mutex mutex_;  // guards the following members
  std::map<std::thread::id, int> threads_;
  std::vector<Event> chunks_;  // `call` is an index into events_ until EndRun
  size_t resolved_ = 0;
};

// Describes one call. `attrs` is its decoded attribute struct.
ProfiledCall DescribeCall(const ProgramImpl& program, const Instruction& instruction,
                          std::span<const kernels::TensorView> inputs,
                          std::span<const kernels::TensorView> outputs, const void* attrs);

}  // namespace tenon

#endif  // TENON_EXECUTOR_PROFILE_PROFILER_H_
