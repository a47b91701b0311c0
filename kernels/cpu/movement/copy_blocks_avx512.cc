#include <immintrin.h>

#include "kernels/cpu/movement/copy_blocks.h"
#include "kernels/cpu/movement/transpose_avx512-inl.h"

namespace tenon::kernels::cpu {
namespace {

__mmask64 FirstBytes(int64_t n) { return n >= 64 ? ~0ull : (1ull << n) - 1; }
__mmask16 First(int64_t n) { return static_cast<__mmask16>(n >= 16 ? 0xffff : (1u << n) - 1); }

// `whole` is the multiple of 64 in the number of bytes, `tail` stands for the rest.
void Row(const char* from, char* to, int64_t whole, __mmask64 tail) {
  int64_t i = 0;
  for (; i + 256 <= whole; i += 256) {
    const __m512i a = _mm512_loadu_si512(from + i), b = _mm512_loadu_si512(from + i + 64);
    const __m512i c = _mm512_loadu_si512(from + i + 128), d = _mm512_loadu_si512(from + i + 192);
    _mm512_storeu_si512(to + i, a);
    _mm512_storeu_si512(to + i + 64, b);
    _mm512_storeu_si512(to + i + 128, c);
    _mm512_storeu_si512(to + i + 192, d);
  }
  for (; i < whole; i += 64) _mm512_storeu_si512(to + i, _mm512_loadu_si512(from + i));
  if (tail != 0) _mm512_mask_storeu_epi8(to + i, tail, _mm512_maskz_loadu_epi8(tail, from + i));
}

void Rows(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t rows,
          int64_t bytes) {
  const int64_t whole = bytes & ~int64_t{63};
  const __mmask64 tail = FirstBytes(bytes - whole);
  for (int64_t r = 0; r < rows; ++r, from += from_step, to += to_step) Row(from, to, whole, tail);
}

void Pick(const char* from, const int64_t* rows, char* to, int64_t count, int64_t bytes) {
  const int64_t whole = bytes & ~int64_t{63};
  const __mmask64 tail = FirstBytes(bytes - whole);
  for (int64_t r = 0; r < count; ++r, to += bytes) Row(from + rows[r] * bytes, to, whole, tail);
}

// 16 x 16, of which `rows` x `columns` exist: row i of the result is column i of the source's rows.
void Block(const uint32_t* from, int64_t from_column, uint32_t* to, int64_t to_row, int64_t rows,
           int64_t columns) {
  const __mmask16 wanted = First(rows), kept = First(columns);
  __m512 r[16];
#pragma GCC unroll 16
  for (int k = 0; k < 16; ++k) {
    r[k] =
        k < columns ? _mm512_maskz_loadu_ps(wanted, from + k * from_column) : _mm512_setzero_ps();
  }
  TransposeRegisters(r);
#pragma GCC unroll 16
  for (int k = 0; k < 16; ++k) {
    if (k < rows) _mm512_mask_storeu_ps(to + k * to_row, kept, r[k]);
  }
}

// Which of 16 elements of kColumns rows make the vector at element `first` of their columns, one
// behind the other: its lane l is element at[l] of row j, for the j that of[j] has l for.
template <int kColumns>
struct Interleaving {
  alignas(64) int32_t at[16] = {};
  __mmask16 of[kColumns] = {};
  constexpr explicit Interleaving(int first) {
    for (int l = 0; l < 16; ++l) {
      at[l] = (first + l) / kColumns;
      of[(first + l) % kColumns] |= static_cast<__mmask16>(1u << l);
    }
  }
};

// A few columns without a gap, such as the colours of an image, in whole vectors of the result;
// `rows` is a multiple of 16.
template <int kColumns>
void Interleave(const uint32_t* from, int64_t from_column, uint32_t* to, int64_t rows) {
  static constexpr Interleaving<kColumns> kParts[4] = {
      Interleaving<kColumns>(0), Interleaving<kColumns>(16), Interleaving<kColumns>(32),
      Interleaving<kColumns>(48)};
  for (int64_t i = 0; i < rows; i += 16, to += 16 * kColumns) {
    __m512i columns[kColumns];
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) columns[j] = _mm512_loadu_si512(from + i + j * from_column);
#pragma GCC unroll 4
    for (int v = 0; v < kColumns; ++v) {
      const __m512i at = _mm512_load_si512(kParts[v].at);
      __m512i part = _mm512_permutexvar_epi32(at, columns[0]);
#pragma GCC unroll 4
      for (int j = 1; j < kColumns; ++j) {
        part = _mm512_mask_permutexvar_epi32(part, kParts[v].of[j], at, columns[j]);
      }
      _mm512_storeu_si512(to + 16 * v, part);
    }
  }
}

// Returns how many rows it has moved.
int64_t InterleaveWhole(const uint32_t* from, int64_t from_column, uint32_t* to, int64_t rows,
                        int64_t columns) {
  const int64_t whole = rows / 16 * 16;
  switch (columns) {
    case 2:
      Interleave<2>(from, from_column, to, whole);
      return whole;
    case 3:
      Interleave<3>(from, from_column, to, whole);
      return whole;
    case 4:
      Interleave<4>(from, from_column, to, whole);
      return whole;
    default:
      return 0;
  }
}

// Source rows are far apart, so four lines of each are used while they are at hand, and those of
// the next columns are on their way.
void Transpose(const uint32_t* from, int64_t from_column, uint32_t* to, int64_t to_row,
               int64_t rows, int64_t columns) {
  constexpr int64_t kRows = 64;
  const int64_t done =
      to_row == columns ? InterleaveWhole(from, from_column, to, rows, columns) : 0;
  for (int64_t i0 = done; i0 < rows; i0 += kRows) {
    const int64_t i1 = i0 + kRows < rows ? i0 + kRows : rows;
    for (int64_t j = 0; j < columns; j += 16) {
      for (int64_t k = j + 16; k < j + 32 && k < columns; ++k) {
        for (int64_t i = i0; i < i1; i += 16) {
          _mm_prefetch(reinterpret_cast<const char*>(from + i + k * from_column), _MM_HINT_T1);
        }
      }
      for (int64_t i = i0; i < i1; i += 16) {
        Block(from + i + j * from_column, from_column, to + i * to_row + j, to_row, rows - i,
              columns - j);
      }
    }
  }
}

}  // namespace

CopyBlocks Avx512CopyBlocks() { return {Rows, Pick, Transpose}; }

}  // namespace tenon::kernels::cpu
