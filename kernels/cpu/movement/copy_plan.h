// How to copy a strided tensor to a strided place: axes joined, and the widest way to move
// elements.
#ifndef TENON_KERNELS_CPU_MOVEMENT_COPY_PLAN_H_
#define TENON_KERNELS_CPU_MOVEMENT_COPY_PLAN_H_

#include "kernels/cpu/movement/copy_blocks.h"
#include "kernels/kernel.h"
#include "kernels/shape.h"

namespace tenon::kernels::cpu {

const CopyBlocks& GetCopyBlocks();  // the loops for this machine

// A copy of a strided tensor. Immutable once made; Run allocates nothing.
class CopyPlan {
 public:
  CopyPlan() = default;  // copies nothing
  // `from` and `to` are strides in elements of `element` bytes. Requires that the last axis of `to`
  // is contiguous and that no extent is 0.
  CopyPlan(Dims shape, Dims from, Dims to, int64_t element);

  // Copies from `from` to `to`, after adding the offsets to both.
  void Run(const char* from, char* to, ParallelFor& parallel) const;

  int64_t from_offset = 0, to_offset = 0;  // bytes, added to both addresses

 private:
  enum class Way : uint8_t {
    kNothing,
    kRows,       // runs of bytes
    kRepeat,     // one element, again and again
    kTranspose,  // a matrix whose source is contiguous along the other axis
    kElements,   // neither
  };

  void RunRows(const char* from, char* to, ParallelFor& parallel) const;
  void RunRepeat(const char* from, char* to, ParallelFor& parallel) const;
  template <typename T>
  void RunMatrices(const char* from, char* to, ParallelFor& parallel) const;
  // Calls move(from, to, first, count) for the rows [first, first + count) of the innermost of
  // `outer_` axes, for all rows of [begin, end).
  template <typename Move>
  void ForRows(int64_t begin, int64_t end, Move move) const;

  Way way_ = Way::kNothing;
  int64_t element_ = 1;
  int64_t run_ = 0;   // kRows: bytes; otherwise elements of the last axis
  int64_t step_ = 0;  // kElements, kTranspose: distance of the source's elements, in elements
  int64_t rows_ = 0;  // kTranspose, kElements: rows of a matrix
  int64_t row_from_ = 0, row_to_ = 0;  // their distances, in elements
  // The axes around, with strides in bytes. The last one is the axis of rows of kRows.
  Dims outer_, outer_from_, outer_to_;
};

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_MOVEMENT_COPY_PLAN_H_
