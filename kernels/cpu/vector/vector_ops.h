// Vectorized loops over contiguous floats, compiled for several instruction sets and chosen at run
// time. Kernels build strides, threads and shapes on them.
#ifndef TENON_KERNELS_CPU_VECTOR_VECTOR_OPS_H_
#define TENON_KERNELS_CPU_VECTOR_VECTOR_OPS_H_

#include <cstdint>

namespace tenon::kernels::cpu {

enum class Isa : uint8_t;  // isa.h

// An op of one operand. Ops are named as in the dialect `ten`; comments give their formulas.
enum class UnaryOp : uint8_t {
  kAbs,
  kNeg,
  kSqrt,
  kReciprocal,
  kCeil,
  kFloor,
  kRound,
  kExp,
  kErf,
  kTanh,
  kSigmoid,
  kSilu,
  kRelu,
  kGelu,
  kGeluTanh,
  kGeluSigmoid,
  kClip,         // alpha, beta: the bounds
  kLeakyRelu,    // alpha
  kHardSigmoid,  // alpha, beta
  kHardSwish,
  kMish,
  kSquare,
  kCube,
  kAffine,  // alpha * x + beta
  kLog,
  kSign,
  kSin,
  kCos,
  kElu,  // x < 0: alpha * (e^(gamma * x) - 1), else beta * x
  kSoftplus,
};
inline constexpr int kNumUnaryOps = 30;  // values of UnaryOp

// An op of two operands.
enum class BinaryOp : uint8_t { kAdd, kSub, kMul, kDiv, kMax, kMin };
inline constexpr int kNumBinaryOps = 6;  // values of BinaryOp

// The operands of a binary loop: vectors (V) or one scalar (S).
enum class BinaryForm : uint8_t { kVV, kVS, kSV };

// A norm of rows of n elements: sum = x (+ offset) (+ skip), with an offset only beside a skip; out
// = (sum [- mean]) / sqrt(mean of squares + epsilon) [* scale] [+ bias]. Null operands are absent.
// Rows of sum and out are adjacent, those of x and skip are `x_step` and `skip_step` elements
// apart. `sum` may be x or skip; `out` may be any of them.
struct NormRows {
  int64_t rows = 1;
  const float* x = nullptr;
  int64_t x_step = 0;
  const float* skip = nullptr;
  int64_t skip_step = 0;
  const float* offset = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  float* sum = nullptr;
  float* out = nullptr;
  int64_t n = 0;
  float epsilon = 0;
  bool subtract_mean = false;
};

// Weighted sums along an axis. Position o of the result has taps [first[o], first[o + 1]).
struct WeightedTaps {
  const int64_t* first;  // positions + 1 numbers of taps
  const int64_t* index;  // by tap: the position in x
  const float* weight;   // by tap
  int64_t positions;     // of the result
};

// The loops of one instruction set. A result may overwrite an operand that starts at the same
// address. Otherwise they must not overlap.
struct VectorOps {
  // y = op(x) for n elements.
  using UnaryFn = void (*)(const float* x, float* y, int64_t n, float alpha, float beta,
                           float gamma);
  // y = op(a, b) for n elements.
  using BinaryFn = void (*)(const float* a, const float* b, float* y, int64_t n);

  UnaryFn unary[kNumUnaryOps];              // by UnaryOp
  BinaryFn binary[kNumBinaryOps][3];        // [op][form]
  float (*sum)(const float* x, int64_t n);  // 0 if n is 0
  // The root of the sum of squares; right also where floats do not hold that sum. 0 if n is 0.
  float (*length)(const float* x, int64_t n);
  float (*max)(const float* x, int64_t n);  // NaN if any is; -inf if n is 0
  float (*min)(const float* x, int64_t n);  // NaN if any is; +inf if n is 0
  // All results are NaN if a score is NaN or +inf, or if all are -inf.
  void (*softmax)(const float* x, float* y, int64_t n);
  void (*log_softmax)(const float* x, float* y, int64_t n);  // likewise
  void (*norm)(const NormRows& rows);                        // see NormRows
  // y = the sum of weights[t] * x[t] over `count` rows of n elements; y is none of them.
  void (*weighted_sum)(const float* const* x, const float* weights, int64_t count, float* y,
                       int64_t n);
  // y[o] = the sum of weight * x[index] over the taps of each position o; x and y have elements of
  // `inner` floats and do not overlap.
  void (*resample)(const float* x, const WeightedTaps& taps, int64_t inner, float* y);
  // y = x * cos + rotate(x) * sin for a row of n elements, in halves or in neighbouring pairs; y is
  // not x.
  void (*rotate)(const float* x, const float* cos, const float* sin, float* y, int64_t n,
                 bool interleaved);
};

// Returns the loops for this machine, at the level of ActiveIsa.
const VectorOps& GetVectorOps();
// Returns the loops for a level, which must be at most DetectedIsa.
const VectorOps& GetVectorOps(Isa isa);

// Returns the loop of `op` over two vectors.
inline VectorOps::BinaryFn LoopOf(BinaryOp op) {
  return GetVectorOps().binary[static_cast<int>(op)][static_cast<int>(BinaryForm::kVV)];
}

// y = op(x) for n elements.
inline void Apply(UnaryOp op, const float* x, float* y, int64_t n, float alpha = 0, float beta = 0,
                  float gamma = 0) {
  GetVectorOps().unary[static_cast<int>(op)](x, y, n, alpha, beta, gamma);
}

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_VECTOR_VECTOR_OPS_H_
