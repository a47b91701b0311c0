// fused.expert_linear: the rows of each expert are brought together and multiplied at once.
#include <algorithm>
#include <memory>

#include "kernels/calls/expert_call.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/support.h"
#include "kernels/kernel_list.h"

namespace tenon::kernels {
namespace {

struct ExpertState : KernelState {
  PackedBytes weights;  // of all experts, packed; null if w is not constant
  int64_t each = 0;     // floats of a packed expert
  // Places in the scratch, in floats: rows of x and of the result side by side, one expert's
  // weights; before them the order of the rows and where each expert's begin.
  int64_t x_at = 0, out_at = 0, weights_at = 0;
};

int64_t Aligned(int64_t floats) { return (floats + 15) / 16 * 16; }

KernelStatus PrepareExperts(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const ExpertCall call(args.inputs, args.attrs);
  auto made = std::make_shared<ExpertState>();
  ExpertState& state = *made;
  out = made;
  if (call.rows == 0 || call.n == 0 || call.k == 0) return KernelStatus::Ok();
  state.each = static_cast<int64_t>(cpu::PackedBytesOfB(call.k, call.n) / sizeof(float));
  constexpr int64_t kFloatsOfIndex = sizeof(int64_t) / sizeof(float);
  state.x_at = Aligned(kFloatsOfIndex * (call.rows + call.experts + 1));
  state.out_at = state.x_at + Aligned(call.rows * call.k);
  state.weights_at = state.out_at + Aligned(call.rows * call.n);
  int64_t floats = state.weights_at;
  if (args.inputs[1].data != nullptr) {
    constexpr int kFrom[] = {1};
    const std::string layout =
        cpu::PackedLayoutOfB(call.k, call.n) + (call.w_col == 1 ? "" : ".transposed") + ".experts";
    const size_t bytes = static_cast<size_t>(call.experts * state.each) * sizeof(float);
    state.weights = args.Pack(kFrom, layout, bytes, [&](std::byte* to) {
      for (int64_t e = 0; e < call.experts; ++e) {
        const float* w = args.inputs[1].as<float>() + e * call.k * call.n;
        cpu::PackB({w, call.w_row, call.w_col}, call.k, call.n,
                   reinterpret_cast<float*>(to) + e * state.each, *args.device->parallel);
      }
    });
    if (state.weights == nullptr) return KernelStatus::OutOfMemory("no memory for packed weights");
  } else {
    floats += state.each;
  }
  args.scratch_bytes = static_cast<size_t>(floats) * sizeof(float);
  return KernelStatus::Ok();
}

// Writes the rows in the order of their experts, and where each expert's begin.
void SortRows(const ExpertCall& call, int64_t* order, int64_t* begins) {
  std::fill_n(begins, call.experts + 1, 0);
  for (int64_t row = 0; row < call.rows; ++row) ++begins[call.Expert(row) + 1];
  for (int64_t e = 0; e < call.experts; ++e) begins[e + 1] += begins[e];
  for (int64_t row = 0; row < call.rows; ++row) order[begins[call.Expert(row)]++] = row;
  // Each has moved to where the next one begins.
  for (int64_t e = call.experts; e > 0; --e) begins[e] = begins[e - 1];
  begins[0] = 0;
}

KernelStatus Experts(const RunArgs& args) {
  const ExpertCall call(args.inputs, args.attrs);
  if (KernelStatus status = call.CheckIndices(); !status.ok()) return status;
  const TensorView& out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  if (call.k == 0) return RefExpertLinear().run(args);
  const auto& state = *static_cast<const ExpertState*>(args.state);
  auto* const scratch = static_cast<float*>(args.scratch);
  auto* const order = static_cast<int64_t*>(args.scratch);
  int64_t* const begins = order + call.rows;
  SortRows(call, order, begins);
  const auto* x = args.inputs[0].as<float>();
  ParallelFor& parallel = *args.device->parallel;
  for (int64_t e = 0; e < call.experts; ++e) {
    const int64_t begin = begins[e], count = begins[e + 1] - begin;
    if (count == 0) continue;
    const float* weights = reinterpret_cast<const float*>(state.weights.get());
    if (weights != nullptr) {
      weights += e * state.each;
    } else {
      const float* w = args.inputs[1].as<float>() + e * call.k * call.n;
      cpu::PackB({w, call.w_row, call.w_col}, call.k, call.n, scratch + state.weights_at, parallel);
      weights = scratch + state.weights_at;
    }
    // A row by itself is read and written where it lies.
    const bool alone = count == 1;
    const float* from = x + order[begin] * call.k;
    float* to = out.as<float>() + order[begin] * call.n;
    if (!alone) {
      float* const rows = scratch + state.x_at;
      for (int64_t i = 0; i < count; ++i) {
        std::copy_n(x + order[begin + i] * call.k, call.k, rows + i * call.k);
      }
      from = rows, to = scratch + state.out_at;
    }
    cpu::GemmArgs g = {.m = count, .n = call.n, .k = call.k, .a = from, .a_row = call.k};
    g.b = weights, g.c = to, g.c_row = call.n;
    cpu::Gemm(g, parallel);
    for (int64_t i = 0; !alone && i < count; ++i) {
      std::copy_n(to + i * call.n, call.n, out.as<float>() + order[begin + i] * call.n);
    }
  }
  return KernelStatus::Ok();
}

// All but the index.
std::string SupportsExperts(const CallSignature& call) {
  CallSignature floats = call;
  floats.inputs = call.inputs.first(2);
  return cpu::RequireF32(floats);
}

}  // namespace

Kernel CpuExpertLinear() {
  return {.op = "fused.expert_linear",
          .name = "cpu.expert_linear",
          .priority = 10,
          .run = Experts,
          .prepare = PrepareExperts,
          .supports = SupportsExperts,
          .unaligned_inputs = 2,
          .packs_once = true};
}

}  // namespace tenon::kernels
