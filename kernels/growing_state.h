// Kernels that append rows to a tensor without moving its rows: the KV cache of a decoder.
#ifndef TENON_KERNELS_GROWING_STATE_H_
#define TENON_KERNELS_GROWING_STATE_H_

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace tenon::kernels {

// State of a kernel whose results are rows [B, H, rows, D] of operands, followed by new rows. The
// tensors are dense by default. Before a run the executor can set a pitch: with free rows after
// each head, the heads stay where they are.
class GrowingState : public KernelState {
 public:
  // One operand and the result that extends it.
  struct Growth {
    int from = 0, to = 0;  // operand and result
    // For the next run: the distance between heads in memory, in rows, for operand and result; 0
    // for dense tensors. If both are the same memory with the same pitch, the kernel does not write
    // the rows of the operand.
    int64_t from_pitch = 0, to_pitch = 0;
  };
  virtual std::span<Growth> growths() = 0;
  GrowingState* growing() final { return this; }
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_GROWING_STATE_H_
