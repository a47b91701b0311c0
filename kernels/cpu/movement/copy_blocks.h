// Moving blocks of memory: rows of bytes between two strides, and transposed matrices. Compiled for
// several instruction sets.
#ifndef TENON_KERNELS_CPU_MOVEMENT_COPY_BLOCKS_H_
#define TENON_KERNELS_CPU_MOVEMENT_COPY_BLOCKS_H_

#include <cstdint>

namespace tenon::kernels::cpu {

// The loops of one instruction set.
struct CopyBlocks {
  // Copies `rows` runs of `bytes` bytes each, at the given distances in bytes. Nothing may overlap.
  void (*rows)(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t rows,
               int64_t bytes);
  // Copies the rows of `bytes` bytes with these numbers, one after the other.
  void (*pick)(const char* from, const int64_t* rows, char* to, int64_t count, int64_t bytes);
  // to[i * to_row + j] = from[i + j * from_column] for i < rows, j < columns.
  void (*transpose)(const uint32_t* from, int64_t from_column, uint32_t* to, int64_t to_row,
                    int64_t rows, int64_t columns);
};

// Each returns the loops of one instruction set.
CopyBlocks PortableCopyBlocks();
CopyBlocks Avx2CopyBlocks();
CopyBlocks Avx512CopyBlocks();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_MOVEMENT_COPY_BLOCKS_H_
