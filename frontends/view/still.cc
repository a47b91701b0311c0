// What the pictures without a script have in common.
#include "fmt/format.h"
#include "frontends/view/view.h"

namespace tenon::view {

absl::Status CheckStillSize(const Comparison& comparison, std::string_view format) {
  size_t ops = comparison.before.ops.size();
  if (comparison.after.has_value()) ops += comparison.after->ops.size();
  if (ops <= kMaxStillOps) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{} shows at most {} operations, and the programs have {} (expected FILE.html, which opens "
      "and closes parts)",
      format, kMaxStillOps, ops));
}

}  // namespace tenon::view
