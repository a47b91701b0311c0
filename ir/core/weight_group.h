// Not for files of one instruction set: the linker keeps one copy of an inline function.
#ifndef TENON_IR_CORE_WEIGHT_GROUP_H_
#define TENON_IR_CORE_WEIGHT_GROUP_H_

#include <algorithm>
#include <cstdint>

#include "ir/core/ceil_div.h"

namespace tenon {

// Neighbouring weights of a column of k that share a factor, at least 1, where `group` is the
// attribute of fused.compressed_linear: 0 stands for all of them. REQUIRES: group >= 0, k >= 0.
inline constexpr int64_t WeightsPerFactor(int64_t group, int64_t k) {
  return std::max<int64_t>(1, group == 0 ? k : std::min(group, k));
}

// Factors of such a column. Where all of its weights share one, that is there for no weights, too.
inline constexpr int64_t FactorsPerColumn(int64_t group, int64_t k) {
  return group == 0 ? 1 : CeilDiv(k, WeightsPerFactor(group, k));
}

}  // namespace tenon

#endif  // TENON_IR_CORE_WEIGHT_GROUP_H_
