// The inner loops of convolutions of bytes with channels last. An element is four bytes, or two
// integers of 16 bits, that lie behind each other along the channels; sums are integers of 32 bits
// that wrap around.
#ifndef TENON_KERNELS_CPU_CONV_BYTES_BYTE_TILE_H_
#define TENON_KERNELS_CPU_CONV_BYTES_BYTE_TILE_H_

#include <cstddef>
#include <cstdint>

namespace tenon::kernels::cpu {

// What becomes of the sums.
enum class ByteResult : uint8_t {
  kSums,    // i32
  kFloats,  // f32: the sums rounded
  kBytes,   // round(sum * scale) + zero, within the range of the bytes
};

// The end of all tiles of a convolution.
struct ByteFinish {
  ByteResult result = ByteResult::kSums;
  float low = 0, high = 0;  // kBytes: bounds of the byte less its zero point
  int32_t zero = 0;         // kBytes: the zero point
  bool fits_int = false;    // kBytes: every sum * scale rounds to a number that an i32 holds
};

// The data that all tiles of a convolution share; as TileCall, in elements.
struct ByteTileCall {
  const int64_t* runs = nullptr;
  int64_t num_runs = 0, run_size = 0;
  int64_t pixel_step = 0;  // elements of the input from a pixel to the next
  int64_t out_step = 0;    // numbers of the result from a pixel to the next
  bool has_zeros = false;  // the zero points of some filters are not 0
  ByteFinish finish;
};

// Two groups of neighboring pixels (or one), and one panel of filters. All arrays of filters have
// as many numbers as the panel has columns.
struct ByteTile {
  const std::byte* x[2] = {};          // the first pixel of each group
  const std::byte* weights = nullptr;  // [elements of the window][columns of the panel]
  const int32_t* start = nullptr;      // what sums start with
  const float* scale = nullptr;        // kBytes only
  const int32_t* zeros = nullptr;      // the zero points of the filters; with has_zeros only
  int64_t columns = 0;                 // of the result; the panel may have more
  std::byte* out[2] = {};              // the results of each group
};

// Pixels of a result with one filter for each channel. Bytes are unsigned.
struct ByteChannels {
  const uint8_t* x = nullptr;     // the first element of the window of the first pixel
  const int64_t* taps = nullptr;  // where the elements of the window lie behind it
  int64_t num_taps = 0;
  int64_t x_step = 0;  // from a pixel to the next
  int64_t pixels = 0, channels = 0;
  const std::byte* weights = nullptr;  // as PackChannels has them
  const int32_t* start = nullptr;      // [channels], what sums start with
  const float* scale = nullptr;        // [channels]; kBytes only
  std::byte* out = nullptr;            // the pixels of the result, `channels` numbers each
  ByteFinish finish;
};

using ByteTileFn = void (*)(const ByteTileCall& call, const ByteTile& tile);  // computes a tile

// The loops of one instruction set.
struct ByteKernels {
  int lanes = 0;      // panels have 2 * lanes columns, or lanes
  int depth = 0;      // 4: unsigned bytes and signed weights; 2: integers of 16 bits
  int max_group = 0;  // pixels in a group, from 1
  // [group - 1][whether there are two][columns of the panel / lanes - 1]
  ByteTileFn tiles[7][2][2] = {};
  // Of weights as integers of 16 bits, [taps][channels].
  void (*channels)(const ByteChannels& call) = nullptr;
  // Of signed bytes in blocks of 64 channels, to bytes alone; null: there is no such loop. A block
  // has for each four taps four vectors; channel 16 l + 4 j + i is lane 4 l + i of vector j. start
  // and scale have the same order, and all are complete blocks.
  void (*fours)(const ByteChannels& call) = nullptr;
};

// Returns the loops for the active instruction set.
const ByteKernels& ActiveByteKernels();

// The loops of each instruction set.
const ByteKernels& ByteKernelsAvx2();
const ByteKernels& ByteKernelsAvx512();
const ByteKernels& ByteKernelsAvx512Vnni();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_BYTES_BYTE_TILE_H_
