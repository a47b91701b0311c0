// Matrix products of floats, c = activation(a * b + bias) + residual, out of packed panels of b.
//
//   const size_t bytes = PackedBytesOfB(k, n);              // once: constant weights, or scratch
//   PackB({.data = w, .row = n, .col = 1}, k, n, packed);
//   Gemm({.m = m, .n = n, .k = k, .a = x, .a_row = k, .b = packed, .c = y, .c_row = n}, parallel);
//
// GemmBlock computes a part on the calling thread, for kernels that have loops of their own.
#ifndef TENON_KERNELS_CPU_GEMM_GEMM_H_
#define TENON_KERNELS_CPU_GEMM_GEMM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "kernels/activation.h"
#include "kernels/cpu/gemm/tile.h"
#include "kernels/kernel.h"

namespace tenon::kernels::cpu {

// The operations on a sum before it is stored: activation(sum + bias) + residual.
struct GemmEpilogue {
  const float* bias = nullptr;  // [n]; null: none
  Activation activation = {};   // none by default
  // [m, n] with rows residual_row apart; 0 means one row for all. It may be c.
  const float* residual = nullptr;
  int64_t residual_row = 0;
  // For kIntegers only: see IntegerFinish. `bias` then points to integers, and activation and
  // residual are not allowed.
  const int32_t* integer_row = nullptr;  // [m]
  const int32_t* integer_col = nullptr;  // [n]
  bool integers_to_float = false;        // c has floats
};

// The type of an element of a and b. An element of several numbers has neighbors along k.
enum class GemmElement : uint8_t {
  kFloat,     // one float
  kBf16Pair,  // two bfloat16 numbers; see bf16.h
  kIntegers,  // bytes; see integers.h. c has 32-bit integers, or the epilogue's floats
};

// A product: c = a * b, then the epilogue.
struct GemmArgs {
  int64_t m = 0, n = 0, k = 0;  // c is m x n; k counts elements
  // The type of the elements of a and of packed b.
  GemmElement element = GemmElement::kFloat;
  const float* a = nullptr;  // (i, p) at a[i * a_row + p], or the result of PackA
  int64_t a_row = 0;         // from a row of a to the next
  bool a_packed = false;     // a is the result of PackA
  // The result of PackB, or plain rows if b_row > 0: (p, j) at b[p * b_row + j]. Plain rows are
  // read in whole panels. If n is no multiple of GemmPanel(), only the columns before the last
  // panel may be computed.
  const float* b = nullptr;
  int64_t b_row = 0;
  float* c = nullptr;  // (i, j) at c[i * c_row + j]
  int64_t c_row = 0;
  bool accumulate = false;  // c += a * b; without activation
  GemmEpilogue epilogue = {};
};

// Returns the product for columns [first, first + count) alone. The caller must set b.
GemmArgs ColumnsOf(const GemmArgs& args, int64_t first, int64_t count);

// A matrix in memory: element (i, j) at data[i * row + j * col].
struct GemmMatrix {
  const float* data = nullptr;
  int64_t row = 0, col = 0;
};

// Returns the columns of a panel: b is packed, and c is computed, in such groups of columns.
int64_t GemmPanel();
int64_t GemmPanels(int64_t n);  // the number of panels of n columns
// Returns the number of tiles of rows. Tiles have up to 14 rows and nearly equal heights.
int64_t GemmTiles(const GemmArgs& args);

// Returns the layout for PrepareArgs::Pack. The caller adds what else it depends on, such as
// transposition.
std::string PackedLayoutOfB(int64_t k, int64_t n);
size_t PackedBytesOfB(int64_t k, int64_t n);  // the size of packed b
// Packs panels [begin, end) of b (k rows, n columns). `packed` is the place of panel 0, aligned to
// 64 bytes. The elements of b may lie at any address.
void PackB(const GemmMatrix& b, int64_t k, int64_t n, float* packed, int64_t begin, int64_t end);
void PackB(const GemmMatrix& b, int64_t k, int64_t n, float* packed, ParallelFor& parallel);
// Packs a dense b, a few MB of it at a time. Calls `read` after each such part: elements [first,
// last), as they lie in memory, are not needed any more.
void PackB(const GemmMatrix& b, int64_t k, int64_t n, float* packed, ParallelFor& parallel,
           const std::function<void(int64_t first, int64_t last)>& read);

// True if packing a pays. Rows of a that are a multiple of 4 KiB apart fall into the same set of
// the cache. The set may have too few ways for the rows of a tile. Packing is required if the
// columns of a are not contiguous.
bool PackingAPays(int64_t m, int64_t n, int64_t a_row);
// Returns a distance for copied rows of so many elements that suits the caches.
int64_t RowOfCopiedA(int64_t elements);
size_t PackedBytesOfA(int64_t m, int64_t k);  // the size of packed a
// Packs a (m rows, k columns).
void PackA(const GemmMatrix& a, int64_t m, int64_t k, float* packed);
void PackA(const GemmMatrix& a, int64_t m, int64_t k, float* packed, ParallelFor& parallel);

// Computes tiles [tile_begin, tile_end) of rows by panels [panel_begin, panel_end) of columns.
void GemmBlock(const GemmArgs& args, int64_t tile_begin, int64_t tile_end, int64_t panel_begin,
               int64_t panel_end);
// Computes the whole product, on the calling thread or on the threads of `parallel`.
void Gemm(const GemmArgs& args);
void Gemm(const GemmArgs& args, ParallelFor& parallel);

// Applies an activation and a residual to rows. Sets alpha and beta of `rows`.
void FinishRows(const Activation& activation, Finish rows);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_GEMM_H_
