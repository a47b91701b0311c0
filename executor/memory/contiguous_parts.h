// Operations whose operands or results are consecutive bytes of one tensor. They need not run if
// the memory plan puts the parts in place.
#ifndef TENON_EXECUTOR_MEMORY_CONTIGUOUS_PARTS_H_
#define TENON_EXECUTOR_MEMORY_CONTIGUOUS_PARTS_H_

#include <cstdint>
#include <vector>

#include "executor/prepare/shape_walk.h"
#include "executor/program_impl.h"
#include "ir/dialect/kernel_ops.h"

namespace tenon {

enum class PartsKind : uint8_t {
  kNone,
  kJoin,  // ten.concat: operands are parts of the result
  kCut,   // ten.split, ten.slice: results are parts of operand 0
};

// Discardable attributes of a kernel.call. The attribute kernel.joined lists the operands of a
// concatenation that lie in its result already. The attribute kernel.parts says that the results of
// a split or slice lie in operand 0.
inline constexpr char kJoinedAttr[] = "kernel.joined";
inline constexpr char kPartsAttr[] = "kernel.parts";
std::vector<int64_t> JoinedOf(const Operation& call);
bool HasParts(const Operation& call);

// The kind of a call whose parts are runs of bytes for all values of its symbols. This holds if
// only extents of 1 come before the axis along which it works.
PartsKind PartsOf(kernel::CallOp call);

// Decides for each such call of the block whether its parts lie in place or are copied. Parts in
// place can keep a large buffer alive for longer, so they are chosen only if the most bytes alive
// at one time do not grow. Symbols count as one medium size. Call it after ChooseInPlace. True if
// something changed.
bool ChooseParts(Block& block);

// Returns for each value of the program its offset in the buffer of its set, in bytes. Empty if all
// are 0. `walk` knows the shapes.
std::vector<int64_t> PlacesInSets(const ProgramImpl& program, const Walk& walk);

}  // namespace tenon

#endif  // TENON_EXECUTOR_MEMORY_CONTIGUOUS_PARTS_H_
