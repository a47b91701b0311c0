// The reference kernel of recurrent layers: gate by gate, in double.
#include <cmath>
#include <vector>

#include "kernels/calls/recurrence_call.h"
#include "kernels/kernel_list.h"
#include "kernels/reference/dispatch.h"
#include "kernels/reference/elementwise/activation.h"

namespace tenon::kernels {
namespace {

using Cell = RecurrenceCall::Cell;
using State = std::vector<double>;

// One sequence of the batch, step by step.
template <typename T>
class Sequence {
 public:
  Sequence(const RecurrenceCall& call, int64_t b)
      : call_(call), b_(b), n_(call.hidden), h_(Read(call.h())) {
    if (call.attrs.cell == Cell::kLstm) c_ = Read(call.c());
  }

  void Take(int64_t step) {
    const T* x = call_.x().as<T>() + (step * call_.batch + b_) * call_.columns;
    const auto from_x = [&](int64_t gate, int64_t i) {
      return static_cast<double>(x[gate * n_ + i]);
    };
    if (call_.attrs.cell == Cell::kLstm) {
      TakeLstm(from_x);
    } else if (call_.attrs.cell == Cell::kGru) {
      TakeGru(from_x);
    } else {
      State next(n_);
      for (int64_t i = 0; i < n_; ++i) next[i] = Hidden(from_x(0, i) + Product(0, i, h_));
      h_ = next;
    }
  }
  const State& h() const { return h_; }
  const State& c() const { return c_; }

 private:
  State Read(const TensorView& view) const {
    State state(n_);
    for (int64_t i = 0; i < n_; ++i) state[i] = static_cast<double>(view.as<T>()[b_ * n_ + i]);
    return state;
  }
  double Product(int64_t gate, int64_t i, const State& state) const {
    const T* row = call_.r().as<T>() + (gate * n_ + i) * n_;
    double sum = 0;
    for (int64_t j = 0; j < n_; ++j) sum += static_cast<double>(row[j]) * state[j];
    return sum;
  }
  double Hidden(double v) const {
    switch (call_.attrs.activation) {
      case nn::RecurrenceActivation::kTanh:
        return std::tanh(v);
      case nn::RecurrenceActivation::kRelu:
        return v < 0 ? 0 : v;
      case nn::RecurrenceActivation::kSigmoid:
        return Sigmoid(v);
    }
    return v;
  }

  template <typename FromX>
  void TakeLstm(FromX from_x) {
    const auto peep = [&](int64_t gate, int64_t i, double cell) {
      return call_.has_peepholes()
                 ? static_cast<double>(call_.peepholes().as<T>()[gate * n_ + i]) * cell
                 : 0.0;
    };
    State h(n_), c(n_);
    for (int64_t i = 0; i < n_; ++i) {
      const auto sum = [&](int64_t gate) { return from_x(gate, i) + Product(gate, i, h_); };
      const double input = Sigmoid(sum(0) + peep(0, i, c_[i]));
      const double forget = Sigmoid(sum(2) + peep(2, i, c_[i]));
      c[i] = forget * c_[i] + input * std::tanh(sum(3));
      h[i] = Sigmoid(sum(1) + peep(1, i, c[i])) * std::tanh(c[i]);
    }
    h_ = h, c_ = c;
  }

  template <typename FromX>
  void TakeGru(FromX from_x) {
    State reset(n_), reset_state(n_), next(n_);
    for (int64_t i = 0; i < n_; ++i) {
      reset[i] = Sigmoid(from_x(1, i) + Product(1, i, h_));
      reset_state[i] = reset[i] * h_[i];
    }
    for (int64_t i = 0; i < n_; ++i) {
      const double update = Sigmoid(from_x(0, i) + Product(0, i, h_));
      const double bias = call_.has_bias() ? static_cast<double>(call_.bias().as<T>()[i]) : 0;
      const double product = call_.attrs.reset_after ? reset[i] * (Product(2, i, h_) + bias)
                                                     : Product(2, i, reset_state);
      next[i] = (1 - update) * std::tanh(from_x(2, i) + product) + update * h_[i];
    }
    h_ = next;
  }

  const RecurrenceCall& call_;
  int64_t b_, n_;
  State h_, c_;
};

KernelStatus Recurrence(const RunArgs& args) {
  const RecurrenceCall call(args.inputs, args.outputs, args.attrs);
  if (KernelStatus status = call.CheckLengths(); !status.ok()) return status;
  return DispatchFloat(call.x().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto write = [&](const TensorView& to, int64_t row, const State& state) {
      for (int64_t i = 0; i < call.hidden; ++i) {
        to.as<T>()[row * call.hidden + i] = static_cast<T>(state[i]);
      }
    };
    const State zeros(call.hidden);
    for (int64_t b = 0; b < call.batch; ++b) {
      Sequence<T> sequence(call, b);
      for (int64_t i = 0; i < call.steps; ++i) {
        const int64_t step = call.Step(i);
        const bool there = step < call.Length(b);
        if (there) sequence.Take(step);
        write(args.outputs[0], step * call.batch + b, there ? sequence.h() : zeros);
      }
      const bool empty = call.Length(b) == 0;  // keeps nothing
      write(args.outputs[1], b, empty ? zeros : sequence.h());
      if (call.attrs.cell == Cell::kLstm) write(args.outputs[2], b, empty ? zeros : sequence.c());
    }
    return KernelStatus::Ok();
  });
}

}  // namespace

Kernel RefRecurrence() {
  return {.op = "nn.recurrence", .name = "ref.recurrence", .run = Recurrence};
}

}  // namespace tenon::kernels
