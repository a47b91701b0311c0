#include <immintrin.h>

#include "kernels/cpu/movement/copy_blocks.h"
#include "kernels/cpu/movement/transpose_avx2-inl.h"

namespace tenon::kernels::cpu {
namespace {

__m256i Load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
void Store(void* to, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(to), v); }

// A row of 32 bytes or more: its last vector overlaps the one before.
void LongRow(const char* from, char* to, int64_t bytes) {
  int64_t i = 0;
  for (; i + 128 <= bytes; i += 128) {
    const __m256i a = Load(from + i), b = Load(from + i + 32);
    const __m256i c = Load(from + i + 64), d = Load(from + i + 96);
    Store(to + i, a);
    Store(to + i + 32, b);
    Store(to + i + 64, c);
    Store(to + i + 96, d);
  }
  for (; i + 32 <= bytes; i += 32) Store(to + i, Load(from + i));
  if (i < bytes) Store(to + bytes - 32, Load(from + bytes - 32));
}

void Row(const char* from, char* to, int64_t bytes) {
  if (bytes >= 32) return LongRow(from, to, bytes);
  __builtin_memcpy(to, from, static_cast<size_t>(bytes));
}

void Rows(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t rows,
          int64_t bytes) {
  for (int64_t r = 0; r < rows; ++r, from += from_step, to += to_step) Row(from, to, bytes);
}

void Pick(const char* from, const int64_t* rows, char* to, int64_t count, int64_t bytes) {
  for (int64_t r = 0; r < count; ++r, to += bytes) Row(from + rows[r] * bytes, to, bytes);
}

// 8 x 8: row i of the result is column i of the source's 8 rows.
void Block(const float* from, int64_t from_column, float* to, int64_t to_row) {
  __m256 r[8];
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) r[k] = _mm256_loadu_ps(from + k * from_column);
  TransposeRegisters(r);
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) _mm256_storeu_ps(to + k * to_row, r[k]);
}

void Transpose(const uint32_t* from, int64_t from_column, uint32_t* to, int64_t to_row,
               int64_t rows, int64_t columns) {
  const int64_t whole = columns / 8 * 8, full = rows / 8 * 8;
  // Source rows are far apart, so several vectors of each are used while they are at hand.
  constexpr int64_t kRows = 64;
  for (int64_t i0 = 0; i0 < full; i0 += kRows) {
    const int64_t i1 = i0 + kRows < full ? i0 + kRows : full;
    for (int64_t j = 0; j < whole; j += 8) {
      for (int64_t i = i0; i < i1; i += 8) {
        Block(reinterpret_cast<const float*>(from + i + j * from_column), from_column,
              reinterpret_cast<float*>(to + i * to_row + j), to_row);
      }
    }
  }
  for (int64_t k = 0; k < rows; ++k) {
    for (int64_t j = k < full ? whole : 0; j < columns; ++j) {
      to[k * to_row + j] = from[k + j * from_column];
    }
  }
}

}  // namespace

CopyBlocks Avx2CopyBlocks() { return {Rows, Pick, Transpose}; }

}  // namespace tenon::kernels::cpu
