// fused.compressed_linear: weights of bfloat16 where the CPU multiplies it, or of int8.
#include <algorithm>

#include "ir/base/weight_group.h"
#include "kernels/cpu/gemm/bf16.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/gemm/int8.h"
#include "kernels/cpu/linear/linear_epilogue.h"
#include "kernels/cpu/support.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

struct CompressedState : KernelState {
  bool reference = false;  // left to the reference kernel: empty
  int64_t m = 0, n = 0, k = 0;
  PackedBytes weights;
  cpu::Int8Shape shape;
  cpu::Int8Plan plan;
};

KernelStatus PackInt8(PrepareArgs& args, bool transposed, CompressedState& s) {
  const auto& attrs = *static_cast<const fused::CompressedLinearAttrs*>(args.attrs);
  const TensorView &w = args.inputs[1], &scale = args.inputs[4];
  s.shape = {.k = s.k, .n = s.n, .group = WeightsPerFactor(attrs.group, s.k)};
  s.plan = cpu::PlanInt8Gemm(s.m, s.shape, args.device->parallel->num_threads());
  args.scratch_bytes = s.plan.scratch_bytes;
  constexpr int kFrom[] = {1, 4};
  s.weights = args.Pack(
      kFrom, cpu::PackedLayoutOfInt8B(s.shape) + (transposed ? ".transposed" : ""),
      cpu::PackedBytesOfInt8B(s.shape), [&](std::byte* out) {
        cpu::PackInt8B(s.shape, w.as<int8_t>(), transposed ? 1 : s.n, transposed ? s.k : 1,
                       scale.as<float>(), out, *args.device->parallel);
      });
  return KernelStatus::Ok();
}

KernelStatus PackBf16(PrepareArgs& args, bool transposed, CompressedState& s) {
  args.scratch_bytes = static_cast<size_t>(s.m * cpu::Bf16RowOfA(s.k)) * sizeof(float);
  constexpr int kFrom[] = {1};
  s.weights = args.Pack(
      kFrom, cpu::PackedLayoutOfBf16B(s.k, s.n) + (transposed ? ".transposed" : ""),
      cpu::PackedBytesOfB(cpu::Bf16Pairs(s.k), s.n), [&](std::byte* out) {
        const cpu::Bf16Matrix w = {args.inputs[1].as<uint16_t>(), transposed ? 1 : s.n,
                                   transposed ? s.k : 1};
        cpu::PackBf16B(w, s.k, s.n, reinterpret_cast<float*>(out), *args.device->parallel);
      });
  return KernelStatus::Ok();
}

KernelStatus PrepareCompressed(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& attrs = *static_cast<const fused::CompressedLinearAttrs*>(args.attrs);
  const TensorView &x = args.inputs[0], &w = args.inputs[1];
  auto state = std::make_shared<CompressedState>();
  CompressedState& s = *state;
  out = state;
  s.k = x.dim(-1), s.n = args.outputs[0].dim(-1);
  s.m = Product(x.shape.first(x.shape.size() - 1));
  s.reference = s.m == 0 || s.n == 0 || s.k == 0;
  if (s.reference) return KernelStatus::Ok();
  KernelStatus status = w.dtype == DType::kI8 ? PackInt8(args, attrs.transpose_w, s)
                                              : PackBf16(args, attrs.transpose_w, s);
  if (status.ok() && s.weights == nullptr) {
    return KernelStatus::OutOfMemory("no memory for packed weights");
  }
  return status;
}

KernelStatus RunCompressed(const RunArgs& args) {
  const auto& s = *static_cast<const CompressedState*>(args.state);
  if (s.reference) return RefCompressedLinear().run(args);
  const cpu::LinearEpilogue epilogue(args, ToActivation(args.get<fused::CompressedLinearAttrs>()));
  ParallelFor& parallel = *args.device->parallel;
  auto* scratch = static_cast<float*>(args.scratch);
  cpu::GemmArgs g = {.m = s.m, .n = s.n, .k = s.k, .a = args.inputs[0].as<float>(), .a_row = s.k};
  g.c = args.outputs[0].as<float>(), g.c_row = s.n, g.epilogue = epilogue.fused;
  if (args.inputs[1].dtype == DType::kI8) {
    cpu::Int8Gemm(g, s.shape, s.weights.get(), s.plan, scratch, parallel);
  } else {
    cpu::ConvertToBf16(g.a, s.m, s.k, scratch, parallel);
    g.element = cpu::GemmElement::kBf16Pair, g.k = cpu::Bf16Pairs(s.k);
    g.a = scratch, g.a_row = cpu::Bf16RowOfA(s.k);
    g.b = reinterpret_cast<const float*>(s.weights.get());
    cpu::Gemm(g, parallel);
  }
  epilogue.Rest(args);
  return KernelStatus::Ok();
}

std::string SupportsCompressed(const CallSignature& call) {
  const bool quantized = call.inputs[1].dtype == DType::kI8;
  if (!quantized && !cpu::HasBf16()) return "the CPU has no bfloat16 products";
  if (!call.constant_input[1] || (quantized && !call.constant_input[4])) {
    return "needs constant weights";
  }
  return "";
}

}  // namespace

Kernel CpuCompressedLinear() {
  return {.op = "fused.compressed_linear",
          .name = "cpu.compressed_linear",
          .priority = 10,
          .run = RunCompressed,
          .prepare = PrepareCompressed,
          .supports = SupportsCompressed,
          .packs_once = true};
}

}  // namespace tenon::kernels
