// The inner loops of non-maximum suppression.
#ifndef TENON_KERNELS_CPU_BOX_OVERLAPS_H_
#define TENON_KERNELS_CPU_BOX_OVERLAPS_H_

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace tenon::kernels::cpu {

struct Box {
  float top, left, bottom, right;

  float area() const { return (bottom - top) * (right - left); }
};

// Boxes side by side in blocks: the tops of a block, then its lefts, bottoms, rights and areas.
// Places of the last block that are not taken hold boxes that overlap none.
struct BoxBlocks {
  static constexpr int kBoxes = 16;  // of a block
  struct Block {
    std::array<float, kBoxes> top, left, bottom, right, area;
  };

  void Clear() { blocks.clear(), count = 0; }
  void Add(const Box& box) {
    const auto at = static_cast<size_t>(count++) % kBoxes;
    if (at == 0) {
      Block& none = blocks.emplace_back();
      none.top.fill(std::numeric_limits<float>::infinity());
    }
    Block& block = blocks.back();
    block.top[at] = box.top, block.left[at] = box.left;
    block.bottom[at] = box.bottom, block.right[at] = box.right;
    block.area[at] = box.area();
  }

  std::vector<Block> blocks;
  int64_t count = 0;
};

// The loops of one instruction set. All of them compute the same bits.
struct BoxKernels {
  // Does a box share more than `most` of its union with one of the others?
  bool (*overlaps)(const BoxBlocks& others, const Box& box, float most);
  // Writes the places of the scores that are larger than `least`, in order; returns their number.
  int64_t (*above)(const float* scores, int64_t n, float least, uint32_t* places);
};

// Returns the loops for the active instruction set.
const BoxKernels& ActiveBoxKernels();

// The loops of each instruction set.
extern const BoxKernels kBoxKernelsAvx2, kBoxKernelsAvx512;

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_BOX_OVERLAPS_H_
