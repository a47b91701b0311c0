// Pooled embeddings of floats: rows of a table are added where they lie, so that no row is copied.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/calls/embedding_pool_call.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"

namespace tenon::kernels {
namespace {

std::string SupportsEmbeddingPool(const CallSignature& call) {
  return call.outputs[0].dtype == DType::kF32 ? "" : "needs f32";
}

KernelStatus EmbeddingPool(const RunArgs& args) {
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  const EmbeddingPoolCall call(args);
  const auto add = cpu::LoopOf(cpu::BinaryOp::kAdd);
  const float* table = call.table.as<float>();
  const float share = call.mean ? 1 / static_cast<float>(call.count) : 1;
  std::atomic<bool> failed = false;
  const auto run = [&](int64_t begin, int64_t end) -> KernelStatus {
    for (int64_t row = begin; row < end; ++row) {
      float* out = call.out.as<float>() + row * call.size;
      const float* sum = nullptr;
      for (int64_t k = 0; k < call.count; ++k) {
        int64_t index;
        if (KernelStatus status = call.Index(row, k, index); !status.ok()) return status;
        const float* part = table + index * call.size;
        if (sum != nullptr) add(sum, part, out, call.size);
        sum = sum == nullptr ? part : out;
      }
      if (sum == nullptr) {
        std::fill_n(out, call.size, 0.0f);
      } else if (sum != out) {
        std::memcpy(out, sum, static_cast<size_t>(call.size) * sizeof(float));
      }
      if (call.mean) cpu::Apply(cpu::UnaryOp::kAffine, out, out, call.size, share, 0);
    }
    return KernelStatus::Ok();
  };
  (*args.device->parallel)(call.rows, cpu::RowGrain(call.size, std::max<int64_t>(call.count, 1)),
                           [&](int64_t b, int64_t e) {
                             if (!run(b, e).ok()) failed = true;
                           });
  // The first wrong index in order, however the rows were shared out.
  return failed ? run(0, call.rows) : KernelStatus::Ok();
}

}  // namespace

Kernel CpuEmbeddingPool() {
  return {.op = "fused.embedding_pool",
          .name = "cpu.embedding_pool",
          .priority = 10,
          .run = EmbeddingPool,
          .supports = SupportsEmbeddingPool};
}

}  // namespace tenon::kernels
