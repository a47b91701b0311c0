// Which processors run what, and whether they are busy.
#ifndef TENON_TOOLS_IR_BENCH_PROCESSORS_H_
#define TENON_TOOLS_IR_BENCH_PROCESSORS_H_

#include <sys/types.h>

#include <ctime>

#include "absl/status/status.h"

namespace tenon::ir_bench {

// This process, its threads and children, on the first `count` of the processors that it may use.
absl::Status PinToFirst(int count);

// Keeps the last of the processors that this process may use busy, as long as it lives: always, or
// for `busy_ms` in turns with as long a sleep. Made before other threads are.
class Neighbour {
 public:
  explicit Neighbour(double busy_ms = 0);
  ~Neighbour();
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;
  bool running() const { return pid_ > 0; }

 private:
  pid_t pid_;
};

// Sleeps until the process of this clock (see clock_getcpuclockid) hardly uses processor time.
// False if it still does after two seconds.
bool WaitUntilIdle(clockid_t clock);

}  // namespace tenon::ir_bench

#endif  // TENON_TOOLS_IR_BENCH_PROCESSORS_H_
