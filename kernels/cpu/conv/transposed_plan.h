// The division of a transposed convolution by cpu.conv_transpose.tiled.
//
// With stride s, results whose positions are equal modulo s sum over the same elements of the
// window. They form a phase: an ordinary convolution with stride 1, whose results are s apart. So
// no zeros between the pixels of the image are multiplied.
#ifndef TENON_KERNELS_CPU_CONV_TRANSPOSED_PLAN_H_
#define TENON_KERNELS_CPU_CONV_TRANSPOSED_PLAN_H_

#include <cstdint>
#include <vector>

#include "kernels/cpu/conv/filter_panels.h"
#include "kernels/cpu/conv/tile.h"

namespace tenon::kernels::cpu {

// One spatial axis of the transposed convolution.
struct TransposedAxis {
  int64_t kernel, stride, dilation, pad_begin, in, out;
};

// An element of the window. Result i of a phase multiplies it by pixel i + offset.
struct TransposedTap {
  int64_t element, offset;
  bool operator==(const TransposedTap&) const = default;
};

// `count` results along one axis, from `first` on, one step apart. `joined` adjacent phases read
// the same pixels. taps[j] are the taps of phase j, in the order of pixels; they differ only in
// their elements. Elements that meet only padding are left out, so that there may be none.
struct AxisPhase {
  int64_t first, count, joined;
  std::vector<std::vector<TransposedTap>> taps;
};

// Returns phases that cover the axis. With `joins`, adjacent phases are joined where possible.
std::vector<AxisPhase> PhasesOf(const TransposedAxis& axis, bool joins);

// The steps between results of a phase: those of the axis, or larger where one pixel makes all.
int64_t StepOf(const TransposedAxis& axis);

// A phase of both axes, as a convolution with joined * filters filters.
struct TransposedPhase {
  const AxisPhase *rows, *columns;
  FilterPanels panels;
  std::vector<int64_t> runs;  // `call` points to them
  TileCall call;              // all but the activation
  int64_t depth;              // elements of its window
  int64_t weights_at;         // of its panels among those of all phases
  int64_t first_unit;         // units are the panels of all phases
};

// The memory from which tiles read their pixels.
enum class TransposedSource : uint8_t {
  kImage,   // the image itself
  kPadded,  // a padded copy of the rows of a block
  kGather,  // copies of the windows of a phase, because rows are too short for a group
};

// The plan of a transposed convolution. It cannot be copied, because phases point into it.
struct TransposedPlan {
  // A slot holds the number of the copied block, then at this byte the copy.
  static constexpr int64_t kCopyAt = 64;

  TransposedPlan() = default;
  TransposedPlan(const TransposedPlan&) = delete;
  TransposedPlan& operator=(const TransposedPlan&) = delete;

  // Sets all members after `columns`.
  void Choose(const TileKernels& kernels, int64_t threads);

  int64_t batch, channels, filters;
  TransposedAxis rows, columns;

  int64_t row_step, column_step;  // of the results of a phase
  std::vector<AxisPhase> row_phases, column_phases;
  std::vector<TransposedPhase> phases;
  int64_t units, weights_size;  // of all phases; floats
  int64_t most_joined;
  TransposedSource source;
  // kPadded: a copy has so many rows before and behind the block, and columns before it. Its rows
  // have `width` pixels, `pixel` elements apart. kImage: as in the image.
  int64_t rows_before, rows_behind, columns_before, width, pixel;
  int64_t block, blocks_per_image;  // rows of all phases; kGather: `block` pixels
  int64_t splits;                   // of the units of a block among tasks
  int64_t slots, slot_bytes;        // threads, and what each needs
  int64_t gathered_out;             // kGather: where in a slot the results are

 private:
  void ChooseSource(const TileKernels& kernels);
  void AddPhase(const AxisPhase& row, const AxisPhase& column, const TileKernels& kernels);
  void ChooseBlocks(int64_t threads, int64_t max_group);
};

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_TRANSPOSED_PLAN_H_
