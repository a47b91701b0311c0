#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector/vector_ops.cc"
#include <utility>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/vector/vector_elementwise-inl.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/cpu/vector/vector_resample-inl.h"
#include "kernels/cpu/vector/vector_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::kernels::cpu::HWY_NAMESPACE {

template <BinaryOp kOp>
void SetBinary(VectorOps& ops) {
  auto& forms = ops.binary[static_cast<int>(kOp)];
  forms[static_cast<int>(BinaryForm::kVV)] = Binary<kOp, BinaryForm::kVV>;
  forms[static_cast<int>(BinaryForm::kVS)] = Binary<kOp, BinaryForm::kVS>;
  forms[static_cast<int>(BinaryForm::kSV)] = Binary<kOp, BinaryForm::kSV>;
}

template <int... kOps>
void SetUnary(VectorOps& ops, std::integer_sequence<int, kOps...>) {
  ((ops.unary[kOps] = Unary<static_cast<UnaryOp>(kOps)>), ...);
}

VectorOps MakeTable() {
  VectorOps ops = {};
  SetUnary(ops, std::make_integer_sequence<int, kNumUnaryOps>());
  SetBinary<BinaryOp::kAdd>(ops);
  SetBinary<BinaryOp::kSub>(ops);
  SetBinary<BinaryOp::kMul>(ops);
  SetBinary<BinaryOp::kDiv>(ops);
  SetBinary<BinaryOp::kMax>(ops);
  SetBinary<BinaryOp::kMin>(ops);
  ops.sum = Sum;
  ops.length = Length;
  ops.max = Max;
  ops.min = Min;
  ops.softmax = Softmax;
  ops.log_softmax = LogSoftmax;
  ops.norm = Norm;
  ops.weighted_sum = WeightedSum;
  ops.resample = Resample;
  ops.rotate = Rotate;
  return ops;
}

const VectorOps* Table() {
  static const VectorOps table = MakeTable();
  return &table;
}

}  // namespace tenon::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::kernels::cpu {

using TableOf = const VectorOps* (*)();

// Highway's own choice lives in its shared library, which measures the clock for milliseconds when
// a process loads it.
const VectorOps& GetVectorOps(Isa isa) {
#if HWY_ARCH_X86
  __builtin_cpu_init();
  const bool sse4 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("aes") &&
                    __builtin_cpu_supports("pclmul");
  const std::pair<bool, TableOf> tables[] = {{isa >= Isa::kAvx512, HWY_CHOOSE_AVX3(Table)},
                                             {isa >= Isa::kAvx2, HWY_CHOOSE_AVX2(Table)},
                                             {sse4, HWY_CHOOSE_SSE4(Table)}};
  for (const auto& [has, table] : tables) {
    if (has && table != nullptr) return *table();
  }
  const TableOf fallback = HWY_CHOOSE_FALLBACK(Table);
#else
  const TableOf fallback = &HWY_STATIC_DISPATCH(Table);
#endif
  return *fallback();
}

const VectorOps& GetVectorOps() {
  static const VectorOps& ops = GetVectorOps(ActiveIsa());
  return ops;
}

}  // namespace tenon::kernels::cpu
#endif  // HWY_ONCE
