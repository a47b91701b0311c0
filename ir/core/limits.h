// How much a program, a model or an input may use of the machine.
#ifndef TENON_IR_CORE_LIMITS_H_
#define TENON_IR_CORE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace tenon {

class Context;

inline constexpr size_t kMaxMessage = 4096;
inline constexpr int64_t kMaxNesting = 256;

// Exhausting a limit is an error with the place and the limit, ResourceExhausted as a status.
struct Limits {
  // Bytes read of an input that is not a regular file: a pipe, a device, standard input.
  int64_t stream_bytes = int64_t{4} << 30;
  // Iterations of one loop in a run. 0: as many as there are.
  int64_t loop_trips = 0;
  // Bytes that one compiled program has at a time: arenas, results, packed weights and scratch of
  // all its sessions, not the model's constants. 0: as many as there are.
  int64_t memory_bytes = 0;
  // Levels of regions, of attributes, types and locations in text, and of the messages of an ONNX
  // file (at most 100 of these). 1 to kMaxNesting.
  int64_t nesting = kMaxNesting;
  // Bytes of one line of a message; the middle of a longer one is left out. At least 1.
  int64_t message_bytes = kMaxMessage;
};

// What a Context's readers, verifier and diagnostics observe of them: `nesting` and
// `message_bytes`. Values out of range count as the nearest that is not. To be set before anything
// is read.
void SetLimits(Context& context, const Limits& limits);
const Limits& LimitsOf(const Context& context);

}  // namespace tenon

#endif  // TENON_IR_CORE_LIMITS_H_
