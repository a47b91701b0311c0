// Elementwise ops with broadcasting, casts and selections: one thread an element, the op a uniform
// branch.
#include "kernels/gpu/device_code.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kGroupThreads = 128;

struct Factors {
  float alpha, beta, gamma;
};

__device__ inline float Apply(ElementwiseOp op, const Factors& p, float a, float b) {
  switch (op) {
    case ElementwiseOp::kAbs:
      return fabsf(a);
    case ElementwiseOp::kNeg:
      return -a;
    case ElementwiseOp::kSign:
      return a > 0 ? 1.0f : a < 0 ? -1.0f : a;
    case ElementwiseOp::kExp:
      return expf(a);
    case ElementwiseOp::kLog:
      return logf(a);
    case ElementwiseOp::kSqrt:
      return sqrtf(a);
    case ElementwiseOp::kReciprocal:
      return 1.0f / a;
    case ElementwiseOp::kErf:
      return erff(a);
    case ElementwiseOp::kSin:
      return sinf(a);
    case ElementwiseOp::kCos:
      return cosf(a);
    case ElementwiseOp::kCeil:
      return ceilf(a);
    case ElementwiseOp::kFloor:
      return floorf(a);
    case ElementwiseOp::kRound:
      return rintf(a);
    case ElementwiseOp::kSoftplus:
      return a > 0 ? a + log1pf(expf(-a)) : log1pf(expf(a));
    case ElementwiseOp::kElu:  // alpha, beta = 1 / width, gamma
      return a > 0 ? p.gamma * a : p.gamma * p.alpha * expm1f(a * p.beta);
    case ElementwiseOp::kAdd:
      return a + b;
    case ElementwiseOp::kSub:
      return a - b;
    case ElementwiseOp::kMul:
      return a * b;
    case ElementwiseOp::kDiv:
      return a / b;
    case ElementwiseOp::kPow:
      return b == 2 ? a * a : powf(a, b);
    case ElementwiseOp::kMax:
      return a != a || a > b ? a : b;
    case ElementwiseOp::kMin:
      return a != a || a < b ? a : b;
    default:
      return Activate(static_cast<ActivationKind>(op), p.alpha, p.beta, a);
  }
}

__device__ inline uint8_t ApplyInt(ElementwiseOp op, uint8_t a, uint8_t b) {
  switch (op) {
    case ElementwiseOp::kNot:
      return a == 0;
    case ElementwiseOp::kAnd:
      return a != 0 && b != 0;
    case ElementwiseOp::kOr:
      return a != 0 || b != 0;
    default:  // xor
      return (a != 0) != (b != 0);
  }
}

// Arithmetic wraps around.
template <typename I>
__device__ inline I ApplyInt(ElementwiseOp op, I a, I b) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (op) {
    case ElementwiseOp::kAbs:
      return a < 0 ? static_cast<I>(0 - ua) : a;
    case ElementwiseOp::kNeg:
      return static_cast<I>(0 - ua);
    case ElementwiseOp::kSign:
      return static_cast<I>((a > 0) - (a < 0));
    case ElementwiseOp::kAdd:
      return static_cast<I>(ua + ub);
    case ElementwiseOp::kSub:
      return static_cast<I>(ua - ub);
    case ElementwiseOp::kMul:
      return static_cast<I>(ua * ub);
    case ElementwiseOp::kMax:
      return a > b ? a : b;
    case ElementwiseOp::kMin:
      return a < b ? a : b;
    default:  // relu
      return a < 0 ? 0 : a;
  }
}

template <typename C>
__device__ inline bool Test(ElementwiseOp op, C a, C b) {
  switch (op) {
    case ElementwiseOp::kEqual:
      return a == b;
    case ElementwiseOp::kLess:
      return a < b;
    case ElementwiseOp::kLessEqual:
      return a <= b;
    case ElementwiseOp::kGreater:
      return a > b;
    case ElementwiseOp::kGreaterEqual:
      return a >= b;
    default:  // is_nan
      return a != a;
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    ElementwiseFloat(TENON_GRID_CONSTANT ElementwiseParams p) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const Positions<2> at = Locate(p.at, i);
    const float a = Widen(As<T>(p.a)[at.at[0]]);
    const float b = p.b != nullptr ? Widen(As<T>(p.b)[at.at[1]]) : 0.0f;
    if (GivesBool(p.op)) {
      static_cast<uint8_t*>(p.out)[i] = Test(p.op, a, b);
    } else {
      static_cast<T*>(p.out)[i] = Narrow<T>(Apply(p.op, {p.alpha, p.beta, p.gamma}, a, b));
    }
  }
}

template <typename I>
__global__ void __launch_bounds__(kThreads)
    ElementwiseInt(TENON_GRID_CONSTANT ElementwiseParams p) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const Positions<2> at = Locate(p.at, i);
    const I a = As<I>(p.a)[at.at[0]];
    const I b = p.b != nullptr ? As<I>(p.b)[at.at[1]] : I{0};
    if (GivesBool(p.op)) {
      static_cast<uint8_t*>(p.out)[i] = Test(p.op, a, b);
    } else {
      static_cast<I*>(p.out)[i] = ApplyInt(p.op, a, b);
    }
  }
}

__device__ inline int64_t LoadInt(DType dtype, const void* in, int64_t i) {
  switch (dtype) {
    case DType::kI8:
      return As<int8_t>(in)[i];
    case DType::kI16:
      return As<int16_t>(in)[i];
    case DType::kI32:
      return As<int32_t>(in)[i];
    case DType::kI64:
      return As<int64_t>(in)[i];
    default:  // bool, u8
      return As<uint8_t>(in)[i];
  }
}
__device__ inline double LoadFloat(DType dtype, const void* in, int64_t i) {
  switch (dtype) {
    case DType::kF16:
      return Widen(As<F16>(in)[i]);
    case DType::kBF16:
      return Widen(As<BF16>(in)[i]);
    case DType::kF32:
      return As<float>(in)[i];
    default:
      return As<double>(in)[i];
  }
}

// V: int64_t or double.
template <typename V>
__device__ inline void StoreAs(DType dtype, void* out, int64_t i, V v) {
  switch (dtype) {
    case DType::kBool:
      static_cast<uint8_t*>(out)[i] = v != 0;
      break;
    case DType::kI8:
      static_cast<int8_t*>(out)[i] = static_cast<int8_t>(static_cast<int64_t>(v));
      break;
    case DType::kU8:
      static_cast<uint8_t*>(out)[i] = static_cast<uint8_t>(static_cast<int64_t>(v));
      break;
    case DType::kI16:
      static_cast<int16_t*>(out)[i] = static_cast<int16_t>(static_cast<int64_t>(v));
      break;
    case DType::kI32:
      static_cast<int32_t*>(out)[i] = static_cast<int32_t>(static_cast<int64_t>(v));
      break;
    case DType::kI64:
      static_cast<int64_t*>(out)[i] = static_cast<int64_t>(v);
      break;
    case DType::kF16:
      static_cast<F16*>(out)[i] = Narrow<F16>(static_cast<float>(v));
      break;
    case DType::kBF16:
      static_cast<BF16*>(out)[i] = Narrow<BF16>(static_cast<float>(v));
      break;
    case DType::kF32:
      static_cast<float*>(out)[i] = static_cast<float>(v);
      break;
    default:
      static_cast<double*>(out)[i] = static_cast<double>(v);
      break;
  }
}

__global__ void __launch_bounds__(kThreads) CastKernel(TENON_GRID_CONSTANT CastParams p) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    if (IsFloat(p.from)) {
      StoreAs(p.to, p.out, i, LoadFloat(p.from, p.in, i));
    } else {
      StoreAs(p.to, p.out, i, LoadInt(p.from, p.in, i));
    }
  }
}

// A value of a group: a float by its bits, or an integer.
__device__ inline float AsFloat(int64_t word) {
  const auto bits = static_cast<uint32_t>(word);
  float v;
  memcpy(&v, &bits, sizeof(v));
  return v;
}
__device__ inline int64_t AsWord(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof(bits));
  return bits;
}

__device__ inline int64_t RunStep(const GroupStep& step, int64_t a, int64_t b, int64_t c) {
  if (step.kind == GroupStep::kSelect) return a != 0 ? b : c;
  const bool floats = step.from == DType::kF32;
  if (step.kind == GroupStep::kCast) {
    if (step.to == DType::kF32) {
      return floats ? a : AsWord(static_cast<float>(a));
    }
    if (step.to == DType::kBool) return floats ? AsFloat(a) != 0 : a != 0;
    const int64_t v = floats ? static_cast<int64_t>(AsFloat(a)) : a;
    return step.to == DType::kI32 ? static_cast<int32_t>(v) : v;
  }
  if (GivesBool(step.op)) {
    return floats ? Test(step.op, AsFloat(a), AsFloat(b)) : Test(step.op, a, b);
  }
  if (floats) return AsWord(Apply(step.op, {step.alpha, step.beta, 0}, AsFloat(a), AsFloat(b)));
  if (step.from == DType::kBool) {
    return ApplyInt(step.op, static_cast<uint8_t>(a), static_cast<uint8_t>(b));
  }
  const int64_t v = ApplyInt(step.op, a, b);
  return step.to == DType::kI32 ? static_cast<int32_t>(v) : v;
}

// Values lie in shared memory, a column a thread: what a body needs is known at run time only.
__global__ void __launch_bounds__(kGroupThreads) GroupKernel(TENON_GRID_CONSTANT GroupParams p) {
  TENON_DYNAMIC_SHARED_FLOATS(shared);
  int64_t* values = reinterpret_cast<int64_t*>(shared) + threadIdx.x;
  const int first_step = p.num_inputs + p.num_constants;
  for (int k = 0; k < p.num_constants; ++k) {
    values[(p.num_inputs + k) * kGroupThreads] = p.constants[k];
  }
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kGroupThreads + threadIdx.x; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * kGroupThreads) {
    for (int k = 0; k < p.num_inputs; ++k) {
      int64_t at = 0, rest = i;
      for (int axis = p.at.rank - 1; axis > 0; --axis) {
        at += DivMod(rest, p.at.shape[axis]) * p.at.strides[k][axis];
      }
      at += rest * p.at.strides[k][0];
      values[k * kGroupThreads] = p.input_types[k] == DType::kF32
                                      ? AsWord(As<float>(p.inputs[k])[at])
                                      : LoadInt(p.input_types[k], p.inputs[k], at);
    }
    for (int s = 0; s < p.num_steps; ++s) {
      const GroupStep& step = p.steps[s];
      const int64_t a = values[step.a * kGroupThreads];
      const int64_t b = step.b >= 0 ? values[step.b * kGroupThreads] : 0;
      const int64_t c = step.c >= 0 ? values[step.c * kGroupThreads] : 0;
      values[(first_step + s) * kGroupThreads] = RunStep(step, a, b, c);
    }
    for (int r = 0; r < p.num_results; ++r) {
      const int64_t v = values[p.result_values[r] * kGroupThreads];
      if (p.result_types[r] == DType::kF32) {
        static_cast<float*>(p.results[r])[i] = AsFloat(v);
      } else {
        StoreAs(p.result_types[r], p.results[r], i, v);
      }
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) SelectKernel(TENON_GRID_CONSTANT SelectParams p) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const Positions<3> at = Locate(p.at, i);
    static_cast<T*>(p.out)[i] = p.cond[at.at[0]] != 0 ? As<T>(p.a)[at.at[1]] : As<T>(p.b)[at.at[2]];
  }
}

}  // namespace

void LaunchOn(StreamHandle stream, const ElementwiseParams& p) {
  const int64_t blocks = BlocksFor(p.n, kThreads);
  const bool floats = DispatchFloats(p.dtype, [&]<typename T>() {
    TENON_LAUNCH(ElementwiseFloat<T>, blocks, kThreads, 0, stream, p);
  });
  if (floats) return;
  if (p.dtype == DType::kI64) {
    TENON_LAUNCH(ElementwiseInt<int64_t>, blocks, kThreads, 0, stream, p);
  } else if (p.dtype == DType::kI32) {
    TENON_LAUNCH(ElementwiseInt<int32_t>, blocks, kThreads, 0, stream, p);
  } else {
    TENON_LAUNCH(ElementwiseInt<uint8_t>, blocks, kThreads, 0, stream, p);
  }
}

void LaunchOn(StreamHandle stream, const CastParams& p) {
  TENON_LAUNCH(CastKernel, BlocksFor(p.n, kThreads), kThreads, 0, stream, p);
}

void LaunchOn(StreamHandle stream, const GroupParams& p) {
  const int values = p.num_inputs + p.num_constants + p.num_steps;
  TENON_LAUNCH(GroupKernel, BlocksFor(p.n, kGroupThreads), kGroupThreads,
               static_cast<size_t>(values) * kGroupThreads * sizeof(int64_t), stream, p);
}

void LaunchOn(StreamHandle stream, const SelectParams& p) {
  const int64_t blocks = BlocksFor(p.n, kThreads);
  if (p.size == 1) {
    TENON_LAUNCH(SelectKernel<uint8_t>, blocks, kThreads, 0, stream, p);
  } else if (p.size == 2) {
    TENON_LAUNCH(SelectKernel<uint16_t>, blocks, kThreads, 0, stream, p);
  } else if (p.size == 4) {
    TENON_LAUNCH(SelectKernel<uint32_t>, blocks, kThreads, 0, stream, p);
  } else {
    TENON_LAUNCH(SelectKernel<uint64_t>, blocks, kThreads, 0, stream, p);
  }
}

}  // namespace tenon::kernels::gpu
