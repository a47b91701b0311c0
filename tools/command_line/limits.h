// Options of all programs that bound what a file can make them use.
#ifndef TENON_TOOLS_COMMAND_LINE_LIMITS_H_
#define TENON_TOOLS_COMMAND_LINE_LIMITS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "ir/base/limits.h"
#include "tools/command_line/option_table.h"

namespace tenon::tools {

// The limits of a program. Its options hold them in a field `limits`.
struct LimitOptions {
  Limits library{.loop_trips = 1'000'000};  // those of the API
  int64_t memory_bytes = 0;                 // 0: the memory of the machine
};

// Reads a number of bytes; K, M, G and T stand for powers of 1024. InvalidArgument for anything
// else and for fewer than `least` bytes.
absl::Status ReadBytes(const Given& given, int64_t& value, int64_t least = 1);

// The smallest --max-message. A shorter line would not say what is wrong.
inline constexpr int64_t kShortestMessage = 256;

// The smallest --max-memory: somewhat more than the programs need for themselves.
inline constexpr int64_t kLeastMemory = int64_t{32} << 20;

// The row of --max-memory.
template <typename Options>
constexpr Option<Options> MaxMemoryRow() {
  return {
      {"max-memory", "", Takes::kValue, "BYTES",
       "memory of the process, at least 32M (default: memory of the machine)", Times::kOnce, true},
      [](Options& o, const Given& g) { return ReadBytes(g, o.limits.memory_bytes, kLeastMemory); }};
}
// The row of --max-input.
template <typename Options>
constexpr Option<Options> MaxInputRow() {
  return {{"max-input", "", Takes::kValue, "BYTES",
           "bytes read from a pipe or a device (default: 4G)", Times::kOnce, true},
          [](Options& o, const Given& g) { return ReadBytes(g, o.limits.library.stream_bytes); }};
}
// The row of --max-nesting.
template <typename Options>
constexpr Option<Options> MaxNestingRow() {
  return {{"max-nesting", "", Takes::kValue, "N",
           "levels of nesting in an input (default: 256, ONNX 100)", Times::kOnce, true},
          [](Options& o, const Given& g) {
            return ReadInteger(g, 1, kMaxNesting, o.limits.library.nesting);
          }};
}
// The row of --max-message.
template <typename Options>
constexpr Option<Options> MaxMessageRow() {
  return {{"max-message", "", Takes::kValue, "BYTES",
           "bytes of one line of a message, at least 256 (default: 4096)", Times::kOnce, true},
          [](Options& o, const Given& g) {
            return ReadBytes(g, o.limits.library.message_bytes, kShortestMessage);
          }};
}
// The row of --max-trips.
template <typename Options>
constexpr Option<Options> MaxTripsRow() {
  return {{"max-trips", "", Takes::kValue, "N",
           "iterations of loops and calls in a run; 0 removes the limit (default: 1000000)",
           Times::kOnce, true},
          [](Options& o, const Given& g) {
            return ReadInteger(g, 0, INT64_MAX, o.limits.library.loop_trips);
          }};
}

// Returns true if a limit allows more than its default does. The default of memory is that of the
// machine.
bool IsLaxer(const LimitOptions& options);

// Makes allocations beyond the memory limit fail from now on. Without a given limit, that is the
// memory of the machine or of its control group. `with_gpu` drops this default, because the driver
// reserves addresses. Also sets the longest message of the program (PrintError).
void ApplyLimits(const LimitOptions& options, bool with_gpu = false);

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_LIMITS_H_
