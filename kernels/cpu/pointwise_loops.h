// Elementwise loops over contiguous elements that are not arithmetic of floats: comparisons, logic,
// integers, selection, conversion. Compiled for several instruction sets from one source.
#ifndef TENON_KERNELS_CPU_POINTWISE_LOOPS_H_
#define TENON_KERNELS_CPU_POINTWISE_LOOPS_H_

#include <cstdint>

namespace tenon::kernels::cpu {

// Unused operands are null. A result may overwrite an operand of the same element size.
using PointwiseLoop = void (*)(const void* a, const void* b, const void* c, void* y, int64_t n);

// Positions in the tables.
enum PointwiseElement : uint8_t {
  kElementF32,
  kElementI32,
  kElementI64,
  kElementBool,
  kElementU8,  // these two are converted only
  kElementI8
};
enum PointwiseCompare : uint8_t {
  kCompareEqual,
  kCompareGreater,
  kCompareGreaterEqual,
  kCompareLess,
  kCompareLessEqual
};
enum PointwiseInteger : uint8_t {
  kIntegerAbs,
  kIntegerNeg,
  kIntegerAdd,
  kIntegerSub,
  kIntegerMul,
  kIntegerMax,
  kIntegerMin
};
enum PointwiseLogic : uint8_t { kLogicAnd, kLogicOr, kLogicXor, kLogicNot };

struct PointwiseLoops {
  PointwiseLoop compare[5][4];  // [PointwiseCompare][PointwiseElement]
  PointwiseLoop integer[7][2];  // [PointwiseInteger], i32 and i64
  PointwiseLoop logic[4];
  PointwiseLoop select[4];   // y = a != 0 ? b : c, by the element of b and c
  PointwiseLoop cast[6][6];  // [from][to]
};

const PointwiseLoops& PortablePointwiseLoops();
const PointwiseLoops& Avx2PointwiseLoops();
const PointwiseLoops& Avx512PointwiseLoops();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_POINTWISE_LOOPS_H_
