// The parts of the larger fused operations. Internal to fused_parts.cc and its neighbors.
#ifndef TENON_TRANSFORMS_EXPAND_FUSED_PARTS_INTERNAL_H_
#define TENON_TRANSFORMS_EXPAND_FUSED_PARTS_INTERNAL_H_

#include <vector>

#include "transforms/expand/formula.h"
#include "transforms/expand/fused_parts.h"

namespace tenon {

// Each requires that the operation of `f` is of the kind in the name, and that the ranks of its
// operands are known. The values are null after an error of `f`.
std::vector<Value> PartsOfAttention(OpFormula& f);
std::vector<Value> PartsOfRotary(OpFormula& f);
std::vector<Value> PartsOfGroup(OpFormula& f);
std::vector<Value> PartsOfCompressedLinear(OpFormula& f);
std::vector<Value> PartsOfEmbedding(OpFormula& f);

// x * cos + rotate(x) * sin over the whole last axis.
Value Rotated(OpFormula& f, Value x, Value cos, Value sin, bool interleaved);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_EXPAND_FUSED_PARTS_INTERNAL_H_
