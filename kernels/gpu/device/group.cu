// fused.group: its steps are interpreted, each once for four neighbouring elements of a thread.
#include "kernels/gpu/device/device_code.h"
#include "kernels/gpu/device/elementwise_ops.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kMostThreads = 128;
constexpr int kEach = 4;  // elements of a thread at once

// How an operand's four elements are read, and from where on.
enum class Access : uint8_t { kVector, kSteps, kEachLocated };
enum class Base : uint8_t { kIndex, kFirst, kLocated };
struct Input {
  Access access;
  Base base;
  int64_t step;  // kSteps: from one element to the next
};
struct Task {
  GroupParams group;
  Input inputs[kMaxGroupInputs];
};
static_assert(sizeof(Task) <= 4096, "what drivers take as a kernel's arguments");

// A value of a group: a float by its bits, or an integer. Words of 64 bits where any of the body's
// values takes as many.
template <typename Word>
struct Four {
  Word at[kEach];
};
__device__ inline float AsFloat(uint64_t word) {
  const auto bits = static_cast<uint32_t>(word);
  float v;
  memcpy(&v, &bits, sizeof(v));
  return v;
}
__device__ inline uint32_t BitsOf(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof(bits));
  return bits;
}
__device__ inline int32_t AsInt(uint32_t word) { return static_cast<int32_t>(word); }
__device__ inline int64_t AsInt(uint64_t word) { return static_cast<int64_t>(word); }

// A thread's values, in shared memory: slots of planes of 16 bytes for each thread, so that
// neighbours meet different banks.
template <typename Word>
class Slots {
 public:
  __device__ explicit Slots(float* shared)
      : own_(reinterpret_cast<Piece*>(shared) + threadIdx.x),
        pitch_(static_cast<int>(blockDim.x)) {}
  __device__ Four<Word> Get(int slot) const {
    Four<Word> v;
#pragma unroll
    for (int plane = 0; plane < kPlanes; ++plane) {
      const Piece piece = own_[(slot * kPlanes + plane) * pitch_];
#pragma unroll
      for (int e = 0; e < kInPiece; ++e) v.at[plane * kInPiece + e] = piece.at[e];
    }
    return v;
  }
  __device__ void Put(int slot, const Four<Word>& v) {
#pragma unroll
    for (int plane = 0; plane < kPlanes; ++plane) {
      Piece piece;
#pragma unroll
      for (int e = 0; e < kInPiece; ++e) piece.at[e] = v.at[plane * kInPiece + e];
      own_[(slot * kPlanes + plane) * pitch_] = piece;
    }
  }

 private:
  static constexpr int kInPiece = 16 / sizeof(Word), kPlanes = kEach / kInPiece;
  struct alignas(16) Piece {
    Word at[kInPiece];
  };
  Piece* own_;
  int pitch_;
};

// E: as the elements lie in memory; floats by their bits.
template <typename E, typename Word>
__device__ inline void LoadAs(const Strided<kMaxGroupInputs>& at, const void* data,
                              const Input& input, int k, int64_t i, int count, Four<Word>& v) {
  int64_t base = 0;
  if (input.base == Base::kIndex) base = i;
  if (input.base == Base::kLocated) base = LocateOne(at, k, i);
  const E* const from = As<E>(data) + base;
  if (input.access == Access::kVector && count == kEach) {
    const auto pack = *reinterpret_cast<const Pack<E, kEach>*>(from);
#pragma unroll
    for (int e = 0; e < kEach; ++e) v.at[e] = static_cast<Word>(pack.at[e]);
    return;
  }
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    v.at[e] = 0;
    if (e >= count) continue;
    if (input.access == Access::kEachLocated) {
      v.at[e] = static_cast<Word>(As<E>(data)[LocateOne(at, k, i + e)]);
    } else {
      v.at[e] = static_cast<Word>(from[e * input.step]);
    }
  }
}
template <typename Word>
__device__ inline Four<Word> Load(const Task& task, int k, int64_t i, int count) {
  const GroupParams& p = task.group;
  Four<Word> v;
  switch (p.input_types[k]) {
    case DType::kF32:
      LoadAs<uint32_t>(p.at, p.inputs[k], task.inputs[k], k, i, count, v);
      break;
    case DType::kI32:
      LoadAs<int32_t>(p.at, p.inputs[k], task.inputs[k], k, i, count, v);
      break;
    case DType::kI64:
      LoadAs<int64_t>(p.at, p.inputs[k], task.inputs[k], k, i, count, v);
      break;
    case DType::kI8:
      LoadAs<int8_t>(p.at, p.inputs[k], task.inputs[k], k, i, count, v);
      break;
    default:  // bool and ui8
      LoadAs<uint8_t>(p.at, p.inputs[k], task.inputs[k], k, i, count, v);
      break;
  }
  return v;
}

template <typename E, typename Word>
__device__ inline void StoreAs(void* out, int64_t i, int count, const Four<Word>& v) {
  E* const to = static_cast<E*>(out) + i;
  if (count == kEach && reinterpret_cast<uintptr_t>(to) % alignof(Pack<E, kEach>) == 0) {
    Pack<E, kEach> pack;
#pragma unroll
    for (int e = 0; e < kEach; ++e) pack.at[e] = static_cast<E>(v.at[e]);
    *reinterpret_cast<Pack<E, kEach>*>(to) = pack;
    return;
  }
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    if (e < count) to[e] = static_cast<E>(v.at[e]);
  }
}
template <typename Word>
__device__ inline void Store(DType dtype, void* out, int64_t i, int count, const Four<Word>& v) {
  switch (dtype) {
    case DType::kF32:
    case DType::kI32:
      StoreAs<uint32_t>(out, i, count, v);
      break;
    case DType::kI64:
      StoreAs<uint64_t>(out, i, count, v);
      break;
    default:  // bool and bytes
      StoreAs<uint8_t>(out, i, count, v);
      break;
  }
}

template <typename Word, typename F>
__device__ inline Four<Word> Map(F&& f) {
  Four<Word> v;
#pragma unroll
  for (int e = 0; e < kEach; ++e) v.at[e] = static_cast<Word>(f(e));
  return v;
}

template <typename Word>
__device__ inline Four<Word> Cast(const GroupStep& step, const Four<Word>& a) {
  const bool floats = step.from == DType::kF32;
  switch (step.to) {
    case DType::kF32:
      if (floats) return a;
      return Map<Word>([&](int e) { return BitsOf(static_cast<float>(AsInt(a.at[e]))); });
    case DType::kBool:
      return Map<Word>([&](int e) { return floats ? AsFloat(a.at[e]) != 0 : a.at[e] != 0; });
    default:
      return Map<Word>([&](int e) {
        const int64_t v = floats ? static_cast<int64_t>(AsFloat(a.at[e])) : AsInt(a.at[e]);
        return step.to == DType::kI32  ? static_cast<int32_t>(v)
               : step.to == DType::kU8 ? static_cast<uint8_t>(v)
               : step.to == DType::kI8 ? static_cast<int8_t>(v)
                                       : v;
      });
  }
}

template <typename Word>
__device__ inline Four<Word> RunStep(const GroupStep& step, const Four<Word>& a,
                                     const Four<Word>& b, const Four<Word>& c) {
  if (step.kind == GroupStep::kSelect) {
    return Map<Word>([&](int e) { return a.at[e] != 0 ? b.at[e] : c.at[e]; });
  }
  if (step.kind == GroupStep::kFma) {
    return Map<Word>(
        [&](int e) { return BitsOf(fmaf(AsFloat(a.at[e]), AsFloat(b.at[e]), AsFloat(c.at[e]))); });
  }
  if (step.kind == GroupStep::kCast) return Cast(step, a);
  const bool floats = step.from == DType::kF32;
  if (GivesBool(step.op)) {
    return Map<Word>([&](int e) {
      return floats ? Test(step.op, AsFloat(a.at[e]), AsFloat(b.at[e]))
                    : Test(step.op, AsInt(a.at[e]), AsInt(b.at[e]));
    });
  }
  if (floats) {
    Four<Word> v;
    const Factors factors = {step.alpha, step.beta, step.gamma};
    WithOp(step.op, factors, [&](auto f) {
#pragma unroll
      for (int e = 0; e < kEach; ++e) v.at[e] = BitsOf(f(AsFloat(a.at[e]), AsFloat(b.at[e])));
    });
    return v;
  }
  if (step.from == DType::kBool) {
    return Map<Word>([&](int e) {
      return ApplyInt(step.op, static_cast<uint8_t>(a.at[e]), static_cast<uint8_t>(b.at[e]));
    });
  }
  return Map<Word>([&](int e) {
    const auto v = ApplyInt(step.op, AsInt(a.at[e]), AsInt(b.at[e]));
    return step.to == DType::kI32 ? static_cast<int32_t>(v) : v;
  });
}

template <typename Word>
__device__ inline Four<Word> Value(const GroupParams& p, const Slots<Word>& slots, int value) {
  if (value >= 0) return slots.Get(value);
  return Map<Word>([&](int) { return p.constants[~value]; });
}

template <typename Word>
__global__ void __launch_bounds__(kMostThreads, 8) Group(TENON_GRID_CONSTANT Task task) {
  TENON_DYNAMIC_SHARED_FLOATS(shared);
  const GroupParams& p = task.group;
  Slots<Word> slots(shared);
  for (int64_t i = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kEach; i < p.n;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x * kEach) {
    const int count = p.n - i < kEach ? static_cast<int>(p.n - i) : kEach;
    for (int k = 0; k < p.num_inputs; ++k) slots.Put(k, Load<Word>(task, k, i, count));
    for (int s = 0; s < p.num_steps; ++s) {
      const GroupStep& step = p.steps[s];
      const Four<Word> a = Value(p, slots, step.a);
      Four<Word> b = a, c = a;
      if (step.operands > 1) b = Value(p, slots, step.b);
      if (step.operands > 2) c = Value(p, slots, step.c);
      const Four<Word> v = RunStep(step, a, b, c);
      if (step.slot >= 0) slots.Put(step.slot, v);
      if (step.result >= 0) Store(step.to, p.results[step.result], i, count, v);
    }
  }
}

// Elements of input k, of `size` bytes, for four neighbouring elements of the results.
Input Examine(const GroupParams& p, int k, uint64_t size) {
  const int last = p.at.rank - 1;
  const int64_t step = p.at.strides[k][last];
  int64_t dense_stride = 1;
  bool dense = true, first = true;
  uint64_t distances = 0;  // between rows of the input, where fours of the results do not end
  for (int axis = last; axis >= 0; --axis) {
    const int64_t stride = p.at.strides[k][axis];
    dense = dense && stride == dense_stride;
    first = first && stride == 0;
    if (axis < last) distances |= static_cast<uint64_t>(stride);
    dense_stride *= p.at.shape[axis];
  }
  const bool aligned = IsAligned(p.inputs[k], size * kEach > 16 ? 16 : size * kEach);
  if (dense) return {aligned ? Access::kVector : Access::kSteps, Base::kIndex, 1};
  if (first) return {Access::kSteps, Base::kFirst, 0};
  if (p.at.shape[last] % kEach != 0) return {Access::kEachLocated, Base::kFirst, 0};
  const bool vector = step == 1 && aligned && distances % kEach == 0;
  return {vector ? Access::kVector : Access::kSteps, Base::kLocated, step};
}

template <typename Word>
void Launch(StreamHandle stream, const Task& task) {
  const size_t thread_bytes = static_cast<size_t>(task.group.num_slots) * sizeof(Four<Word>);
  int threads = kMostThreads;
  while (threads > kWarp && thread_bytes * static_cast<size_t>(threads) > kUsualShared)
    threads /= 2;
  TENON_LAUNCH(Group<Word>, BlocksFor(task.group.n, threads * kEach), threads,
               thread_bytes * static_cast<size_t>(threads), stream, task);
}
static_assert(sizeof(Four<uint64_t>) * kMaxGroupValues * kWarp <= kUsualShared);

}  // namespace

void LaunchOn(StreamHandle stream, const GroupParams& p) {
  Task task = {p, {}};
  for (int k = 0; k < p.num_inputs; ++k) {
    task.inputs[k] = Examine(p, k, static_cast<uint64_t>(SizeOf(p.input_types[k])));
  }
  p.wide ? Launch<uint64_t>(stream, task) : Launch<uint32_t>(stream, task);
}

}  // namespace tenon::kernels::gpu
