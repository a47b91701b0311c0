// ten.resize of floats, row by row: a row is the last axis that changes, with all behind it. A row
// of the result is resampled along that axis, and summed from rows by the taps of the axes before,
// in the cheaper order: rows that several sums need are resampled first and kept.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/calls/resize_taps.h"
#include "kernels/cpu/movement/copy_plan.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"
#include "kernels/threads/parallel_slots.h"

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

constexpr int64_t kMostKept = 16;  // rows

// What a thread needs for one row.
struct Slot {
  const float** from;  // the rows that are summed
  float* weights;
  float* row;  // the sum of rows, or `kept` rows that have been resampled …
  // … of which each came from here. Without any: the row of the input that was resampled last, and
  // of the result.
  const float** source;
};

struct ResizeState : KernelState {
  std::vector<Taps> outer;    // of the axes before the row, from the first one
  std::vector<int64_t> step;  // elements of the input from a position of these to the next
  std::vector<Taps> row;      // of the row's first axis: one, or none where no axis changes
  int64_t in = 0, inner = 1;  // extents of that axis in the input, and of all behind it
  bool copies_row = false, copies_rows = true;  // by one tap of weight 1: along it, across it
  int64_t slots = 0, most_rows = 1;             // rows of a sum
  int64_t kept = 0;                             // rows that a thread keeps; 0: sums come first

  int64_t row_size() const { return row.front().out() * inner; }
  int64_t slot_bytes() const { return row_at() + Align64(row_floats() * kFloat); }
  Slot SlotAt(std::byte* scratch, int64_t slot) const {
    std::byte* at = scratch + slot * slot_bytes();
    return {reinterpret_cast<const float**>(at), reinterpret_cast<float*>(at + weights_at()),
            reinterpret_cast<float*>(at + row_at()),
            reinterpret_cast<const float**>(at + sources_at())};
  }
  int64_t sources() const { return std::max<int64_t>(kept, 2); }

 private:
  static constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  static constexpr auto kPointer = static_cast<int64_t>(sizeof(float*));
  static int64_t Align64(int64_t bytes) { return (bytes + 63) / 64 * 64; }
  int64_t weights_at() const { return Align64(most_rows * kPointer); }
  int64_t sources_at() const { return weights_at() + Align64(most_rows * kFloat); }
  int64_t row_at() const { return sources_at() + Align64(sources() * kPointer); }
  int64_t row_floats() const { return kept > 0 ? kept * row_size() : copies_rows ? 0 : in * inner; }
};

// Does it take less to resample rows of the input and sum them than the other way round? The rows
// of the result are so many; a vector has about 16 elements.
bool ResamplesFirst(const ResizeState& s, int64_t rows_in, int64_t rows_out) {
  if (s.copies_rows || s.most_rows > kMostKept) return false;
  constexpr double kLanes = 16;
  const double along = static_cast<double>(s.row.front().out() * s.row.front().most) *
                       std::max(1.0, kLanes / static_cast<double>(s.inner));
  const double out = static_cast<double>(rows_out), sums = out * static_cast<double>(s.most_rows);
  return static_cast<double>(rows_in) * along + sums * static_cast<double>(s.row.front().out()) <
         out * along + sums * static_cast<double>(s.in);
}

KernelStatus PrepareResize(PrepareArgs& args, std::shared_ptr<KernelState>& out_state) {
  const auto& attrs = *static_cast<const ten::ResizeAttrs*>(args.attrs);
  const DimSpan in = args.inputs[0].shape, out = args.outputs[0].shape;
  auto state = std::make_shared<ResizeState>();
  ResizeState& s = *state;
  out_state = state;
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  if (args.inputs[0].numel() == 0)
    return KernelStatus::Invalid("an empty axis cannot be resized (expected one or more elements)");
  std::vector<Taps> taps;
  for (const AxisTaps& axis : ResizeTaps(attrs, in, out)) taps.emplace_back(axis);
  size_t last = taps.size();
  while (last > 0 && IsIdentity(taps[last - 1], in[last - 1])) s.inner *= in[--last];
  if (last == 0) return KernelStatus::Ok();
  s.in = in[last - 1];
  s.copies_row = taps[last - 1].copies();
  s.row.push_back(std::move(taps[last - 1]));
  const Dims strides = RowMajorStrides(in);
  int64_t rows_in = 1, rows_out = 1;
  for (size_t axis = 0; axis + 1 < last; ++axis) {
    s.step.push_back(strides[axis]);
    s.most_rows *= taps[axis].most;
    s.copies_rows &= taps[axis].copies();
    rows_in *= in[axis];
    rows_out *= out[axis];
    s.outer.push_back(std::move(taps[axis]));
  }
  if (ResamplesFirst(s, rows_in, rows_out)) s.kept = s.most_rows;
  s.slots = args.device->parallel->num_threads();
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

void ResampleRow(const ResizeState& s, const float* x, float* out) {
  const Taps& taps = s.row.front();
  const int64_t *index = taps.index.data(), n = taps.out();
  if (!s.copies_row) {
    const cpu::WeightedTaps weighted = {taps.first.data(), index, taps.weight.data(), n};
    cpu::GetVectorOps().resample(x, weighted, s.inner, out);
  } else if (s.inner == 1) {
    for (int64_t o = 0; o < n; ++o) out[o] = x[index[o]];
  } else {
    cpu::GetCopyBlocks().pick(reinterpret_cast<const char*>(x), index, reinterpret_cast<char*>(out),
                              n, s.inner * static_cast<int64_t>(sizeof(float)));
  }
}

// A row of the result that is one of the input, resampled.
void ResampleOne(const ResizeState& s, const Slot& slot, float* out) {
  const float *&last = slot.source[0], *&result = slot.source[1];
  if (last == slot.from[0]) {
    std::memcpy(out, result, static_cast<size_t>(s.row_size()) * sizeof(float));
    return;
  }
  ResampleRow(s, slot.from[0], out);
  last = slot.from[0];
  result = out;
}

// Replaces the `count` rows of the input by what they become.
void ResampleRows(const ResizeState& s, int64_t count, const Slot& slot) {
  const int64_t size = s.row_size();
  const float *const *begin = slot.from, *const *end = slot.from + count;
  uint32_t needed = 0;  // of those that are kept
  for (int64_t k = 0; k < s.kept; ++k) {
    if (std::find(begin, end, slot.source[k]) != end) needed |= 1u << k;
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t k = std::find(slot.source, slot.source + s.kept, slot.from[i]) - slot.source;
    if (k == s.kept) {
      k = std::countr_one(needed);
      needed |= 1u << k;
      ResampleRow(s, slot.from[i], slot.row + k * size);
      slot.source[k] = slot.from[i];
    }
    slot.from[i] = slot.row + k * size;
  }
}

KernelStatus RunResize(const RunArgs& args) {
  const auto& s = *static_cast<const ResizeState*>(args.state);
  const TensorView& out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const auto* x = args.inputs[0].as<float>();
  if (s.row.empty()) {
    std::memcpy(out.data, x, static_cast<size_t>(out.numel()) * sizeof(float));
    return KernelStatus::Ok();
  }
  auto* const scratch = static_cast<std::byte*>(args.scratch);
  for (int64_t i = 0; i < s.slots; ++i)
    std::fill_n(s.SlotAt(scratch, i).source, s.sources(), nullptr);
  const int64_t row_size = s.row_size();
  const auto make = [&](const Slot& slot, int64_t r) {
    float* to = out.as<float>() + r * row_size;
    const int64_t count = RowsOf(s, x, r, slot);
    const auto sum = [&](float* y, int64_t n) {
      cpu::GetVectorOps().weighted_sum(slot.from, slot.weights, count, y, n);
    };
    if (s.copies_rows) {
      ResampleOne(s, slot, to);
    } else if (s.kept > 0) {
      ResampleRows(s, count, slot);
      sum(to, row_size);
    } else {
      sum(slot.row, s.in * s.inner);
      ResampleRow(s, slot.row, to);
    }
  };
  ForRangesInSlots(*args.device->parallel, s.slots, out.numel() / row_size,
                   cpu::RowGrain(row_size, 2), [&](int64_t slot, int64_t begin, int64_t end) {
                     const Slot mine = s.SlotAt(scratch, slot);
                     for (int64_t r = begin; r < end; ++r) make(mine, r);
                   });
  return KernelStatus::Ok();
}

std::string SupportsResize(const CallSignature& call) {
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
          .run = RunResize,
          .prepare = PrepareResize,
          .supports = SupportsResize};
}

}  // namespace tenon::kernels
