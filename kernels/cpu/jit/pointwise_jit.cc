#include "kernels/cpu/jit/pointwise_jit.h"

#if defined(TENON_HAVE_XBYAK) && defined(__x86_64__)

#include <optional>

#include "kernels/cpu/jit/emitter.h"

namespace tenon::kernels::cpu {

std::unique_ptr<const PointwiseJit> PointwiseJit::Make(const PointwiseBody& body,
                                                       std::span<const bool> scalar, Isa isa) {
  if (isa < Isa::kAvx2) return nullptr;
  const bool wide = isa >= Isa::kAvx512;
  const std::optional<VectorGraph> graph = MakeVectorGraph(body, wide);
  if (!graph) return nullptr;
  // With many values at once there are no registers left for constants.
  for (int keep : {wide ? 12 : 4, 0}) {
    Xbyak::ClearError();
    auto emitter = std::make_unique<PointwiseEmitter>(body, *graph, scalar, wide, keep);
    if (emitter->Emit()) return emitter;
  }
  return nullptr;
}

}  // namespace tenon::kernels::cpu

#else  // no assembler, or not for this processor

namespace tenon::kernels::cpu {

std::unique_ptr<const PointwiseJit> PointwiseJit::Make(const PointwiseBody&, std::span<const bool>,
                                                       Isa) {
  return nullptr;
}

}  // namespace tenon::kernels::cpu

#endif
