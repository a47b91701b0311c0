// Choosing processors, and keeping them busy or waiting until they are idle.
#ifndef TENON_TOOLS_IR_BENCH_PROCESSORS_H_
#define TENON_TOOLS_IR_BENCH_PROCESSORS_H_

#include <sys/types.h>

#include <ctime>

#include "absl/status/status.h"

namespace tenon::ir_bench {

// Restricts this process, its threads and children to the first `count` processors that it may use.
// InvalidArgument if there are fewer.
absl::Status PinToFirst(int count);

// A process that keeps the last of the allowed processors busy as long as the object lives. With
// `busy_ms` it is busy for that many milliseconds, then sleeps as long. Make it before threads.
class Neighbour {
 public:
  // Starts the process. 0: it never sleeps.
  explicit Neighbour(double busy_ms = 0);
  ~Neighbour();
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;
  bool running() const { return pid_ > 0; }  // false if it could not be started

 private:
  pid_t pid_;
};

// Sleeps until the process of this clock (see clock_getcpuclockid) uses hardly any processor time.
// Returns false if it still uses some after two seconds.
bool WaitUntilIdle(clockid_t clock);

}  // namespace tenon::ir_bench

#endif  // TENON_TOOLS_IR_BENCH_PROCESSORS_H_
