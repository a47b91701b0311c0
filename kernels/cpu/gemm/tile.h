// The loops of each instruction set for matrix products: products of a few rows and a few panels,
// with sums in registers, and the activations that follow. This header has plain structs only,
// because files that are compiled for one instruction set include it.
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
  const float* b = nullptr;       // row 0 of the first panel
  int64_t b_row = 0;              // from a row of a panel to the next
  int64_t b_panel = 0;            // from a panel to the next
  int64_t ahead = 0;              // rows of b that are prefetched ahead of their use
  float* c = nullptr;             // the first element of the tile
  int64_t c_row = 0;              // from a row of c to the next
  int64_t k = 0;                  // products per sum
  int64_t cols = 0;               // columns of c; those of b beyond them are read and dropped
  const float* bias = nullptr;    // null: 0
  const float* addend = nullptr;  // added when the tile is stored; null: nothing
  int64_t addend_row = 0;         // from a row of the addend to the next
  // A cache line to prefetch into the second-level cache with each row of b. The address moves on
  // by next_step bytes per row. Tiles that take several rows at a time leave some out.
  const void* next = nullptr;
  int64_t next_step = 0;
  // The final place of the result, which is prefetched for writing before the sums.
  float* out = nullptr;
  int64_t out_row = 0;
};

// Rows to finish: y = activation(x) + residual.
struct Finish {
  const float* x = nullptr;         // the sums
  int64_t x_row = 0;                // from a row of x to the next
  float* y = nullptr;               // the results
  int64_t y_row = 0;                // from a row of y to the next
  int64_t rows = 0, cols = 0;       // of x and y
  const float* residual = nullptr;  // null: 0
  int64_t residual_row = 0;         // from a row of the residual to the next
  float alpha = 0, beta = 0;        // of the activation
};

inline constexpr int kMaxTileRows = 14;       // of all instruction sets
inline constexpr int kMaxTileSize = 14 * 32;  // floats of the largest tile
// The number of widths of tiles: half a panel, a panel, two panels, four panels.
inline constexpr int kTileWidths = 4;

// Rows of 32-bit integer sums to finish: y = x - row * col, as integers or rounded to floats.
// Integers take the place of floats.
struct IntegerFinish {
  const float* x = nullptr;
  int64_t x_row = 0;
  float* y = nullptr;
  int64_t y_row = 0;
  int64_t rows = 0, cols = 0;
  const int32_t* row = nullptr;  // [rows]; null: x alone
  const int32_t* col = nullptr;  // [cols]
  bool to_float = false;         // y has floats
};

// The loops of one instruction set for floats.
struct GemmKernels {
  // Computes a tile.
  using TileFn = void (*)(const Tile&);
  // y = activation(x) + residual (null: 0); y may be x or residual.
  using FinishFn = void (*)(const Finish&);
  // Packs columns [0, cols) of b as one panel, with zeros for the columns beyond. Element p < k of
  // column j is b[j * b_col + p].
  using PackFn = void (*)(const float* b, int64_t b_col, int64_t k, int64_t cols, float* panel);

  int panel = 0;     // columns of a panel: two vectors
  int max_rows = 0;  // of a tile as wide as one panel
  // By [rows][width]; null if the sums do not fit into the registers. packed_tile is for packed a:
  // half a panel, and one panel.
  TileFn tile[kMaxTileRows + 1][kTileWidths] = {};
  TileFn packed_tile[kMaxTileRows + 1][2] = {};
  // By [rows]: for a packed b and any number of columns; null for too many rows.
  TileFn stream[kMaxTileRows + 1] = {};
  FinishFn finish[kNumActivations] = {};                    // by ActivationKind
  void (*finish_integers)(const IntegerFinish&) = nullptr;  // for integer sums; else null
  PackFn pack_columns = nullptr;                            // packs a panel of b
  // Packs rows of a: a[i * a_row + p], i < rows, p < k, goes to packed[p * rows + i].
  using PackRowsFn = void (*)(const float* a, int64_t a_row, int64_t rows, int64_t k,
                              float* packed);
  PackRowsFn pack_rows = nullptr;  // packs rows of a
};

// Columns of a strip. A strip of an int8 matrix b is one stream: for each group of rows first the
// factors, a float per column, then the rows, a byte per column.
inline constexpr int64_t kInt8Strip = 64;

// A tile whose b are columns of a strip. The pointers to b in `tile` are not used.
struct Int8Tile {
  Tile tile;                         // all but b
  const std::byte* strip = nullptr;  // the first byte of the strip
  int64_t col = 0;                   // the first column, within the strip
  int64_t group = 0;                 // rows that share their factors
};

// The loops of one instruction set for a b of int8.
struct Int8Kernels {
  // Computes a tile.
  using TileFn = void (*)(const Int8Tile&);
  // Writes the columns of one panel, from `col` on, as floats.
  using DequantizeFn = void (*)(const std::byte* strip, int64_t col, int64_t k, int64_t group,
                                float* out);
  static constexpr int kMostRows = 12;  // of all instruction sets

  int panel = 0;                       // columns of a panel
  int max_rows = 0;                    // of a tile as wide as one panel
  TileFn tile[kMostRows + 1][2] = {};  // [rows][0: one panel, 1: two]; null: too few registers
  DequantizeFn dequantize = nullptr;   // for many rows
};

// The loops of each instruction set. Each may run only on a CPU that has it.
const GemmKernels& GemmKernelsPortable();
const GemmKernels& GemmKernelsAvx2();
const GemmKernels& GemmKernelsAvx512();
const Int8Kernels& Int8KernelsPortable();
const Int8Kernels& Int8KernelsAvx2();
const Int8Kernels& Int8KernelsAvx512();

// Returns tiles of pairs of bfloat16 numbers; see tile_avx512_bf16.cc.
const GemmKernels& GemmKernelsAvx512Bf16();
// Rounds n floats to (n + 1) / 2 pairs of bfloat16. A missing last number is 0.
void ConvertToBf16Avx512Bf16(const float* x, int64_t n, float* pairs);

// The loops of one instruction set for bytes. Four bytes, or two 16-bit integers, take the place of
// a float. Sums are 32-bit integers that wrap around.
struct IntegerKernels {
  GemmKernels gemm;  // its tiles multiply such elements
  // The bytes that make an element. 4: unsigned bytes of a and signed bytes of b. 2: bytes less
  // their zero points, as 16-bit integers.
  int depth = 0;
  // Prepares n bytes of a. Depth 4: x ^ 0x80 for signed bytes. Depth 2: 16-bit integers x - zero.
  void (*convert)(const uint8_t* x, bool is_signed, int zero, int64_t n, void* out) = nullptr;
};
// The loops of each instruction set, as above.
const IntegerKernels& IntegerKernelsPortable();
const IntegerKernels& IntegerKernelsAvx2();
const IntegerKernels& IntegerKernelsAvx512();
const IntegerKernels& IntegerKernelsAvx512Vnni();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_TILE_H_
