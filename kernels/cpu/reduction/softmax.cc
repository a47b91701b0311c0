// Softmax of floats: over the last axis by rows, over others for neighbouring columns at once.
#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/cpu/last_axis.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"
#include "kernels/threads/parallel_slots.h"

namespace tenon::kernels {
namespace {

std::string LogSoftmaxSupports(const CallSignature& call) {
  const int64_t axis = static_cast<const nn::LogSoftmaxAttrs*>(call.attrs)->axis;
  if (!cpu::IsLastAxis(call.inputs[0], axis)) return "needs the last axis";
  return cpu::RequireF32(call);
}

constexpr int64_t kColumns = 256;

// Of `columns` neighbouring columns with `n` elements each, `step` apart.
void SoftmaxColumns(const float* x, int64_t n, int64_t step, int64_t columns, float* out) {
  using cpu::BinaryOp;
  const auto larger = cpu::LoopOf(BinaryOp::kMax), subtract = cpu::LoopOf(BinaryOp::kSub);
  const auto add = cpu::LoopOf(BinaryOp::kAdd), divide = cpu::LoopOf(BinaryOp::kDiv);
  float max[kColumns], sum[kColumns];
  std::copy_n(x, columns, max);
  for (int64_t i = 1; i < n; ++i) larger(max, x + i * step, max, columns);
  std::fill_n(sum, columns, 0.0f);
  for (int64_t i = 0; i < n; ++i) {
    float* to = out + i * step;
    subtract(x + i * step, max, to, columns);
    cpu::Apply(cpu::UnaryOp::kExp, to, to, columns);
    add(sum, to, sum, columns);
  }
  for (int64_t i = 0; i < n; ++i) {
    divide(out + i * step, sum, out + i * step, columns);
  }
}

// Fewer columns than fill vectors are copied, one by one.
constexpr int64_t kFewColumns = 16;

// The elements of a column, and how far apart they are.
struct ColumnShape {
  int64_t n, step;
};

ColumnShape ColumnOf(const TensorView& x, int64_t axis) {
  const auto at = static_cast<size_t>(NormalizeAxis(axis, x.rank()));
  return {x.shape[at], Product(x.shape.subspan(at + 1))};
}

struct SoftmaxState : KernelState {
  int64_t slots = 0;
};

KernelStatus PrepareSoftmax(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const TensorView& x = args.inputs[0];
  const int64_t axis = static_cast<const nn::SoftmaxAttrs*>(args.attrs)->axis;
  auto state = std::make_shared<SoftmaxState>();
  state->slots = args.device->parallel->num_threads();
  const ColumnShape column = ColumnOf(x, axis);
  if (!cpu::IsLastAxis(x, axis) && column.step < kFewColumns) {
    args.scratch_bytes = static_cast<size_t>(state->slots * column.n) * sizeof(float);
  }
  out = std::move(state);
  return KernelStatus::Ok();
}

KernelStatus SoftmaxOfFewColumns(const RunArgs& args, ColumnShape column) {
  const float* x = args.inputs[0].as<float>();
  float* out = args.outputs[0].as<float>();
  const int64_t n = column.n, step = column.step;
  const auto softmax = cpu::GetVectorOps().softmax;
  ForRangesInSlots(*args.device->parallel, static_cast<SoftmaxState*>(args.state)->slots,
                   args.inputs[0].numel() / n, cpu::RowGrain(n, 4),
                   [&](int64_t slot, int64_t begin, int64_t end) {
                     float* copy = static_cast<float*>(args.scratch) + slot * n;
                     for (int64_t c = begin; c < end; ++c) {
                       const int64_t at = c / step * n * step + c % step;
                       for (int64_t i = 0; i < n; ++i) copy[i] = x[at + i * step];
                       softmax(copy, copy, n);
                       for (int64_t i = 0; i < n; ++i) out[at + i * step] = copy[i];
                     }
                   });
  return KernelStatus::Ok();
}

KernelStatus SoftmaxOverAxis(const RunArgs& args) {
  const TensorView& x = args.inputs[0];
  if (x.numel() == 0) return KernelStatus::Ok();
  const ColumnShape column = ColumnOf(x, args.get<nn::SoftmaxAttrs>().axis);
  const int64_t n = column.n, inner = column.step;
  if (inner < kFewColumns) return SoftmaxOfFewColumns(args, column);
  const int64_t blocks = (inner + kColumns - 1) / kColumns, planes = x.numel() / (n * inner);
  (*args.device->parallel)(
      planes * blocks, cpu::RowGrain(n * std::min(inner, kColumns), 4),
      [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          const int64_t first = b % blocks * kColumns, at = b / blocks * n * inner + first;
          SoftmaxColumns(x.as<float>() + at, n, inner, std::min(kColumns, inner - first),
                         args.outputs[0].as<float>() + at);
        }
      });
  return KernelStatus::Ok();
}

template <bool kLog>
KernelStatus SoftmaxRows(const RunArgs& args) {
  const float* x = args.inputs[0].as<float>();
  float* out = args.outputs[0].as<float>();
  const int64_t total = args.outputs[0].numel();
  if (total == 0) return KernelStatus::Ok();
  const int64_t n = args.inputs[0].dim(-1);
  const cpu::VectorOps& ops = cpu::GetVectorOps();
  (*args.device->parallel)(total / n, cpu::RowGrain(n, 4), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin * n; row < end * n; row += n) {
      if constexpr (kLog) {
        ops.log_softmax(x + row, out + row, n);
      } else {
        ops.softmax(x + row, out + row, n);
      }
    }
  });
  return KernelStatus::Ok();
}

KernelStatus Softmax(const RunArgs& args) {
  const bool is_last = cpu::IsLastAxis(args.inputs[0], args.get<nn::SoftmaxAttrs>().axis);
  return is_last ? SoftmaxRows<false>(args) : SoftmaxOverAxis(args);
}

}  // namespace

Kernel CpuLogSoftmax() {
  return {.op = "nn.log_softmax",
          .name = "cpu.log_softmax",
          .priority = 10,
          .run = SoftmaxRows<true>,
          .supports = LogSoftmaxSupports,
          .inplace_mask = 1};
}

Kernel CpuSoftmax() {
  return {.op = "nn.softmax",
          .name = "cpu.softmax",
          .priority = 10,
          .run = Softmax,
          .prepare = PrepareSoftmax,
          .supports = cpu::RequireF32,
          .inplace_mask = 1};
}

}  // namespace tenon::kernels
