// The division of a convolution of bytes by cpu.q_conv, and its packed weights.
#ifndef TENON_KERNELS_CPU_CONV_BYTES_BYTE_CONV_PLAN_H_
#define TENON_KERNELS_CPU_CONV_BYTES_BYTE_CONV_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/conv/bytes/byte_tile.h"
#include "kernels/cpu/conv/filter_panels.h"
#include "kernels/cpu/conv/geometry.h"
#include "kernels/kernel.h"

namespace tenon::kernels::cpu {

// The filters and their zero points, as the op has them.
struct ByteFilters {
  const uint8_t* data = nullptr;  // [filters, channels of a group, window]
  bool is_signed = false;
  const uint8_t* zero = nullptr;  // one for each filter, or one number
  bool zero_each = false;
};

// The plan of a convolution of bytes. Channels are filtered by themselves (`is_depthwise`), or
// groups of channels by panels of filters.
struct BytesPlan {
  // A slot holds the number of the copied block, then at this byte the copy.
  static constexpr int64_t kCopyAt = 64;

  // Sets all other members from `image`, `group` and `is_signed`. `result` is what the sums become.
  void Choose(ByteResult result, int64_t threads);

  // The layout and the size of packed weights, and packing. Behind the weights lie the corrections.
  std::string Layout(bool weights_are_signed) const;
  size_t PackedSize() const;
  void Pack(const ByteFilters& filters, std::byte* packed) const;

  // What is left of zero points, in packed weights.
  struct Corrections {
    int32_t* sums;   // for each column: the sum of the filter less its zero point
    int32_t* zeros;  // for each column: the zero point of the packed filter
    int32_t* any;    // is a zero point not 0?
  };
  Corrections CorrectionsOf(const std::byte* packed) const;
  // The place of the corrections of a filter, which start and scale share.
  int64_t ColumnOf(int64_t filter) const;
  int64_t Columns() const;                                  // of all groups
  int64_t GroupBytes() const;                               // of the packed weights of a group
  const std::byte* FoursOf(const std::byte* packed) const;  // is_depthwise only

  ImageGeometry image = {};
  int64_t group = 1;
  bool is_signed = false;  // the images
  bool is_depthwise = false;
  int64_t group_channels = 0, group_filters = 0;
  int64_t taps = 0;                         // elements of the window
  int64_t elements = 0;                     // of 4 bytes, of a pixel of a group
  FilterPanels panels;                      // of a group
  bool copies = false;                      // else tiles read the image
  bool is_flat = false;                     // all pixels of the batch are one row
  int64_t pixel_bytes = 0, row_bytes = 0;   // of what is read, from one to the next
  std::vector<int64_t> runs;                // of the window; for is_depthwise in bytes
  ByteTileCall call;                        // without the runs
  int64_t block = 0, blocks_per_image = 0;  // rows of the result, or pixels where it is flat
  int64_t splits = 1;                       // of the panels of a block among tasks
  int64_t slots = 0, slot_bytes = 0;

 private:
  void ChooseSource();
  void ChooseBlocks(int64_t threads);
  void PackGroup(const ByteFilters& filters, int64_t g, std::byte* packed) const;
  void PackChannels(const ByteFilters& filters, std::byte* packed) const;
  bool HasFours() const { return is_depthwise && ActiveByteKernels().fours != nullptr; }
};

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_BYTES_BYTE_CONV_PLAN_H_
