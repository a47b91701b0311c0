#include "ir/base/limits.h"

#include <string>

#include "fmt/format.h"
#include "ir/base/check_limits.h"

namespace tenon {

absl::Status CheckLimits(const Limits& limits) {
  struct Range {
    const char* name;
    int64_t value, least, most;
  };
  const Range ranges[] = {{"stream_bytes", limits.stream_bytes, 1, INT64_MAX},
                          {"loop_trips", limits.loop_trips, 0, INT64_MAX},
                          {"memory_bytes", limits.memory_bytes, 0, INT64_MAX},
                          {"nesting", limits.nesting, 1, kMaxNesting},
                          {"message_bytes", limits.message_bytes, 1, INT64_MAX}};
  for (const Range& range : ranges) {
    if (range.value >= range.least && range.value <= range.most) continue;
    const std::string expected =
        range.most == INT64_MAX ? fmt::format("at least {}", range.least)
                                : fmt::format("a number from {} to {}", range.least, range.most);
    return absl::InvalidArgumentError(
        fmt::format("Limits::{} is {} (expected {})", range.name, range.value, expected));
  }
  return absl::OkStatus();
}

}  // namespace tenon
