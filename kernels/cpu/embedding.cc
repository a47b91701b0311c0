// Sums of embeddings of floats and their norm, row by row.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/calls/embedding_call.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"

namespace tenon::kernels {
namespace {

std::string SupportsEmbedding(const CallSignature& call) {
  if (call.outputs[0].dtype != DType::kF32) return "needs f32";
  if (const TensorView& added = call.inputs[0]; added.present()) {
    const DimSpan out = call.outputs[0].shape;
    if (added.rank() < 1 || out.empty() || added.dim(-1) < 0 || added.dim(-1) != out.back())
      return "needs whole rows in the tensor that is added";
  }
  return "";
}

// out += row, which lies at any address.
void AddUnaligned(const std::byte* row, int64_t size, float* out) {
  constexpr int64_t kPiece = 1024;
  float piece[kPiece];
  const auto add = cpu::LoopOf(cpu::BinaryOp::kAdd);
  for (int64_t i = 0; i < size; i += kPiece) {
    const int64_t count = std::min(kPiece, size - i);
    std::memcpy(piece, row + i * static_cast<int64_t>(sizeof(float)),
                static_cast<size_t>(count) * sizeof(float));
    add(out + i, piece, out + i, count);
  }
}

// out = the sum of the row; its first part may be a table's row itself.
KernelStatus SumRow(const EmbeddingCall& call, const EmbeddingWalk& walk, float* out) {
  const auto add = cpu::LoopOf(cpu::BinaryOp::kAdd);
  const float* sum = nullptr;
  auto take = [&](const float* part) {
    if (sum != nullptr) add(sum, part, out, call.size);
    sum = sum == nullptr ? part : out;
  };
  for (size_t i = 0; i < call.lookups.size(); ++i) {
    int64_t index;
    if (KernelStatus status = walk.Index(i, index); !status.ok()) return status;
    const TensorView& table = call.lookups[i].table;
    if (reinterpret_cast<uintptr_t>(table.data) % alignof(float) == 0) {
      take(table.as<float>() + index * call.size);
      continue;
    }
    const int64_t row_bytes = call.size * static_cast<int64_t>(sizeof(float));
    const std::byte* row = table.as<std::byte>() + index * row_bytes;
    if (sum != nullptr && sum != out) std::memcpy(out, sum, static_cast<size_t>(row_bytes));
    if (sum != nullptr) {
      AddUnaligned(row, call.size, out);
    } else {
      std::memcpy(out, row, static_cast<size_t>(row_bytes));
    }
    sum = out;
  }
  if (call.added.present()) take(call.added.as<float>() + walk.added());
  if (sum != out) std::memcpy(out, sum, static_cast<size_t>(call.size) * sizeof(float));
  return KernelStatus::Ok();
}

KernelStatus Embedding(const RunArgs& args) {
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  const EmbeddingCall call(args);
  if (KernelStatus status = call.CheckRows(); !status.ok()) return status;
  const cpu::VectorOps& ops = cpu::GetVectorOps();
  std::atomic<bool> failed = false;
  auto run = [&](int64_t begin, int64_t end) -> KernelStatus {
    EmbeddingWalk walk(call, begin);
    for (int64_t row = begin; row < end; ++row, walk.Next()) {
      float* out = call.out.as<float>() + row * call.size;
      if (KernelStatus status = SumRow(call, walk, out); !status.ok()) return status;
      if (call.sum.present()) {
        std::memcpy(call.sum.as<float>() + row * call.size, out,
                    static_cast<size_t>(call.size) * sizeof(float));
      }
      if (call.norm == fused::EmbeddingNorm::kNone) continue;
      ops.norm({.x = out,
                .scale = call.scale.present() ? call.scale.as<float>() : nullptr,
                .bias = call.bias.present() ? call.bias.as<float>() : nullptr,
                .out = out,
                .n = call.size,
                .epsilon = call.epsilon,
                .subtract_mean = call.norm == fused::EmbeddingNorm::kLayer});
    }
    return KernelStatus::Ok();
  };
  (*args.device->parallel)(call.rows, cpu::RowGrain(call.size, 4), [&](int64_t b, int64_t e) {
    if (!run(b, e).ok()) failed = true;
  });
  // The first wrong index in order, however the rows were shared out.
  return failed ? run(0, call.rows) : KernelStatus::Ok();
}

}  // namespace

Kernel CpuEmbedding() {
  return {.op = "fused.embedding",
          .name = "cpu.embedding",
          .priority = 10,
          .run = Embedding,
          .supports = SupportsEmbedding,
          .unaligned_inputs = 0x55555550};  // the tables: every second input from 4 on
}

}  // namespace tenon::kernels
