#include "kernels/cpu/conv/filter_panels.h"

#include "fmt/format.h"
#include "ir/base/ceil_div.h"

namespace tenon::kernels::cpu {

FilterPanels FilterPanels::Of(int64_t filters, int64_t channels, int64_t lanes) {
  const int64_t left = filters % (2 * lanes);
  return {.filters = filters,
          .channels = channels,
          .lanes = lanes,
          .count = CeilDiv(filters, 2 * lanes),
          .has_narrow = left > 0 && left <= lanes};
}

std::string FilterPanels::Layout(std::string_view method) const {
  return fmt::format("{}:{}:{}x{}", method, lanes, filters, channels);
}

}  // namespace tenon::kernels::cpu
