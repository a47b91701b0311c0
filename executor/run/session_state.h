// Data shared by the runners of a session. Internal to the executor.
#ifndef TENON_EXECUTOR_RUN_SESSION_STATE_H_
#define TENON_EXECUTOR_RUN_SESSION_STATE_H_

#include <cstdint>

#include "executor/profile/profiler.h"
#include "executor/session.h"
#include "kernels/draws.h"

namespace tenon {

struct SessionState {
  Session::Stats stats;
  Profiler* profiler = nullptr;  // of the current run; null: none
  int64_t trips = 0;             // iterations of all loops of the current run, for Limits
  kernels::Draws draws;          // random numbers of the current run
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_RUN_SESSION_STATE_H_
