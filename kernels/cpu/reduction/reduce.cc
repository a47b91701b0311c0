// Reductions of floats over neighbouring axes.
#include <cmath>
#include <cstring>

#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

using cpu::BinaryForm;
using cpu::BinaryOp;
using cpu::UnaryOp;

enum class Reduction { kSum, kMean, kMax, kMin, kL2 };

// The reduced axes [first, last); false if they are not neighbours.
bool ReducedRange(const std::vector<int64_t>& axes, int64_t rank, int64_t& first, int64_t& last) {
  first = rank;
  last = 0;
  for (int64_t axis : axes) {
    axis = NormalizeAxis(axis, rank);
    first = std::min(first, axis);
    last = std::max(last, axis + 1);
  }
  return !axes.empty() && last - first == static_cast<int64_t>(axes.size());
}

template <typename Attrs>
std::string Supports(const CallSignature& call) {
  int64_t first = 0, last = 0;
  const auto& axes = static_cast<const Attrs*>(call.attrs)->axes;
  if (!ReducedRange(axes, call.inputs[0].rank(), first, last)) return "needs adjacent axes";
  return cpu::RequireF32(call);
}

float ReduceRow(const cpu::VectorOps& ops, Reduction kind, const float* x, int64_t n) {
  switch (kind) {
    case Reduction::kSum:
      return ops.sum(x, n);
    case Reduction::kMean:
      return ops.sum(x, n) / static_cast<float>(n);
    case Reduction::kMax:
      return ops.max(x, n);
    case Reduction::kMin:
      return ops.min(x, n);
    case Reduction::kL2:
      return ops.length(x, n);
  }
  return 0;
}

// Columns: x is n rows of `inner` elements, of which [begin, end) are reduced into out.
void ReduceColumns(Reduction kind, const float* x, int64_t n, int64_t inner, int64_t begin,
                   int64_t end, float* out) {
  const int64_t count = end - begin;
  const BinaryOp op = kind == Reduction::kMax   ? BinaryOp::kMax
                      : kind == Reduction::kMin ? BinaryOp::kMin
                                                : BinaryOp::kAdd;
  const auto join = cpu::LoopOf(op);
  out += begin;
  x += begin;
  std::memcpy(out, x, static_cast<size_t>(count) * sizeof(float));
  for (int64_t i = 1; i < n; ++i) join(out, x + i * inner, out, count);
  if (kind == Reduction::kMean) {
    cpu::Apply(UnaryOp::kAffine, out, out, count, 1 / static_cast<float>(n), 0);
  }
}

template <Reduction kKind, typename Attrs>
KernelStatus Reduce(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  int64_t first = 0, last = 0;
  ReducedRange(args.get<Attrs>().axes, x.rank(), first, last);
  const int64_t outer = Product(x.shape.first(first)), inner = Product(x.shape.subspan(last));
  const int64_t n = Product(x.shape.subspan(first, last - first));
  const cpu::VectorOps& ops = cpu::GetVectorOps();
  if (inner == 1 || n == 0) {  // of no elements: the same value everywhere
    (*args.device->parallel)(outer * inner, cpu::RowGrain(n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        out.as<float>()[i] = ReduceRow(ops, kKind, x.as<float>() + i * n, n);
      }
    });
    return KernelStatus::Ok();
  }
  constexpr int64_t kColumns = 256;  // of one task
  const int64_t blocks = (inner + kColumns - 1) / kColumns;
  (*args.device->parallel)(outer * blocks, cpu::RowGrain(n * kColumns), [&](int64_t b, int64_t e) {
    for (int64_t task = b; task < e; ++task) {
      const int64_t o = task / blocks, begin = task % blocks * kColumns;
      const int64_t end = std::min(inner, begin + kColumns);
      if constexpr (kKind == Reduction::kL2) {
        for (int64_t i = begin; i < end; ++i) {
          double sum = 0;  // floats may not hold the squares
          for (int64_t j = 0; j < n; ++j) {
            const double v = x.as<float>()[(o * n + j) * inner + i];
            sum += v * v;
          }
          out.as<float>()[o * inner + i] = static_cast<float>(std::sqrt(sum));
        }
      } else {
        ReduceColumns(kKind, x.as<float>() + o * n * inner, n, inner, begin, end,
                      out.as<float>() + o * inner);
      }
    }
  });
  return KernelStatus::Ok();
}

template <Reduction kKind, typename Attrs>
Kernel ReduceKernel(const char* op, const char* name) {
  return {.op = op,
          .name = name,
          .priority = 10,
          .run = Reduce<kKind, Attrs>,
          .supports = Supports<Attrs>};
}

}  // namespace

Kernel CpuReduceL2() {
  return ReduceKernel<Reduction::kL2, ten::ReduceL2Attrs>("ten.reduce_l2", "cpu.reduce_l2");
}
Kernel CpuReduceMax() {
  return ReduceKernel<Reduction::kMax, ten::ReduceMaxAttrs>("ten.reduce_max", "cpu.reduce_max");
}
Kernel CpuReduceMean() {
  return ReduceKernel<Reduction::kMean, ten::ReduceMeanAttrs>("ten.reduce_mean", "cpu.reduce_mean");
}
Kernel CpuReduceMin() {
  return ReduceKernel<Reduction::kMin, ten::ReduceMinAttrs>("ten.reduce_min", "cpu.reduce_min");
}
Kernel CpuReduceSum() {
  return ReduceKernel<Reduction::kSum, ten::ReduceSumAttrs>("ten.reduce_sum", "cpu.reduce_sum");
}

}  // namespace tenon::kernels
