// How cpu.conv.tiled divides a convolution: where tiles read their pixels, blocks of the result,
// tasks.
#ifndef TENON_KERNELS_CPU_CONV_TILED_PLAN_H_
#define TENON_KERNELS_CPU_CONV_TILED_PLAN_H_

#include <cstdint>
#include <vector>

#include "kernels/cpu/conv/filter_panels.h"
#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/conv/tile.h"

namespace tenon::kernels::cpu {

// Where tiles read their pixels.
enum class TileSource : uint8_t {
  kFlat,    // window of one element: all pixels of the batch are one strip of the image
  kImage,   // each row of a region is a strip of the image
  kPadded,  // each row of a region is a strip of a padded copy of the rows of a block
  kGather,  // the windows of a block are copied behind each other: rows are too short for a group,
            // or pixels too far apart
};

// Elements from the first to the last of a window, both included.
int64_t Reach(const WindowAxis& axis);

// Neighbouring results [first, end) along an axis, and the elements [tap, tap_end) of the window
// that any of them finds in the image.
struct TiledPart {
  int64_t first, end, tap, tap_end;
};

// Parts that cover the axis: where padding is much of the windows, each alone with what it finds.
// A part has at least `least` results, if the axis has.
std::vector<TiledPart> PartsOf(const WindowAxis& axis, int64_t out, int64_t least);

// Pixels of the result whose windows meet the same padding, which is not multiplied.
struct TiledRegion {
  TiledPart rows, columns;
  std::vector<int64_t> runs, weight_rows;  // `call` points to them
  TileCall call;
};

// Not copied: regions point into it.
struct TiledPlan {
  // A slot: which block is copied, then at this byte the copy.
  static constexpr int64_t kCopyAt = 64;

  TiledPlan() = default;
  TiledPlan(const TiledPlan&) = delete;
  TiledPlan& operator=(const TiledPlan&) = delete;

  // Fills everything below `depth`. `flops` of the whole convolution, on so many threads.
  void Choose(const TileKernels& kernels, int64_t threads, double flops);

  // The result is one row of pixels, and not one row after the other.
  bool is_one_strip() const { return source == TileSource::kFlat || source == TileSource::kGather; }

  ImageGeometry image;
  int64_t depth;  // elements of a window
  FilterPanels panels;
  TileSource source;
  TileCall call;  // `activation` is set before; of regions all but the runs
  std::vector<TiledRegion> regions;
  int64_t padded_width;             // kPadded
  int64_t copied_pixel;             // kPadded: elements from a pixel of the copy to the next
  int64_t block, blocks_per_image;  // rows, or pixels, of a block; of one strip: one image
  int64_t splits;                   // of the panels of a block among tasks
  int64_t slots, slot_bytes;        // threads, and what each needs for its copy

 private:
  void ChooseSource(const TileKernels& kernels);
  void AddRegion(const TiledPart& rows, const TiledPart& columns);
  // Cuts the result into blocks, and the panels of a block where there are too few of them for
  // `threads`. Blocks that are copied remain large: every thread that works on one copies it.
  void ChooseBlocks(int64_t threads, double flops, int64_t max_group);
};

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_TILED_PLAN_H_
