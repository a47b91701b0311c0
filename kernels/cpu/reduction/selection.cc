// argmax, argmin and topk of floats along the last axis: blocks whose best element cannot be chosen
// are passed over.
#include <algorithm>
#include <string>

#include "kernels/cpu/last_axis.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

constexpr int64_t kScanBlock = 128;

// Is the best element of a row its largest or its smallest? A NaN is beyond both for
// arg-reductions, and larger than any number for topk.
template <bool kLargest>
float BestOf(const float* x, int64_t n) {
  const cpu::VectorOps& ops = cpu::GetVectorOps();
  return kLargest ? ops.max(x, n) : ops.min(x, n);
}

// ---- argmax, argmin -----------------------------------------------------------------------------

template <bool kMax>
bool Replaces(float candidate, float best, bool last_of_equal) {
  const bool candidate_nan = candidate != candidate, best_nan = best != best;
  if (candidate_nan || best_nan) return candidate_nan && (!best_nan || last_of_equal);
  if (candidate == best) return last_of_equal;
  return kMax ? candidate > best : candidate < best;
}

template <bool kMax>
int64_t PlaceOfBest(const float* x, int64_t n, bool last_of_equal) {
  int64_t block = 0;
  float best = BestOf<kMax>(x, std::min(n, kScanBlock));
  for (int64_t at = kScanBlock; at < n; at += kScanBlock) {
    const float candidate = BestOf<kMax>(x + at, std::min(n - at, kScanBlock));
    if (Replaces<kMax>(candidate, best, last_of_equal)) best = candidate, block = at;
  }
  int64_t place = block;
  const int64_t end = std::min(n, block + kScanBlock);
  for (int64_t i = block + 1; i < end; ++i) {
    if (Replaces<kMax>(x[i], x[place], last_of_equal)) place = i;
  }
  return place;
}

template <bool kMax, typename Attrs>
KernelStatus ArgReduce(const RunArgs& args) {
  const TensorView& x = args.inputs[0];
  const int64_t rows = args.outputs[0].numel(), n = x.shape.back();
  if (rows == 0) return KernelStatus::Ok();
  if (n == 0) return KernelStatus::Invalid("the axis has no elements to choose from");
  const bool last_of_equal = args.get<Attrs>().select_last_index;
  auto* out = args.outputs[0].as<int64_t>();
  (*args.device->parallel)(rows, cpu::RowGrain(n), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      out[row] = PlaceOfBest<kMax>(x.as<float>() + row * n, n, last_of_equal);
    }
  });
  return KernelStatus::Ok();
}

template <typename Attrs>
std::string ArgReduceSupports(const CallSignature& call) {
  const int64_t axis = static_cast<const Attrs*>(call.attrs)->axis;
  if (!cpu::IsLastAxis(call.inputs[0], axis)) return "needs the last axis";
  return call.inputs[0].dtype == DType::kF32 ? "" : "needs f32";
}

// ---- topk ---------------------------------------------------------------------------------------

struct Entry {
  float value;
  int64_t place;
};

template <bool kLargest>
bool IsBetter(float a, float b) {
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan || b_nan) return kLargest ? a_nan && !b_nan : b_nan && !a_nan;
  return kLargest ? a > b : a < b;
}

// Of equal elements the first.
template <bool kLargest>
bool Precedes(const Entry& a, const Entry& b) {
  if (IsBetter<kLargest>(a.value, b.value)) return true;
  return !IsBetter<kLargest>(b.value, a.value) && a.place < b.place;
}

// The k best elements of a row, the best first. `heap` has room for k entries.
template <bool kLargest>
void SelectBest(const float* x, int64_t n, int64_t k, Entry* heap) {
  for (int64_t i = 0; i < k; ++i) heap[i] = {x[i], i};
  std::make_heap(heap, heap + k, Precedes<kLargest>);  // the worst is at the top
  for (int64_t block = k; block < n; block += kScanBlock) {
    const int64_t end = std::min(n, block + kScanBlock);
    // What comes later than an equal element is not chosen. The smallest may be hidden by a NaN.
    const float best = BestOf<kLargest>(x + block, end - block);
    if (!IsBetter<kLargest>(best, heap[0].value) && (kLargest || best == best)) continue;
    for (int64_t i = block; i < end; ++i) {
      if (!IsBetter<kLargest>(x[i], heap[0].value)) continue;
      std::pop_heap(heap, heap + k, Precedes<kLargest>);
      heap[k - 1] = {x[i], i};
      std::push_heap(heap, heap + k, Precedes<kLargest>);
    }
  }
  std::sort_heap(heap, heap + k, Precedes<kLargest>);
}

struct TopKState : KernelState {};

KernelStatus PrepareTopK(PrepareArgs& args, std::shared_ptr<KernelState>& state) {
  state = std::make_shared<TopKState>();
  args.scratch_bytes = static_cast<size_t>(args.outputs[0].numel()) * sizeof(Entry);
  return KernelStatus::Ok();
}

KernelStatus TopK(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &values = args.outputs[0];
  if (values.numel() == 0) return KernelStatus::Ok();
  const int64_t n = x.shape.back(), k = values.shape.back(), rows = values.numel() / k;
  if (k > n) {
    return KernelStatus::Invalid("k is " + std::to_string(k) + " for an axis of " +
                                 std::to_string(n) + " elements");
  }
  const bool largest = args.get<ten::TopkAttrs>().largest;
  (*args.device->parallel)(rows, cpu::RowGrain(n, 2), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      Entry* const best = static_cast<Entry*>(args.scratch) + row * k;
      const float* from = x.as<float>() + row * n;
      largest ? SelectBest<true>(from, n, k, best) : SelectBest<false>(from, n, k, best);
      for (int64_t i = 0; i < k; ++i) {
        values.as<float>()[row * k + i] = best[i].value;
        args.outputs[1].as<int64_t>()[row * k + i] = best[i].place;
      }
    }
  });
  return KernelStatus::Ok();
}

}  // namespace

Kernel CpuArgmax() {
  return {.op = "ten.argmax",
          .name = "cpu.argmax",
          .priority = 10,
          .run = ArgReduce<true, ten::ArgmaxAttrs>,
          .supports = ArgReduceSupports<ten::ArgmaxAttrs>};
}

Kernel CpuArgmin() {
  return {.op = "ten.argmin",
          .name = "cpu.argmin",
          .priority = 10,
          .run = ArgReduce<false, ten::ArgminAttrs>,
          .supports = ArgReduceSupports<ten::ArgminAttrs>};
}

Kernel CpuTopk() {
  return {.op = "ten.topk",
          .name = "cpu.topk",
          .priority = 10,
          .run = TopK,
          .prepare = PrepareTopK,
          .supports = [](const CallSignature& call) -> std::string {
            const auto& attrs = *static_cast<const ten::TopkAttrs*>(call.attrs);
            if (!cpu::IsLastAxis(call.inputs[0], attrs.axis)) return "needs the last axis";
            return call.inputs[0].dtype == DType::kF32 ? "" : "needs f32";
          }};
}

}  // namespace tenon::kernels
