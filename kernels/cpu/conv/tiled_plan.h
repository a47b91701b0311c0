// The division of a convolution by cpu.conv.tiled: the source of the pixels, blocks of the result,
// and tasks.
#ifndef TENON_KERNELS_CPU_CONV_TILED_PLAN_H_
#define TENON_KERNELS_CPU_CONV_TILED_PLAN_H_

#include <cstdint>
#include <vector>

#include "kernels/cpu/conv/filter_panels.h"
#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/conv/tile.h"

namespace tenon::kernels::cpu {

// The memory from which tiles read their pixels.
enum class TileSource : uint8_t {
  kFlat,    // window of one element: all pixels of the batch are one strip of the image
  kImage,   // each row of a region is a strip of the image
  kPadded,  // each row of a region is a strip of a padded copy of the rows of a block
  kGather,  // the windows of a block are copied one after the other, because rows are too short for
            // a group or pixels are too far apart
};

// Returns the elements from the first to the last of a window, including both.
int64_t Reach(const WindowAxis& axis);

// Results [first, end) along an axis. Their windows meet the image with elements [tap, tap_end)
// only.
struct TiledPart {
  int64_t first, end, tap, tap_end;
};

// Returns parts that cover the axis. Results whose windows have much padding get parts of their
// own. A part has at least `least` results, if the axis has as many.
std::vector<TiledPart> PartsOf(const WindowAxis& axis, int64_t out, int64_t least);

// Pixels of the result whose windows meet the same padding, which is not multiplied.
struct TiledRegion {
  TiledPart rows, columns;                 // the results
  std::vector<int64_t> runs, weight_rows;  // `call` points to them
  TileCall call;                           // for its tiles
};

// The plan of a convolution. It cannot be copied, because regions point into it.
struct TiledPlan {
  // A slot holds the number of the copied block, then at this byte the copy.
  static constexpr int64_t kCopyAt = 64;

  TiledPlan() = default;
  TiledPlan(const TiledPlan&) = delete;
  TiledPlan& operator=(const TiledPlan&) = delete;

  // Sets all members after `depth`. `flops` is the work of the whole convolution.
  void Choose(const TileKernels& kernels, int64_t threads, double flops);

  // True if the result is one row of pixels instead of one row after the other.
  bool is_one_strip() const { return source == TileSource::kFlat || source == TileSource::kGather; }

  ImageGeometry image;               // the extents
  int64_t depth;                     // elements of a window
  FilterPanels panels;               // the layout of the weights
  TileSource source;                 // where tiles read
  TileCall call;                     // for regions, all but the runs; set its `activation` before
  std::vector<TiledRegion> regions;  // cover the result
  int64_t padded_width;              // kPadded
  int64_t copied_pixel;              // kPadded: elements from a pixel of the copy to the next
  int64_t block, blocks_per_image;   // rows, or pixels, of a block; of one strip: one image
  int64_t splits;                    // of the panels of a block among tasks
  int64_t slots, slot_bytes;         // threads, and what each needs for its copy

 private:
  void ChooseSource(const TileKernels& kernels);
  void AddRegion(const TiledPart& rows, const TiledPart& columns);
  // Cuts the result into blocks, and the panels of a block where there are too few of them for
  // `threads`. Blocks that are copied remain large: every thread that works on one copies it.
  void ChooseBlocks(int64_t threads, double flops, int64_t max_group);
};

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_TILED_PLAN_H_
