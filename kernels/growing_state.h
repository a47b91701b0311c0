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
    int from = 0,  // the number of the operand
        to = 0;    // the number of the result
    // The distance between heads in memory, in rows, for the next run; 0 for dense tensors. If
    // operand and result are the same memory with the same pitch, the kernel does not write the
    // rows of the operand.
    int64_t from_pitch = 0,  // of the operand
        to_pitch = 0;        // of the result
  };
  // Returns the pairs of the kernel. The caller may set their pitches. Valid as long as the state.
  virtual std::span<Growth> growths() = 0;
  GrowingState* growing() final { return this; }  // this state
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_GROWING_STATE_H_
