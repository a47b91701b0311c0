// What the instruction sets provide for matrix products: products of a few rows and a few panels
// that stay in registers, and the activations that follow. Plain structs only: the files compiled
// for one instruction set include this.
#ifndef TENON_KERNELS_CPU_GEMM_TILE_H_
#define TENON_KERNELS_CPU_GEMM_TILE_H_

#include <cstddef>
#include <cstdint>

#include "kernels/activation.h"

namespace tenon::kernels::cpu {

// One tile of c = a * b + bias + residual. A panel is a group of GemmKernels::panel columns of b;
// row p of it lies at b + p * b_row. A tile covers one, two or four panels, b_panel elements apart.
struct Tile {
  const float* a = nullptr;  // row-major: (i, p) at a[i * a_row + p]; packed: at a[p * rows + i]
  int64_t a_row = 0;
  const float* b = nullptr;
  int64_t b_row = 0;
  int64_t b_panel = 0;
  int64_t ahead = 0;  // rows of b that are fetched ahead of their use
  float* c = nullptr;
  int64_t c_row = 0;
  int64_t k = 0;
  int64_t cols = 0;               // columns of c; those of b beyond them are read and dropped
  const float* bias = nullptr;    // null: 0
  const float* addend = nullptr;  // what is added when the tile is stored; null: nothing
  int64_t addend_row = 0;
  // What is fetched into the second-level cache meanwhile: a line at `next`, which moves on by
  // next_step bytes with each row of b; tiles that take several rows at a time leave some out.
  const void* next = nullptr;
  int64_t next_step = 0;
  // Where the rows of the result will be written in the end: fetched for that before the sums.
  float* out = nullptr;
  int64_t out_row = 0;
};

// Rows of a matrix on which an activation works and to which a residual is added.
struct Finish {
  const float* x = nullptr;
  int64_t x_row = 0;
  float* y = nullptr;
  int64_t y_row = 0;
  int64_t rows = 0, cols = 0;
  const float* residual = nullptr;
  int64_t residual_row = 0;
  float alpha = 0, beta = 0;  // of the activation
};

inline constexpr int kMaxTileRows = 14;
// Floats of the largest tile.
inline constexpr int kMaxTileSize = 14 * 32;
// Widths of tiles in vectors: half a panel, a panel, two panels, four.
inline constexpr int kTileWidths = 4;

// Sums that are integers of 32 bits in the place of floats, when they are done: y = x - row * col,
// as integers or rounded to floats.
struct IntegerFinish {
  const float* x = nullptr;
  int64_t x_row = 0;
  float* y = nullptr;
  int64_t y_row = 0;
  int64_t rows = 0, cols = 0;
  const int32_t* row = nullptr;  // [rows]; null: x alone
  const int32_t* col = nullptr;  // [cols]
  bool to_float = false;
};

struct GemmKernels {
  using TileFn = void (*)(const Tile&);
  // y = activation(x) + residual (null: 0); y may be x or residual.
  using FinishFn = void (*)(const Finish&);
  // Writes columns [0, cols) of (j, p) at b[j * b_col + p], p < k, as one panel, zeros beyond.
  using PackFn = void (*)(const float* b, int64_t b_col, int64_t k, int64_t cols, float* panel);

  int panel = 0;     // columns of a panel: two vectors
  int max_rows = 0;  // of a tile as wide as one panel
  // [rows][width]; null where the accumulators would not fit into the registers.
  TileFn tile[kMaxTileRows + 1][kTileWidths] = {};
  TileFn packed_tile[kMaxTileRows + 1][2] = {};
  // [rows]: of panels of a packed b, as many as `cols` asks for; null: the rows are too many.
  TileFn stream[kMaxTileRows + 1] = {};
  FinishFn finish[kNumActivations] = {};
  void (*finish_integers)(const IntegerFinish&) = nullptr;  // where sums are integers
  PackFn pack_columns = nullptr;
  // Writes (i, p) at a[i * a_row + p], i < rows, p < k, to packed[p * rows + i].
  using PackRowsFn = void (*)(const float* a, int64_t a_row, int64_t rows, int64_t k,
                              float* packed);
  PackRowsFn pack_rows = nullptr;
};

// Columns of a strip of an int8 matrix b, whose rows follow one another as one stream: each group
// of rows has its factors, a float for each column, and then the rows, a byte for each column.
inline constexpr int64_t kInt8Strip = 64;

// A tile whose b is columns of a strip, from `col` on. The pointers to b in `tile` are not used.
struct Int8Tile {
  Tile tile;
  const std::byte* strip = nullptr;
  int64_t col = 0;
  int64_t group = 0;  // rows that share their factors
};

struct Int8Kernels {
  using TileFn = void (*)(const Int8Tile&);
  // The columns of one panel, from `col` on, as numbers of b.
  using DequantizeFn = void (*)(const std::byte* strip, int64_t col, int64_t k, int64_t group,
                                float* out);
  static constexpr int kMostRows = 12;

  int panel = 0;
  int max_rows = 0;
  TileFn tile[kMostRows + 1][2] = {};  // [rows][0: one panel, 1: two]; null: too few registers
  DequantizeFn dequantize = nullptr;
};

const GemmKernels& GemmKernelsPortable();
const GemmKernels& GemmKernelsAvx2();
const GemmKernels& GemmKernelsAvx512();
const Int8Kernels& Int8KernelsPortable();
const Int8Kernels& Int8KernelsAvx2();
const Int8Kernels& Int8KernelsAvx512();

// Tiles of pairs of bfloat16 numbers, see tile_avx512_bf16.cc.
const GemmKernels& GemmKernelsAvx512Bf16();
// n floats as (n + 1) / 2 pairs; a missing last one is 0.
void ConvertToBf16Avx512Bf16(const float* x, int64_t n, float* pairs);

// Tiles of several bytes, or of pairs of 16-bit integers, in the place of floats; sums are integers
// of 32 bits that wrap around.
struct IntegerKernels {
  GemmKernels gemm;
  // Bytes of a and of b that make an element: 4, unsigned ones of a and signed ones of b, or 2,
  // each as an integer of 16 bits less its zero point.
  int depth = 0;
  // Prepares n bytes of a: x ^ 0x80 where they are signed; or 16-bit integers x - zero.
  void (*convert)(const uint8_t* x, bool is_signed, int zero, int64_t n, void* out) = nullptr;
};
const IntegerKernels& IntegerKernelsPortable();
const IntegerKernels& IntegerKernelsAvx2();
const IntegerKernels& IntegerKernelsAvx512();
const IntegerKernels& IntegerKernelsAvx512Vnni();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_TILE_H_
