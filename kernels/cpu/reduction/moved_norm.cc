// Norms of floats over the last axis whose rows the result has in another order. Each row is read,
// normalized and written once.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "kernels/checked_index.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

constexpr size_t kMovedIndex = 1, kMovedSkip = 2, kMovedScale = 3, kMovedBias = 4, kMovedOffset = 5;

std::string MovedNormSupports(const CallSignature& call) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (i == kMovedIndex || !call.inputs[i].present()) continue;
    if (call.inputs[i].dtype != DType::kF32) return "needs f32";
  }
  return "";
}

// So many rows that are neighbors in x and in the result.
struct RowRun {
  int64_t from, to, count;
};

struct MovedNormState final : KernelState {
  // Known before the run, unless the index is not constant.
  std::vector<RowRun> runs;
  bool looks_up = false;
  // Of an index: [outer, indices, inner] rows, of which the second axis is looked up.
  int64_t extent = 0, count = 0, inner = 0;
  // Each row of x is one row of the result, so that the sum can be written on the way.
  bool each_once = false;
};

void AddRun(std::vector<RowRun>& runs, const RowRun& run) {
  if (!runs.empty()) {
    RowRun& last = runs.back();
    if (last.from + last.count == run.from && last.to + last.count == run.to) {
      last.count += run.count;
      return;
    }
  }
  runs.push_back(run);
}

// Runs of constant indices; none if one is out of range, which the run reports.
void RunsOfIndex(const TensorView& index, int64_t outer, MovedNormState& s) {
  std::vector<int64_t> rows(static_cast<size_t>(s.count));
  std::vector<bool> seen(static_cast<size_t>(s.extent), false);
  s.each_once = s.count == s.extent;
  for (int64_t i = 0; i < s.count; ++i) {
    int64_t& row = rows[static_cast<size_t>(i)];
    row = IndexAt(index, i);
    if (!ResolveIndex(row, s.extent)) return;
    s.each_once = s.each_once && !seen[static_cast<size_t>(row)];
    seen[static_cast<size_t>(row)] = true;
  }
  s.looks_up = false;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < s.count; ++i) {
      AddRun(s.runs, {(o * s.extent + rows[static_cast<size_t>(i)]) * s.inner,
                      (o * s.count + i) * s.inner, s.inner});
    }
  }
}

void RunsOfPerm(DimSpan x, const std::vector<int64_t>& perm, MovedNormState& s) {
  const size_t rank = x.size() - 1;
  const Dims strides = RowMajorStrides(x.first(rank));
  Dims shape;
  std::array<Dims, 1> steps;
  for (size_t i = 0; i < rank; ++i) {
    const auto from = static_cast<size_t>(perm[i]);
    shape.push_back(x[from]);
    steps[0].push_back(strides[from]);
  }
  Coalesce(shape, steps);
  const int64_t rows = Product(View(shape)), count = steps[0].back() == 1 ? shape.back() : 1;
  StridedWalk<1> walk(View(shape), steps);
  for (int64_t row = 0; row < rows; ++row, walk.Next()) {
    if (row % count == 0) AddRun(s.runs, {walk[0], row, count});
  }
  s.each_once = true;
}

KernelStatus PrepareMovedNorm(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& attrs = *static_cast<const fused::MovedNormAttrs*>(args.attrs);
  auto made = std::make_shared<MovedNormState>();
  MovedNormState& s = *made;
  out = made;
  const DimSpan x = args.inputs[0].shape;
  if (cpu::Present(args.inputs, kMovedIndex)) {
    const TensorView& index = args.inputs[kMovedIndex];
    const auto axis = static_cast<size_t>(attrs.axis);
    s.looks_up = true;
    s.extent = x[axis], s.count = index.numel();
    s.inner = Product(x.subspan(axis + 1, x.size() - axis - 2));
    if (index.data != nullptr) RunsOfIndex(index, Product(x.first(axis)), s);
  } else if (args.outputs[0].numel() > 0) {
    RunsOfPerm(x, attrs.perm, s);
  }
  // What is read in order is fetched ahead.
  if (s.each_once) {
    std::sort(s.runs.begin(), s.runs.end(),
              [](const RowRun& a, const RowRun& b) { return a.from < b.from; });
  }
  return KernelStatus::Ok();
}

class MovedNormRun {
 public:
  MovedNormRun(const RunArgs& args, const fused::MovedNormAttrs& attrs, bool with_sum)
      : n_(args.inputs[0].dim(-1)),
        x_(args.inputs[0].as<float>()),
        out_(args.outputs[0].as<float>()),
        sum_(with_sum ? args.outputs[1].as<float>() : nullptr),
        epsilon_(attrs.epsilon),
        layer_(attrs.norm == fused::MovedNormNorm::kLayer) {
    const auto floats = [&](size_t i) {
      return cpu::Present(args.inputs, i) ? args.inputs[i].as<float>() : nullptr;
    };
    skip_ = floats(kMovedSkip), scale_ = floats(kMovedScale), bias_ = floats(kMovedBias);
    offset_ = floats(kMovedOffset);
  }

  void Rows(const RowRun& run) const {
    const auto& [from, to, rows] = run;
    ops_.norm({.rows = rows,
               .x = x_ + from * n_,
               .x_step = n_,
               .skip = skip_ == nullptr ? nullptr : skip_ + from * n_,
               .skip_step = n_,
               .offset = offset_,
               .scale = scale_,
               .bias = bias_,
               .sum = sum_ == nullptr ? nullptr : sum_ + from * n_,
               .out = out_ + to * n_,
               .n = n_,
               .epsilon = epsilon_,
               .subtract_mean = layer_});
  }

 private:
  const cpu::VectorOps& ops_ = cpu::GetVectorOps();
  const int64_t n_;
  const float *x_, *skip_ = nullptr, *scale_ = nullptr, *bias_ = nullptr, *offset_ = nullptr;
  float *out_, *sum_;
  const float epsilon_;
  const bool layer_;
};

// The sum in the order of x, where not all rows of it are read once.
void WriteSum(const RunArgs& args) {
  const TensorView& sum = args.outputs[1];
  const auto floats = [&](size_t i) {
    return cpu::Present(args.inputs, i) ? args.inputs[i].as<float>() : nullptr;
  };
  const float *x = floats(0), *skip = floats(kMovedSkip), *offset = floats(kMovedOffset);
  const auto add = cpu::LoopOf(cpu::BinaryOp::kAdd);
  const int64_t n = sum.dim(-1);
  (*args.device->parallel)(sum.numel() / n, cpu::RowGrain(n), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* from = x + row * n;
      float* to = sum.as<float>() + row * n;
      if (offset != nullptr) {
        add(from, offset, to, n);
        from = to;
      }
      if (skip != nullptr) {
        add(from, skip + row * n, to, n);
      } else {
        std::copy(from, from + n, to);
      }
    }
  });
}

// The rows that indices name.
KernelStatus RunByIndex(const RunArgs& args, const MovedNormState& s, const MovedNormRun& run) {
  const TensorView &index = args.inputs[kMovedIndex], &out = args.outputs[0];
  for (int64_t i = 0; i < s.count; ++i) {
    int64_t row = IndexAt(index, i);
    if (!ResolveIndex(row, s.extent)) return IndexOutOfRange(row, s.extent);
  }
  if (out.numel() == 0) return KernelStatus::Ok();
  const int64_t n = out.dim(-1), slices = out.numel() / (n * s.inner);
  (*args.device->parallel)(slices, cpu::RowGrain(n * s.inner, 4), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t row = IndexAt(index, i % s.count);
      if (!ResolveIndex(row, s.extent)) continue;  // changed by another thread since
      run.Rows({(i / s.count * s.extent + row) * s.inner, i * s.inner, s.inner});
    }
  });
  return KernelStatus::Ok();
}

KernelStatus MovedNorm(const RunArgs& args) {
  const auto& s = *static_cast<const MovedNormState*>(args.state);
  const bool has_sum = cpu::Present(args.outputs, 1) && args.outputs[1].numel() > 0;
  // A norm without a skip does not write its sum.
  const bool on_the_way = has_sum && s.each_once && cpu::Present(args.inputs, kMovedSkip);
  if (has_sum && !on_the_way) WriteSum(args);
  const MovedNormRun run(args, args.get<fused::MovedNormAttrs>(), on_the_way);
  if (s.looks_up) return RunByIndex(args, s, run);
  const TensorView& out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const auto count = static_cast<int64_t>(s.runs.size());
  (*args.device->parallel)(count, cpu::RowGrain(out.numel() / count, 4),
                           [&](int64_t begin, int64_t end) {
                             for (int64_t i = begin; i < end; ++i) {
                               run.Rows(s.runs[static_cast<size_t>(i)]);
                             }
                           });
  return KernelStatus::Ok();
}

}  // namespace

Kernel CpuMovedNorm() {
  return {.op = "fused.moved_norm",
          .name = "cpu.moved_norm",
          .priority = 10,
          .run = MovedNorm,
          .prepare = PrepareMovedNorm,
          .supports = MovedNormSupports};
}

}  // namespace tenon::kernels
