// Sizes of quantization groups. Do not include this in a file that is compiled for one instruction
// set: the linker keeps one copy of an inline function for all files.
#ifndef TENON_IR_BASE_WEIGHT_GROUP_H_
#define TENON_IR_BASE_WEIGHT_GROUP_H_

#include <algorithm>
#include <cstdint>

#include "ir/base/ceil_div.h"

namespace tenon {

// The number of neighboring weights that share a factor in a column of `k` weights; at least 1.
// `group` is the attribute of fused.compressed_linear; 0 stands for the whole column. Requires
// group >= 0 and k >= 0.
inline constexpr int64_t WeightsPerFactor(int64_t group, int64_t k) {
  return std::max<int64_t>(1, group == 0 ? k : std::min(group, k));
}

// The number of factors of such a column. A column with one factor for all weights has it even if k
// is 0.
inline constexpr int64_t FactorsPerColumn(int64_t group, int64_t k) {
  return group == 0 ? 1 : CeilDiv(k, WeightsPerFactor(group, k));
}

}  // namespace tenon

#endif  // TENON_IR_BASE_WEIGHT_GROUP_H_
