// Limits on the resources that a program, a model or an input may use.
#ifndef TENON_IR_BASE_LIMITS_H_
#define TENON_IR_BASE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace tenon {

inline constexpr size_t kMaxMessage = 4096;  // The default of Limits::message_bytes.
inline constexpr int64_t kMaxNesting = 256;  // The default and maximum of Limits::nesting.
inline constexpr int64_t kMaxRank = 256;     // Dimensions of a tensor in a program or a file.

// Limits of reading, compiling and running. Code that exceeds one gets an error that names the
// limit and the place. Its code is ResourceExhausted; the verifier returns InvalidArgument for
// nesting.
struct Limits {
  // Bytes read of an input that is not a regular file: a pipe, a device, standard input. At
  // least 1.
  int64_t stream_bytes = int64_t{4} << 30;
  // Iterations of all loops in one run, nested ones included, and calls of functions. 0 means no
  // limit.
  int64_t loop_trips = 0;
  // Bytes that one compiled program may hold at a time. Counts arenas, results, packed weights and
  // scratch memory of all its sessions, but not the constants of the model. 0 means no limit.
  int64_t memory_bytes = 0;
  // Levels of nested regions, and of nested attributes, types and locations in text. Also levels of
  // nested messages in an ONNX file, at most 100. From 1 to kMaxNesting.
  int64_t nesting = kMaxNesting;
  // Bytes of one line of a message; longer lines lose their middle. At least 1.
  int64_t message_bytes = kMaxMessage;
};

}  // namespace tenon

#endif  // TENON_IR_BASE_LIMITS_H_
