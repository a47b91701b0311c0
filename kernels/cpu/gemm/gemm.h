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

// What becomes of a sum before it is stored: activation(sum + bias) + residual.
struct GemmEpilogue {
  const float* bias = nullptr;  // [n]; null: none
  Activation activation = {};
  // [m, n] with rows at distances residual_row (0: one row for all); may lie where c does.
  const float* residual = nullptr;
  int64_t residual_row = 0;
  // Of kIntegers, for which `bias` points to integers and nothing else is allowed: see
  // IntegerFinish.
  const int32_t* integer_row = nullptr;  // [m]
  const int32_t* integer_col = nullptr;  // [n]
  bool integers_to_float = false;
};

// What lies in the place of a float of a and of b; neighbours along k make an element.
enum class GemmElement : uint8_t {
  kFloat,
  kBf16Pair,  // see bf16.h
  kIntegers,  // see integers.h: c has integers of 32 bits, or what the epilogue makes of them
};

struct GemmArgs {
  int64_t m = 0, n = 0, k = 0;
  // Of a and of packed b; k counts elements.
  GemmElement element = GemmElement::kFloat;
  const float* a = nullptr;  // (i, p) at a[i * a_row + p], or what PackA wrote
  int64_t a_row = 0;
  bool a_packed = false;
  // What PackB wrote, or with b_row > 0 plain rows: (p, j) at b[p * b_row + j]. The latter are read
  // in whole panels: n must be a multiple of GemmPanel(), or at most the columns before the last
  // incomplete panel may be computed.
  const float* b = nullptr;
  int64_t b_row = 0;
  float* c = nullptr;  // (i, j) at c[i * c_row + j]
  int64_t c_row = 0;
  bool accumulate = false;  // c += a * b; without activation
  GemmEpilogue epilogue = {};
};

// The product of some columns alone, from `first` on: c and the epilogue are moved there, b is to
// be set.
GemmArgs ColumnsOf(const GemmArgs& args, int64_t first, int64_t count);

// A matrix in memory: element (i, j) at data[i * row + j * col].
struct GemmMatrix {
  const float* data = nullptr;
  int64_t row = 0, col = 0;
};

// Columns of a panel: b is packed, and c computed, in groups of so many columns.
int64_t GemmPanel();
int64_t GemmPanels(int64_t n);  // how many panels n columns make
// Rows are computed in tiles of up to 14 of nearly equal height: how many.
int64_t GemmTiles(const GemmArgs& args);

// Names the layout for PrepareArgs::Pack; `transposed` and the like are the caller's to add.
std::string PackedLayoutOfB(int64_t k, int64_t n);
size_t PackedBytesOfB(int64_t k, int64_t n);
// Packs panels [begin, end) of b (k rows, n columns); `packed` is where panel 0 would lie, 64-byte
// aligned. The elements of b may lie at any address.
void PackB(const GemmMatrix& b, int64_t k, int64_t n, float* packed, int64_t begin, int64_t end);
void PackB(const GemmMatrix& b, int64_t k, int64_t n, float* packed, ParallelFor& parallel);
// The same of a dense b, a few MB of it at a time. `read` is told of each such part, elements
// [first, last) as they lie in memory, when nobody will read it again.
void PackB(const GemmMatrix& b, int64_t k, int64_t n, float* packed, ParallelFor& parallel,
           const std::function<void(int64_t first, int64_t last)>& read);

// Rows of a that are a multiple of 4 KiB apart fall into the same set of the cache. Where it has
// not nearly as many ways as a tile has rows, packing pays. It is needed where the columns of a are
// not contiguous.
bool PackingAPays(int64_t m, int64_t n, int64_t a_row);
// The distance of rows of so many elements that suits the caches, where rows are copied anyway.
int64_t RowOfCopiedA(int64_t elements);
size_t PackedBytesOfA(int64_t m, int64_t k);
void PackA(const GemmMatrix& a, int64_t m, int64_t k, float* packed);
void PackA(const GemmMatrix& a, int64_t m, int64_t k, float* packed, ParallelFor& parallel);

// Tiles [tile_begin, tile_end) of rows by panels [panel_begin, panel_end) of columns.
void GemmBlock(const GemmArgs& args, int64_t tile_begin, int64_t tile_end, int64_t panel_begin,
               int64_t panel_end);
// All of it, on the calling thread or on the threads of `parallel`.
void Gemm(const GemmArgs& args);
void Gemm(const GemmArgs& args, ParallelFor& parallel);

// What an epilogue does after the sum; alpha and beta of `rows` are set here.
void FinishRows(const Activation& activation, Finish rows);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_GEMM_H_
