// Elementwise loops over contiguous elements, except arithmetic of floats: comparisons, logic,
// integers, selection and conversion. Compiled for several instruction sets from one source.
#ifndef TENON_KERNELS_CPU_POINTWISE_POINTWISE_LOOPS_H_
#define TENON_KERNELS_CPU_POINTWISE_POINTWISE_LOOPS_H_

#include <cstdint>

namespace tenon::kernels::cpu {

// Computes n elements of y. Unused operands are null. A result may overwrite an operand of the same
// element size.
using PointwiseLoop = void (*)(const void* a, const void* b, const void* c, void* y, int64_t n);

// An element type: an index of the tables.
enum PointwiseElement : uint8_t {
  kElementF32,
  kElementI32,
  kElementI64,
  kElementBool,
  kElementU8,  // for `cast` only
  kElementI8   // for `cast` only
};
// A comparison: an index of the tables.
enum PointwiseCompare : uint8_t {
  kCompareEqual,
  kCompareGreater,
  kCompareGreaterEqual,
  kCompareLess,
  kCompareLessEqual
};
// An op on integers: an index of the tables.
enum PointwiseInteger : uint8_t {
  kIntegerAbs,
  kIntegerNeg,
  kIntegerAdd,
  kIntegerSub,
  kIntegerMul,
  kIntegerMax,
  kIntegerMin
};
// An op on bools: an index of the tables.
enum PointwiseLogic : uint8_t { kLogicAnd, kLogicOr, kLogicXor, kLogicNot };

// The loops of one instruction set.
struct PointwiseLoops {
  PointwiseLoop compare[5][4];  // [PointwiseCompare][PointwiseElement]
  PointwiseLoop integer[7][2];  // [PointwiseInteger], i32 and i64
  PointwiseLoop logic[4];       // [PointwiseLogic]
  PointwiseLoop select[4];      // y = a != 0 ? b : c, by the element of b and c
  PointwiseLoop cast[6][6];     // [from][to]
  PointwiseLoop fma;            // y = a * b + c of floats, rounded once
};

// Each returns the loops of one instruction set.
const PointwiseLoops& PortablePointwiseLoops();
const PointwiseLoops& Avx2PointwiseLoops();
const PointwiseLoops& Avx512PointwiseLoops();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_POINTWISE_POINTWISE_LOOPS_H_
