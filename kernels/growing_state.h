// Kernels that put new rows behind those of a tensor without moving them: a decoder's keys and
// values.
#ifndef TENON_KERNELS_GROWING_STATE_H_
#define TENON_KERNELS_GROWING_STATE_H_

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace tenon::kernels {

// State of a kernel that reads tensors [B, H, rows, D] and has results which are these rows and new
// ones behind them. They are dense, unless the caller has told otherwise before a run: with room
// behind the rows of each head the heads stay where they are.
class GrowingState : public KernelState {
 public:
  struct Growth {
    int from = 0, to = 0;  // operand and result
    // For the next run: as how many rows a head lies in memory, of the operand and of the result;
    // 0: as many as it has. If they are the same memory with the same pitch, the operand's rows are
    // not written.
    int64_t from_pitch = 0, to_pitch = 0;
  };
  virtual std::span<Growth> growths() = 0;
  GrowingState* growing() final { return this; }
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_GROWING_STATE_H_
