// A call of nn.recurrence, as its kernels see it.
#ifndef TENON_KERNELS_CALLS_RECURRENCE_CALL_H_
#define TENON_KERNELS_CALLS_RECURRENCE_CALL_H_

#include <cstdint>
#include <span>

#include "kernels/checked_index.h"
#include "kernels/kernel.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {

struct RecurrenceCall {
  using Cell = nn::RecurrenceCell;
  using Views = std::span<const TensorView>;

  RecurrenceCall(Views inputs, Views outputs, const void* attributes)
      : attrs(*static_cast<const nn::RecurrenceAttrs*>(attributes)),
        inputs(inputs),
        steps(outputs[0].dim(0)),
        batch(outputs[0].dim(1)),
        hidden(outputs[0].dim(2)),
        gates(attrs.cell == Cell::kLstm  ? 4
              : attrs.cell == Cell::kGru ? 3
                                         : 1),
        columns(gates * hidden) {}

  bool has(size_t i) const { return i < inputs.size() && inputs[i].present(); }
  const TensorView& x() const { return inputs[0]; }
  const TensorView& r() const { return inputs[1]; }
  const TensorView& h() const { return inputs[2]; }
  const TensorView& c() const { return inputs[3]; }
  bool has_bias() const { return has(4); }
  const TensorView& bias() const { return inputs[4]; }
  bool has_peepholes() const { return has(5); }
  const TensorView& peepholes() const { return inputs[5]; }

  // The number of steps of sequence `b`.
  int64_t Length(int64_t b) const {
    if (!has(6)) return steps;
    return inputs[6].dtype == DType::kI32 ? inputs[6].as<int32_t>()[b] : inputs[6].as<int64_t>()[b];
  }
  KernelStatus CheckLengths() const {
    for (int64_t b = 0; b < batch; ++b) {
      if (KernelStatus status = CheckLength(b, Length(b), steps); !status.ok()) return status;
    }
    return KernelStatus::Ok();
  }
  // The i-th step in the direction of the op.
  int64_t Step(int64_t i) const { return attrs.reverse ? steps - 1 - i : i; }

  const nn::RecurrenceAttrs& attrs;
  Views inputs;
  int64_t steps, batch, hidden, gates;
  int64_t columns;  // of all gates
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_RECURRENCE_CALL_H_
