// A body of elementwise ops on floats and bools as vector instructions, for the just-in-time
// compiler. Mathematical functions are written here once for all instruction sets.
#ifndef TENON_KERNELS_CPU_JIT_VECTOR_GRAPH_H_
#define TENON_KERNELS_CPU_JIT_VECTOR_GRAPH_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/base/pointwise.h"

namespace tenon::kernels::cpu {

// One vector instruction. "Raw" maximum and minimum are x86's: the second operand if either is NaN.
enum class VectorOp : uint8_t {
  kInput,      // index: an input of floats
  kInputBool,  // index: an input of bools, as a mask
  kInputU8,    // index: an input of bytes, as floats
  kInputI8,
  kConstant,  // bits
  kAdd,
  kSub,
  kMul,
  kDiv,
  kRawMax,
  kRawMin,
  kFma,  // a * b + c
  kSqrt,
  kRound,  // imm: 0 to nearest even, 1 down, 2 up
  kAnd,
  kXor,
  kAddInt,
  kSubInt,
  kShiftLeft,   // imm
  kShiftRight,  // imm, arithmetic
  kFromInt,
  kToByte,   // truncated to an integer, of which a store writes the lowest byte
  kScale,    // a * 2^b for integral b, rounded once; 512-bit vectors only
  kCompare,  // imm: the predicate of vcmpps; a mask
  kMaskAnd,
  kMaskOr,
  kMaskXor,
  kMaskNot,
  kSelect,  // a (mask) ? b : c
};

// An instruction.
struct VectorNode {
  VectorOp op;                                 // what it does
  std::array<int, 3> operands = {-1, -1, -1};  // numbers of nodes; -1: none
  uint32_t bits = 0;                           // of a constant: its bits; otherwise imm or index

  // True if the result is a mask.
  bool is_mask() const {
    return op == VectorOp::kInputBool || (op >= VectorOp::kCompare && op <= VectorOp::kMaskNot);
  }
  bool operator==(const VectorNode&) const = default;
};

// The instructions of a body.
struct VectorGraph {
  std::vector<VectorNode> nodes;  // operands come before users; constants are shared
  std::vector<int> results;       // one for each result of the body
};

// Returns the graph of a body; nullopt if it has ops or element types without vector instructions.
// `wide` means 512-bit vectors.
std::optional<VectorGraph> MakeVectorGraph(const PointwiseBody& body, bool wide);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_JIT_VECTOR_GRAPH_H_
