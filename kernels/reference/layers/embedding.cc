// The reference kernel of sums of embeddings.
#include <cmath>

#include "kernels/calls/embedding_call.h"
#include "kernels/kernel_list.h"
#include "kernels/reference/dispatch.h"

namespace tenon::kernels {
namespace {

// The sum is rounded to T after every addition, and before it is normalised.
template <typename T>
KernelStatus Embed(const EmbeddingCall& call) {
  using C = Compute<T>;
  const int64_t n = call.size;
  EmbeddingWalk walk(call);
  for (int64_t row = 0; row < call.rows; ++row, walk.Next()) {
    T* out = call.out.as<T>() + row * n;
    for (size_t i = 0; i < call.lookups.size(); ++i) {
      int64_t index;
      if (KernelStatus status = walk.Index(i, index); !status.ok()) return status;
      const T* from = call.lookups[i].table.as<T>() + index * n;
      for (int64_t k = 0; k < n; ++k) {
        out[k] =
            i == 0 ? from[k] : static_cast<T>(static_cast<C>(out[k]) + static_cast<C>(from[k]));
      }
    }
    if (call.added.present()) {
      const T* from = call.added.as<T>() + walk.added();
      for (int64_t k = 0; k < n; ++k) {
        out[k] = static_cast<T>(static_cast<C>(out[k]) + static_cast<C>(from[k * call.added_step]));
      }
    }
    if (call.sum.present()) std::copy(out, out + n, call.sum.as<T>() + row * n);
    if (call.norm == fused::EmbeddingNorm::kNone) continue;
    double total = 0, squares = 0;
    for (int64_t k = 0; k < n; ++k) total += static_cast<C>(out[k]);
    const double mean =
        call.norm == fused::EmbeddingNorm::kLayer ? total / static_cast<double>(n) : 0.0;
    for (int64_t k = 0; k < n; ++k) {
      const double d = static_cast<C>(out[k]) - mean;
      squares += d * d;
    }
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(n) + call.epsilon);
    for (int64_t k = 0; k < n; ++k) {
      double v = (static_cast<C>(out[k]) - mean) * inverse;
      if (call.scale.present()) v *= static_cast<C>(call.scale.as<T>()[k]);
      if (call.bias.present()) v += static_cast<C>(call.bias.as<T>()[k]);
      out[k] = static_cast<T>(v);
    }
  }
  return KernelStatus::Ok();
}

KernelStatus Embedding(const RunArgs& args) {
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  const EmbeddingCall call(args);
  if (KernelStatus status = call.CheckRows(); !status.ok()) return status;
  return DispatchFloat(call.out.dtype,
                       [&](auto tag) { return Embed<typename decltype(tag)::type>(call); });
}

}  // namespace

Kernel RefEmbedding() {
  return {.op = "fused.embedding", .name = "ref.embedding", .run = Embedding};
}

}  // namespace tenon::kernels
