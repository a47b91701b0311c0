#include "kernels/cpu/movement/copy_blocks.h"

#include <cstring>

namespace tenon::kernels::cpu {
namespace {

void Rows(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t rows,
          int64_t bytes) {
  for (int64_t r = 0; r < rows; ++r, from += from_step, to += to_step) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

void Pick(const char* from, const int64_t* rows, char* to, int64_t count, int64_t bytes) {
  for (int64_t r = 0; r < count; ++r, to += bytes) {
    std::memcpy(to, from + rows[r] * bytes, static_cast<size_t>(bytes));
  }
}

void Transpose(const uint32_t* from, int64_t from_column, uint32_t* to, int64_t to_row,
               int64_t rows, int64_t columns) {
  constexpr int64_t kBlock = 8;  // blocks of source and result stay in the first-level cache
  for (int64_t i0 = 0; i0 < rows; i0 += kBlock) {
    const int64_t i1 = i0 + kBlock < rows ? i0 + kBlock : rows;
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = i0; i < i1; ++i) to[i * to_row + j] = from[i + j * from_column];
    }
  }
}

}  // namespace

CopyBlocks PortableCopyBlocks() { return {Rows, Pick, Transpose}; }

}  // namespace tenon::kernels::cpu
