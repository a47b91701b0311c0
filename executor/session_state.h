// Data shared by the runners of a session. Internal to the executor.
#ifndef TENON_EXECUTOR_SESSION_STATE_H_
#define TENON_EXECUTOR_SESSION_STATE_H_

#include "executor/profiler.h"
#include "executor/session.h"

namespace tenon {

struct SessionState {
  Session::Stats stats;
  Profiler* profiler = nullptr;  // of the current run; null: none
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_SESSION_STATE_H_
