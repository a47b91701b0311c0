// The reference kernel of pooled embeddings.
#include "kernels/calls/embedding_pool_call.h"
#include "kernels/kernel_list.h"
#include "kernels/reference/dispatch.h"

namespace tenon::kernels {
namespace {

template <typename T>
KernelStatus Pool(const EmbeddingPoolCall& call) {
  for (int64_t row = 0; row < call.rows; ++row) {
    T* out = call.out.as<T>() + row * call.size;
    for (int64_t i = 0; i < call.size; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < call.count; ++k) {
        int64_t index;
        if (KernelStatus status = call.Index(row, k, index); !status.ok()) return status;
        sum +=
            static_cast<double>(static_cast<Compute<T>>(call.table.as<T>()[index * call.size + i]));
      }
      out[i] = static_cast<T>(call.mean ? sum / static_cast<double>(call.count) : sum);
    }
  }
  return KernelStatus::Ok();
}

KernelStatus EmbeddingPool(const RunArgs& args) {
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  const EmbeddingPoolCall call(args);
  return DispatchFloat(call.out.dtype,
                       [&](auto tag) { return Pool<typename decltype(tag)::type>(call); });
}

}  // namespace

Kernel RefEmbeddingPool() {
  return {.op = "fused.embedding_pool", .name = "ref.embedding_pool", .run = EmbeddingPool};
}

}  // namespace tenon::kernels
