// q.linear with constant weights, whose bytes are multiplied as they are or as integers of 16 bits.
#include "kernels/cpu/gemm/integers.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

struct QLinearState : KernelState {
  int64_t m = 0, n = 0, k = 0;
  PackedBytes weights;
};

cpu::ByteMatrix MatrixOf(std::span<const TensorView> inputs, size_t values, size_t zero) {
  return {.data = inputs[values].data,
          .is_signed = inputs[values].dtype == DType::kI8,
          .zero = inputs[zero].data,
          .zero_each = inputs[zero].numel() > 1};
}

KernelStatus PrepareQuantized(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  auto state = std::make_shared<QLinearState>();
  QLinearState& s = *state;
  out = state;
  s.k = args.inputs[0].dim(-1), s.n = args.outputs[0].dim(-1);
  const DimSpan shape = args.outputs[0].shape;
  s.m = Product(shape.first(shape.size() - 1));
  if (s.m == 0 || s.n == 0 || s.k == 0) return KernelStatus::Ok();
  args.scratch_bytes = cpu::ScratchOfBytes(s.m, s.n, s.k);
  constexpr int kFrom[] = {1, 3};
  const bool is_signed = args.inputs[1].dtype == DType::kI8;
  s.weights = args.Pack(kFrom, cpu::PackedLayoutOfBytes(is_signed, s.k, s.n),
                        cpu::PackedSizeOfBytes(s.k, s.n), [&](std::byte* packed) {
                          cpu::PackBytes(MatrixOf(args.inputs, 1, 3), s.k, s.n, packed,
                                         *args.device->parallel);
                        });
  return s.weights == nullptr ? KernelStatus::OutOfMemory("no memory for packed weights")
                              : KernelStatus::Ok();
}

KernelStatus RunQuantized(const RunArgs& args) {
  const auto& s = *static_cast<const QLinearState*>(args.state);
  if (s.weights == nullptr) return RefQLinear().run(args);
  const TensorView& out = args.outputs[0];
  cpu::MultiplyBytes({.m = s.m,
                      .n = s.n,
                      .k = s.k,
                      .a = MatrixOf(args.inputs, 0, 2),
                      .packed = s.weights.get(),
                      .c = out.data,
                      .to_float = out.dtype == DType::kF32},
                     static_cast<std::byte*>(args.scratch), *args.device->parallel);
  return KernelStatus::Ok();
}

std::string SupportsQuantized(const CallSignature& call) {
  return call.constant_input[1] && call.constant_input[3]
             ? ""
             : "needs constant weights and zero points";
}

}  // namespace

Kernel CpuQLinear() {
  return {.op = "q.linear",
          .name = "cpu.q_linear",
          .priority = 10,
          .run = RunQuantized,
          .prepare = PrepareQuantized,
          .supports = SupportsQuantized,
          .packs_once = true};
}

}  // namespace tenon::kernels
