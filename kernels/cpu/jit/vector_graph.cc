#include "kernels/cpu/jit/vector_graph.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tenon::kernels::cpu {
namespace {

using Op = VectorOp;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Predicates of vcmpps, quiet.
constexpr uint32_t kEqual = 0x00, kUnordered = 0x03, kNotEqual = 0x04, kLess = 0x11,
                   kLessEqual = 0x12, kGreaterEqual = 0x1d, kGreater = 0x1e;

class Maker {
 public:
  Maker(const PointwiseBody& body, bool wide) : body_(body), wide_(wide) {}

  std::optional<VectorGraph> Make() {
    for (int i = 0; i < body_.first_constant(); ++i) {
      const std::optional<Op> input = InputOf(body_.inputs[i]);
      if (!input) return std::nullopt;
      values_.push_back(Node(*input, -1, -1, -1, i));
    }
    for (const PointwiseConstant& constant : body_.constants) {
      if (constant.dtype != DType::kF32) return std::nullopt;
      values_.push_back(Const(static_cast<float>(constant.real)));
    }
    for (const PointwiseStep& step : body_.steps) {
      const int value = Step(step);
      if (value < 0) return std::nullopt;
      values_.push_back(value);
    }
    for (int result : body_.results) graph_.results.push_back(values_[result]);
    return graph_;
  }

 private:
  // Equal nodes are one.
  int Node(Op op, int a, int b = -1, int c = -1, uint32_t bits = 0) {
    const VectorNode node = {op, {a, b, c}, bits};
    const auto found = std::find(graph_.nodes.begin(), graph_.nodes.end(), node);
    if (found != graph_.nodes.end()) return static_cast<int>(found - graph_.nodes.begin());
    graph_.nodes.push_back(node);
    return static_cast<int>(graph_.nodes.size()) - 1;
  }
  int Bits(uint32_t bits) { return Node(Op::kConstant, -1, -1, -1, bits); }
  int Const(float value) { return Bits(std::bit_cast<uint32_t>(value)); }
  int Add(int a, int b) { return Node(Op::kAdd, a, b); }
  int Sub(int a, int b) { return Node(Op::kSub, a, b); }
  int Mul(int a, int b) { return Node(Op::kMul, a, b); }
  int Div(int a, int b) { return Node(Op::kDiv, a, b); }
  int Fma(int a, int b, int c) { return Node(Op::kFma, a, b, c); }
  int Compare(uint32_t predicate, int a, int b) { return Node(Op::kCompare, a, b, -1, predicate); }
  int Select(int mask, int yes, int no) { return Node(Op::kSelect, mask, yes, no); }
  int Neg(int x) { return Node(Op::kXor, x, Bits(0x80000000)); }
  int Abs(int x) { return Node(Op::kAnd, x, Bits(0x7fffffff)); }
  // A NaN in x stays.
  int AtLeast(int x, float low) { return Node(Op::kRawMax, Const(low), x); }
  int AtMost(int x, float high) { return Node(Op::kRawMin, Const(high), x); }
  int Clamp(int x, float low, float high) { return AtMost(AtLeast(x, low), high); }

  int Polynomial(int x, std::initializer_list<float> coefficients) {
    int p = -1;
    for (float c : coefficients) p = p < 0 ? Const(c) : Fma(p, x, Const(c));
    return p;
  }

  // The larger or smaller; NaN if either is.
  int Extreme(Op op, int a, int b) {
    for (const int constant : {a, b}) {
      const VectorNode& node = graph_.nodes[constant];
      if (node.op != Op::kConstant) continue;
      const int other = constant == a ? b : a;
      return std::isnan(std::bit_cast<float>(node.bits)) ? constant : Node(op, constant, other);
    }
    const int raw = Node(op, a, b);
    return Select(Compare(kUnordered, a, a), a, raw);
  }

  // e^x = 2^n * (1 + fraction). Narrow vectors multiply by two factors, because 2^n itself may not
  // be representable.
  struct ReducedExp {
    int fraction, n;
    int factors[2];
  };
  ReducedExp ReduceExp(int clamped) {
    const int log2e = Const(1.44269504088896341f);
    // In narrow vectors, a sum with n + 254 in its lowest bits.
    const int shift = wide_ ? -1 : Const(12582912.0f + 254);
    const int sum = wide_ ? -1 : Fma(clamped, log2e, shift);
    const int n = wide_ ? Node(Op::kRound, Mul(clamped, log2e)) : Sub(sum, shift);
    int r = Fma(n, Const(-0.693145751953125f), clamped);
    r = Fma(n, Const(-1.428606820309417e-6f), r);
    const int p = Polynomial(r, {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f});
    ReducedExp e = {Fma(p, Mul(r, r), r), n, {-1, -1}};
    if (wide_) return e;
    const int half = Node(Op::kShiftRight, sum, -1, -1, 1);
    e.factors[0] = PowerOfBits(half);
    e.factors[1] = PowerOfBits(Node(Op::kSubInt, sum, half));
    return e;
  }
  int Scale(int x, const ReducedExp& e) {
    return wide_ ? Node(Op::kScale, x, e.n) : Mul(Mul(x, e.factors[0]), e.factors[1]);
  }

  int Exp(int x) {
    const ReducedExp e = ReduceExp(Clamp(x, -104.0f, 89.5f));
    return Scale(Add(e.fraction, Const(1.0f)), e);  // a NaN is in the fraction
  }

  int ExpMinusOne(int x) {
    const ReducedExp e = ReduceExp(Clamp(x, -30.0f, 89.5f));
    return Add(Scale(e.fraction, e), Sub(Scale(Const(1.0f), e), Const(1.0f)));
  }

  // 2^(n - 127) for the n in the lowest bits.
  int PowerOfBits(int bits) { return Node(Op::kShiftLeft, bits, -1, -1, 23); }

  // May exceed 1 by a unit in the last place.
  int NearlyErf(int x) {
    const int z = Clamp(x, -4.0f, 4.0f), s = Mul(z, z);
    const int p =
        Polynomial(s, {-2.72614225801306e-10f, 2.77068142495902e-08f, -2.10102402082508e-06f,
                       -5.69250639462346e-05f, -7.34990630326855e-04f, -2.95459980854025e-03f,
                       -1.60960333262415e-02f});
    const int q =
        Polynomial(s, {-1.45660718464996e-05f, -2.13374055278905e-04f, -1.68282697438203e-03f,
                       -7.37332916720468e-03f, -1.42647390514189e-02f});
    return Div(Mul(z, p), q);
  }

  int Erf(int x) { return Clamp(NearlyErf(x), -1.0f, 1.0f); }

  int Tanh(int x) {
    const int z = Clamp(x, -9.0f, 9.0f), s = Mul(z, z);
    const int p =
        Polynomial(s, {-2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f,
                       5.12229709037114e-08f, 1.48572235717979e-05f, 6.37261928875436e-04f,
                       4.89352455891786e-03f});
    const int q = Polynomial(s, {1.19825839466702e-06f, 1.18534705686654e-04f,
                                 2.26843463243900e-03f, 4.89352518554385e-03f});
    const int y = Clamp(Div(Mul(z, p), q), -1.0f, 1.0f);
    return Select(Compare(kLess, Abs(x), Const(4e-4f)), x, y);
  }

  int Log(int x) {
    const int tiny = Compare(kLess, x, Const(std::numeric_limits<float>::min()));
    const int scaled = Select(tiny, Mul(x, Const(8388608.0f)), x);
    const int offset = Node(Op::kSubInt, scaled, Bits(0x3f3504f3));
    int e = Node(Op::kFromInt, Node(Op::kShiftRight, offset, -1, -1, 23));
    e = Select(tiny, Sub(e, Const(23.0f)), e);
    const int mantissa = Node(Op::kAnd, offset, Bits(0x007fffff));
    const int z = Sub(Node(Op::kAddInt, mantissa, Bits(0x3f3504f3)), Const(1.0f));
    const int s = Mul(z, z);
    const int p = Polynomial(z, {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f,
                                 -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f,
                                 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f});
    int y = Mul(Mul(p, s), z);
    y = Fma(e, Const(-2.12194440e-4f), y);
    y = Fma(s, Const(-0.5f), y);
    y = Fma(e, Const(0.693359375f), Add(z, y));
    y = Select(Compare(kLess, x, Const(kInfinity)), y, x);
    y = Select(Compare(kEqual, x, Const(0)), Const(-kInfinity), y);
    return Select(Compare(kLess, x, Const(0)), Const(std::numeric_limits<float>::quiet_NaN()), y);
  }

  int OnePlusExpOfMinus(int x) { return Add(Exp(Neg(x)), Const(1.0f)); }

  int Gelu(int x, int form) {
    if (form == 2) return Div(x, OnePlusExpOfMinus(Mul(x, Const(1.702f))));
    const int half = Mul(x, Const(0.5f));
    if (form == 0) return Fma(half, NearlyErf(Mul(x, Const(0.70710678118654752f))), half);
    const int cubed = Mul(Mul(x, x), Mul(x, Const(0.044715f)));
    return Fma(half, Tanh(Mul(Add(x, cubed), Const(0.79788456080286536f))), half);
  }

  int Elu(int x, const PointwiseStep& step) {
    const auto alpha = static_cast<float>(step.params[0]);
    const auto gamma = static_cast<float>(step.params[1]);
    const float inverse = 1 / static_cast<float>(step.params[2]);
    const int scaled = inverse == 1 ? x : Mul(x, Const(inverse));
    const int below = Mul(Const(alpha * gamma), ExpMinusOne(scaled));
    return Select(Compare(kLess, x, Const(0)), below, gamma == 1 ? x : Mul(Const(gamma), x));
  }

  int Softplus(int x) {
    const int t = Exp(Neg(Abs(x))), sum = Add(Const(1.0f), t);
    const int log = Mul(Log(sum), Div(t, Sub(sum, Const(1.0f))));
    const int rest = Select(Compare(kEqual, sum, Const(1.0f)), t, log);
    return Add(AtLeast(x, 0), rest);
  }

  int Mish(int x) {
    const int e = Exp(AtMost(x, 20.0f)), n = Mul(e, Add(e, Const(2.0f)));
    return Mul(x, Div(n, Add(n, Const(2.0f))));
  }

  int Pow(int x, int exponent) {
    const VectorNode& node = graph_.nodes[exponent];
    if (node.op != Op::kConstant) return -1;
    const float e = std::bit_cast<float>(node.bits);
    if (e == 1) return x;
    if (e == 2) return Mul(x, x);
    if (e == 3) return Mul(Mul(x, x), x);
    return e == -1 ? Div(Const(1.0f), x) : -1;
  }

  int Step(const PointwiseStep& step) {
    std::array<int, 3> v = {-1, -1, -1};
    bool masks = false;
    for (int i = 0; i < InfoOf(step.op).num_operands; ++i) {
      v[i] = values_[step.operands[i]];
      masks = masks || graph_.nodes[v[i]].is_mask();
    }
    const int a = v[0], b = v[1];
    switch (step.op) {
      case PointwiseOp::kAnd:
        return Node(Op::kMaskAnd, a, b);
      case PointwiseOp::kOr:
        return Node(Op::kMaskOr, a, b);
      case PointwiseOp::kXor:
        return Node(Op::kMaskXor, a, b);
      case PointwiseOp::kNot:
        return Node(Op::kMaskNot, a);
      case PointwiseOp::kCast:
        return Cast(a, masks, body_.dtype(step.operands[0]), step.dtype);
      case PointwiseOp::kFma:
        return Fma(a, b, v[2]);
      case PointwiseOp::kWhere:
        return step.dtype == DType::kF32 ? Select(a, b, v[2]) : -1;
      case PointwiseOp::kEqual:
        return masks ? Node(Op::kMaskNot, Node(Op::kMaskXor, a, b)) : Compare(kEqual, a, b);
      default:
        return masks ? -1 : Arithmetic(step, a, b);
    }
  }

  static std::optional<Op> InputOf(DType dtype) {
    switch (dtype) {
      case DType::kF32:
        return Op::kInput;
      case DType::kBool:
        return Op::kInputBool;
      case DType::kU8:
        return Op::kInputU8;
      case DType::kI8:
        return Op::kInputI8;
      default:
        return std::nullopt;
    }
  }

  int Cast(int x, bool mask, DType from, DType to) {
    // Inputs of bytes are floats already; bytes that were made here are integers.
    if (graph_.nodes[x].op == Op::kToByte) {
      const int shift = from == DType::kI8 ? 24 : 0;
      x = shift == 0 ? Node(Op::kAnd, x, Bits(0xff))
                     : Node(Op::kShiftRight, Node(Op::kShiftLeft, x, -1, -1, shift), -1, -1, shift);
      x = Node(Op::kFromInt, x);
    }
    switch (to) {
      case DType::kF32:
        return mask ? Select(x, Const(1.0f), Const(0)) : x;
      case DType::kBool:
        return mask ? x : Compare(kNotEqual, x, Const(0));
      case DType::kU8:
      case DType::kI8:
        return ToByte(mask ? Select(x, Const(1.0f), Const(0)) : x, to == DType::kI8);
      default:
        return -1;
    }
  }

  // Is x between two numbers that 31 bits hold, or NaN?
  bool IsSmall(int x) const {
    const VectorNode& upper = graph_.nodes[x];
    if (upper.op != Op::kRawMin) return false;
    const VectorNode& lower = graph_.nodes[upper.operands[1]];
    if (lower.op != Op::kRawMax) return false;
    const auto bound = [&](const VectorNode& node) {
      const VectorNode& constant = graph_.nodes[node.operands[0]];
      return constant.op == Op::kConstant &&
             std::fabs(std::bit_cast<float>(constant.bits)) < 0x1p31f;
    };
    return bound(upper) && bound(lower);
  }

  // Saturates at 64 bits, then keeps the lowest eight: the numbers between the 31 bits of the
  // instruction and those 63 are multiples of 256, for which it gives 0 in the lowest as well.
  int ToByte(int x, bool is_signed) {
    if (IsSmall(x)) return Node(Op::kToByte, x);
    x = Select(Compare(kGreaterEqual, x, Const(0x1p63f)), Const(is_signed ? 127 : 255), x);
    if (is_signed) x = Select(Compare(kLess, x, Const(-0x1p63f)), Const(-128), x);
    return Node(Op::kToByte, x);
  }

  int Arithmetic(const PointwiseStep& step, int a, int b) {
    const auto alpha = static_cast<float>(step.params[0]);
    const auto beta = static_cast<float>(step.params[1]);
    switch (step.op) {
      case PointwiseOp::kAbs:
        return Abs(a);
      case PointwiseOp::kAdd:
        return Add(a, b);
      case PointwiseOp::kCeil:
        return Node(Op::kRound, a, -1, -1, 2);
      case PointwiseOp::kClip:
        return Clamp(a, beta, alpha);
      case PointwiseOp::kDiv:
        return Div(a, b);
      case PointwiseOp::kElu:
        return Elu(a, step);
      case PointwiseOp::kErf:
        return Erf(a);
      case PointwiseOp::kExp:
        return Exp(a);
      case PointwiseOp::kFloor:
        return Node(Op::kRound, a, -1, -1, 1);
      case PointwiseOp::kGelu:
        return Gelu(a, static_cast<int>(step.params[0]));
      case PointwiseOp::kGreater:
        return Compare(kGreater, a, b);
      case PointwiseOp::kGreaterEqual:
        return Compare(kGreaterEqual, a, b);
      case PointwiseOp::kHardSigmoid:
        return Clamp(Fma(a, Const(alpha), Const(beta)), 0, 1);
      case PointwiseOp::kHardSwish:
        return Mul(a, Clamp(Fma(a, Const(1.0f / 6), Const(0.5f)), 0, 1));
      case PointwiseOp::kLeakyRelu:
        return Select(Compare(kLess, a, Const(0)), Mul(a, Const(alpha)), a);
      case PointwiseOp::kLess:
        return Compare(kLess, a, b);
      case PointwiseOp::kLessEqual:
        return Compare(kLessEqual, a, b);
      case PointwiseOp::kLog:
        return Log(a);
      case PointwiseOp::kMax:
        return Extreme(Op::kRawMax, a, b);
      case PointwiseOp::kMin:
        return Extreme(Op::kRawMin, a, b);
      case PointwiseOp::kMish:
        return Mish(a);
      case PointwiseOp::kMul:
        return Mul(a, b);
      case PointwiseOp::kNeg:
        return Neg(a);
      case PointwiseOp::kPow:
        return Pow(a, b);
      case PointwiseOp::kReciprocal:
        return Div(Const(1.0f), a);
      case PointwiseOp::kRelu:
        return AtLeast(a, 0);
      case PointwiseOp::kRound:
        return Node(Op::kRound, a);
      case PointwiseOp::kSigmoid:
        return Div(Const(1.0f), OnePlusExpOfMinus(a));
      case PointwiseOp::kSign: {
        const int positive = Select(Compare(kGreater, a, Const(0)), Const(1.0f), a);
        return Select(Compare(kLess, a, Const(0)), Const(-1.0f), positive);
      }
      case PointwiseOp::kSilu:
        return Div(a, OnePlusExpOfMinus(a));
      case PointwiseOp::kSoftplus:
        return Softplus(a);
      case PointwiseOp::kSqrt:
        return Node(Op::kSqrt, a);
      case PointwiseOp::kSub:
        return Sub(a, b);
      case PointwiseOp::kTanh:
        return Tanh(a);
      default:
        return -1;  // sine and cosine need more than one way
    }
  }

  const PointwiseBody& body_;
  bool wide_;
  VectorGraph graph_;
  std::vector<int> values_;
};

}  // namespace

std::optional<VectorGraph> MakeVectorGraph(const PointwiseBody& body, bool wide) {
  return Maker(body, wide).Make();
}

}  // namespace tenon::kernels::cpu
