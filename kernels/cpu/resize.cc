// ten.resize of floats, row by row: a row is the last axis that changes, with all behind it. It is
// first summed from the input's rows, by the taps of the axes before, then resampled itself.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/cpu/support.h"
#include "kernels/cpu/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/parallel_slots.h"
#include "kernels/resize_taps.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

// The taps of one axis with weights of f32.
struct Taps {
  std::vector<int64_t> first, index;  // position o has [first[o], first[o + 1])
  std::vector<float> weight;
  int64_t most = 0;  // of a position

  explicit Taps(const AxisTaps& axis) : first(axis.first) {
    for (const Tap& tap : axis.taps) {
      index.push_back(tap.index);
      weight.push_back(static_cast<float>(tap.weight));
    }
    for (size_t o = 0; o + 1 < first.size(); ++o) most = std::max(most, first[o + 1] - first[o]);
  }

  int64_t out() const { return static_cast<int64_t>(first.size()) - 1; }
  // Is each position a copy of one of the input?
  bool copies() const {
    return most == 1 && static_cast<int64_t>(index.size()) == out() &&
           std::all_of(weight.begin(), weight.end(), [](float w) { return w == 1; });
  }
};

bool IsIdentity(const Taps& taps, int64_t in) {
  if (taps.out() != in || !taps.copies()) return false;
  for (size_t i = 0; i < taps.index.size(); ++i) {
    if (taps.index[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// What a thread needs for one row.
struct Slot {
  const float** from;  // the rows of the input, or the pixels, that are summed
  float* weights;
  float* row;  // the sum of rows
};

struct ResizeState : KernelState {
  std::vector<Taps> outer;    // of the axes before the row, from the first one
  std::vector<int64_t> step;  // elements of the input from a position of these to the next
  std::vector<Taps> row;      // of the row's first axis: one, or none where no axis changes
  int64_t in = 0, inner = 1;  // extents of that axis in the input, and of all behind it
  bool copies_row = false, copies_rows = true;  // by one tap of weight 1: along it, across it
  int64_t slots = 0, most_taps = 1;

  int64_t from_bytes() const { return Align64(most_taps * static_cast<int64_t>(sizeof(float*))); }
  int64_t weight_bytes() const { return Align64(most_taps * static_cast<int64_t>(sizeof(float))); }
  int64_t slot_bytes() const {
    const int64_t row_floats = copies_rows ? 0 : in * inner;
    return from_bytes() + weight_bytes() +
           Align64(row_floats * static_cast<int64_t>(sizeof(float)));
  }
  Slot SlotAt(std::byte* scratch, int64_t slot) const {
    std::byte* at = scratch + slot * slot_bytes();
    return {reinterpret_cast<const float**>(at), reinterpret_cast<float*>(at + from_bytes()),
            reinterpret_cast<float*>(at + from_bytes() + weight_bytes())};
  }

 private:
  static int64_t Align64(int64_t bytes) { return (bytes + 63) / 64 * 64; }
};

KernelStatus Prepare(PrepareArgs& args, std::shared_ptr<KernelState>& out_state) {
  const auto& attrs = *static_cast<const ten::ResizeAttrs*>(args.attrs);
  const DimSpan in = args.inputs[0].shape, out = args.outputs[0].shape;
  auto state = std::make_shared<ResizeState>();
  ResizeState& s = *state;
  out_state = state;
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  if (args.inputs[0].numel() == 0) return KernelStatus::Invalid("cannot resize an empty axis");
  std::vector<Taps> taps;
  for (const AxisTaps& axis : ResizeTaps(attrs, in, out)) taps.emplace_back(axis);
  size_t last = taps.size();
  while (last > 0 && IsIdentity(taps[last - 1], in[last - 1])) s.inner *= in[--last];
  if (last == 0) return KernelStatus::Ok();
  s.in = in[last - 1];
  s.copies_row = taps[last - 1].copies();
  s.row.push_back(std::move(taps[last - 1]));
  const Dims strides = RowMajorStrides(in);
  int64_t most_rows = 1;
  for (size_t axis = 0; axis + 1 < last; ++axis) {
    s.step.push_back(strides[axis]);
    most_rows *= taps[axis].most;
    s.copies_rows &= taps[axis].copies();
    s.outer.push_back(std::move(taps[axis]));
  }
  s.slots = args.device->parallel->num_threads();
  s.most_taps = std::max<int64_t>({1, most_rows, s.row.front().most});
  args.scratch_bytes = static_cast<size_t>(s.slots * s.slot_bytes());
  return KernelStatus::Ok();
}

// The rows of the input that row `r` of the result is summed from. Returns how many they are.
int64_t RowsOf(const ResizeState& s, const float* x, int64_t r, const Slot& slot) {
  int64_t count = 1;
  slot.from[0] = x;
  slot.weights[0] = 1;
  for (size_t axis = s.outer.size(); axis-- > 0;) {
    const Taps& taps = s.outer[axis];
    const auto o = static_cast<size_t>(r % taps.out());
    r /= taps.out();
    const int64_t first = taps.first[o], n = taps.first[o + 1] - first;
    for (int64_t t = n; t-- > 0;) {  // the first tap last: it overwrites what the others start from
      const auto tap = static_cast<size_t>(first + t);
      for (int64_t i = 0; i < count; ++i) {
        slot.from[t * count + i] = slot.from[i] + taps.index[tap] * s.step[axis];
        slot.weights[t * count + i] = slot.weights[i] * taps.weight[tap];
      }
    }
    count *= n;
  }
  return count;
}

// One element at each position.
void ResampleElements(const Taps& taps, bool copies, const float* x, float* out) {
  const int64_t n = taps.out(), *index = taps.index.data(), *first = taps.first.data();
  const float* weight = taps.weight.data();
  if (copies) {
    for (int64_t o = 0; o < n; ++o) out[o] = x[index[o]];
    return;
  }
  for (int64_t o = 0; o < n; ++o) {
    float sum = 0;
    for (int64_t t = first[o]; t < first[o + 1]; ++t) sum += weight[t] * x[index[t]];
    out[o] = sum;
  }
}

void ResampleRow(const ResizeState& s, const float* x, const float** from, float* out) {
  const Taps& taps = s.row.front();
  if (s.inner == 1) return ResampleElements(taps, s.copies_row, x, out);
  const int64_t inner = s.inner;
  const auto weighted_sum = cpu::GetVectorOps().weighted_sum;
  for (int64_t o = 0; o < taps.out(); ++o, out += inner) {
    const int64_t begin = taps.first[static_cast<size_t>(o)];
    if (s.copies_row) {
      std::memcpy(out, x + taps.index[static_cast<size_t>(begin)] * inner,
                  static_cast<size_t>(inner) * sizeof(float));
      continue;
    }
    const int64_t count = taps.first[static_cast<size_t>(o) + 1] - begin;
    for (int64_t t = 0; t < count; ++t) {
      from[t] = x + taps.index[static_cast<size_t>(begin + t)] * inner;
    }
    weighted_sum(from, taps.weight.data() + begin, count, out, inner);
  }
}

KernelStatus Run(const RunArgs& args) {
  const auto& s = *static_cast<const ResizeState*>(args.state);
  const TensorView& out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const auto* x = args.inputs[0].as<float>();
  if (s.row.empty()) {
    std::memcpy(out.data, x, static_cast<size_t>(out.numel()) * sizeof(float));
    return KernelStatus::Ok();
  }
  const int64_t row_size = s.row.front().out() * s.inner, rows = out.numel() / row_size;
  const auto weighted_sum = cpu::GetVectorOps().weighted_sum;
  ForRangesInSlots(*args.device->parallel, s.slots, rows, cpu::RowGrain(row_size, 2),
                   [&](int64_t slot, int64_t begin, int64_t end) {
                     const Slot mine = s.SlotAt(static_cast<std::byte*>(args.scratch), slot);
                     for (int64_t r = begin; r < end; ++r) {
                       const int64_t count = RowsOf(s, x, r, mine);
                       const float* row = mine.from[0];
                       if (!s.copies_rows) {
                         weighted_sum(mine.from, mine.weights, count, mine.row, s.in * s.inner);
                         row = mine.row;
                       }
                       ResampleRow(s, row, mine.from, out.as<float>() + r * row_size);
                     }
                   });
  return KernelStatus::Ok();
}

std::string Supports(const CallSignature& call) {
  const auto& attrs = *static_cast<const ten::ResizeAttrs*>(call.attrs);
  if (attrs.coordinate_mode == ten::ResizeCoordinateMode::kTfCropAndResize) {
    return "does not extrapolate";
  }
  return cpu::RequireF32(call);
}

}  // namespace

Kernel CpuResize() {
  return {.op = "ten.resize",
          .name = "cpu.resize",
          .priority = 10,
          .run = Run,
          .prepare = Prepare,
          .supports = Supports};
}

}  // namespace tenon::kernels
