// Operations whose operands or results are consecutive bytes of one tensor: they need not run when
// the memory plan puts the parts where they belong.
#ifndef TENON_EXECUTOR_PARTS_H_
#define TENON_EXECUTOR_PARTS_H_

#include <cstdint>
#include <vector>

#include "executor/program_impl.h"
#include "executor/walk.h"
#include "ir/dialect/kernel_ops.h"

namespace tenon {

enum class PartsKind : uint8_t {
  kNone,
  kJoin,  // ten.concat: operands are parts of the result
  kCut,   // ten.split, ten.slice: results are parts of operand 0
};

// Discardable attributes of a kernel.call: the operands of a concatenation that lie in its result
// already, and that the results of a split or slice are bytes of operand 0.
inline constexpr char kJoinedAttr[] = "kernel.joined";
inline constexpr char kPartsAttr[] = "kernel.parts";
std::vector<int64_t> JoinedOf(const Operation& call);
bool HasParts(const Operation& call);

// Of a call whose parts are runs of bytes whatever values its symbols have: there is nothing in
// front of the axis along which it works but extents of 1.
PartsKind PartsOf(kernel::CallOp call);

// Decides for each such call of the block whether its parts lie where they belong (see above), or
// are copied. Not copying can keep a large buffer alive for longer: it is chosen where the most
// bytes alive at one time do not grow by it (symbols count as one middling size). Later than
// ChooseInPlace. True if something changed.
bool ChooseParts(Block& block);

// For every value of the program the byte at which it begins in the buffer of its set. Empty if all
// begin at 0. `walk` knows the shapes.
std::vector<int64_t> PlacesInSets(const ProgramImpl& program, const Walk& walk);

}  // namespace tenon

#endif  // TENON_EXECUTOR_PARTS_H_
