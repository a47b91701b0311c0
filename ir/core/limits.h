// How much a program, a model or an input may use of the machine.
#ifndef TENON_IR_CORE_LIMITS_H_
#define TENON_IR_CORE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace tenon {

// Exhausting a limit is an error with the place and the limit, ResourceExhausted as a status.
struct Limits {
  // Bytes read of an input that is not a regular file: a pipe, a device, standard input.
  int64_t stream_bytes = int64_t{4} << 30;
  // Iterations of one loop in a run. 0: as many as there are.
  int64_t loop_trips = 0;
};

// Characters of one message; the middle of a longer one is left out.
inline constexpr size_t kMaxMessage = 4096;

}  // namespace tenon

#endif  // TENON_IR_CORE_LIMITS_H_
