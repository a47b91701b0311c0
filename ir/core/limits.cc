#include "ir/core/limits.h"

#include <algorithm>
#include <string>

#include "fmt/format.h"
#include "ir/core/check_limits.h"
#include "ir/core/context.h"
#include "ir/core/context_impl.h"

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

void SetLimits(Context& context, const Limits& limits) {
  Limits& own = context.impl().limits;
  own = limits;
  own.nesting = std::clamp<int64_t>(limits.nesting, 1, kMaxNesting);
  own.message_bytes = std::max<int64_t>(limits.message_bytes, 1);
}

const Limits& LimitsOf(const Context& context) { return context.impl().limits; }

}  // namespace tenon
