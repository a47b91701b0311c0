// Data shared by the runners of a session. Internal to the executor.
#ifndef TENON_EXECUTOR_RUN_SESSION_STATE_H_
#define TENON_EXECUTOR_RUN_SESSION_STATE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "executor/profile/profiler.h"
#include "executor/session.h"
#include "kernels/draws.h"

namespace tenon {

struct FunctionFrame;
struct ProgramImpl;

struct SessionState {
  Session::Stats stats;
  Profiler* profiler = nullptr;   // of the current run; null: none
  int64_t trips = 0;              // iterations of all loops of the current run, for Limits
  int call_depth = 0;             // calls that the current run is in
  intptr_t first_call_frame = 0;  // where the stack was at the first of them
  kernels::Draws draws;           // random numbers of the current run
  // What calls of each function need, while no call uses it: as much as the deepest recursion.
  absl::flat_hash_map<const ProgramImpl*, std::vector<std::shared_ptr<FunctionFrame>>> idle_frames;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_RUN_SESSION_STATE_H_
