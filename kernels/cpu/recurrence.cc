// Recurrent layers: each step is a product of the state with packed weights, and a few loops over
// its gates.
#include <algorithm>
#include <memory>

#include "kernels/calls/recurrence_call.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"

namespace tenon::kernels {
namespace {

using cpu::Apply;
using cpu::UnaryOp;
using Cell = RecurrenceCall::Cell;

// The hidden gate of a gru whose reset gate multiplies the state has a product of its own.
bool HasTwoProducts(const RecurrenceCall& call) {
  return call.attrs.cell == Cell::kGru && !call.attrs.reset_after;
}
int64_t FirstColumns(const RecurrenceCall& call) {
  return HasTwoProducts(call) ? 2 * call.hidden : call.columns;
}

struct RecurrenceState : KernelState {
  PackedBytes weights;  // null if r is not constant: then it is packed into scratch
  int64_t first_floats = 0, packed_floats = 0;
};

int64_t PackedFloats(int64_t k, int64_t n) {
  return static_cast<int64_t>(cpu::PackedBytesOfB(k, n) / sizeof(float));
}

void PackWeights(const RecurrenceCall& call, const RecurrenceState& state, float* out,
                 ParallelFor& parallel) {
  const int64_t n = call.hidden, first = FirstColumns(call);
  const auto* r = call.r().as<float>();
  cpu::PackB({r, 1, n}, n, first, out, parallel);
  if (HasTwoProducts(call))
    cpu::PackB({r + first * n, 1, n}, n, n, out + state.first_floats, parallel);
}

// ---- a step of a row: `g` has its gates, h its state before and after ---------------------------

struct Row {
  float* g;
  const float* x;
  float* h;
  float* c;
};

void FinishLstm(const RecurrenceCall& call, const Row& row) {
  const int64_t n = call.hidden;
  float *const input = row.g, *const output = input + n, *const forget = output + n;
  float *const cell = forget + n, *const c = row.c;
  const float* peep = call.has_peepholes() ? call.peepholes().as<float>() : nullptr;
  if (peep != nullptr) {
    for (int64_t i = 0; i < n; ++i) input[i] += peep[i] * c[i];
    for (int64_t i = 0; i < n; ++i) forget[i] += peep[2 * n + i] * c[i];
  }
  // Without peepholes the three gates, which are neighbours, need no look at the new cell.
  Apply(UnaryOp::kSigmoid, input, input, peep == nullptr ? 3 * n : n);
  if (peep != nullptr) Apply(UnaryOp::kSigmoid, forget, forget, n);
  Apply(UnaryOp::kTanh, cell, cell, n);
  for (int64_t i = 0; i < n; ++i) c[i] = forget[i] * c[i] + input[i] * cell[i];
  if (peep != nullptr) {
    for (int64_t i = 0; i < n; ++i) output[i] += peep[n + i] * c[i];
    Apply(UnaryOp::kSigmoid, output, output, n);
  }
  Apply(UnaryOp::kTanh, c, row.h, n);
  for (int64_t i = 0; i < n; ++i) row.h[i] *= output[i];
}

// hidden + update * (h - hidden)
void MixGru(const float* update, const float* hidden, float* h, int64_t n) {
  for (int64_t i = 0; i < n; ++i) h[i] = hidden[i] + update[i] * (h[i] - hidden[i]);
}

// g: products of all gates.
void FinishGru(const RecurrenceCall& call, const Row& row) {
  const int64_t n = call.hidden;
  float *const update = row.g, *const reset = update + n, *const hidden = reset + n;
  const float* x = row.x;
  for (int64_t i = 0; i < 2 * n; ++i) update[i] += x[i];
  Apply(UnaryOp::kSigmoid, update, update, 2 * n);
  for (int64_t i = 0; i < n; ++i) hidden[i] = x[2 * n + i] + reset[i] * hidden[i];
  Apply(UnaryOp::kTanh, hidden, hidden, n);
  MixGru(update, hidden, row.h, n);
}

void FinishRnn(const RecurrenceCall& call, const Row& row) {
  constexpr UnaryOp kActivations[] = {UnaryOp::kTanh, UnaryOp::kRelu, UnaryOp::kSigmoid};
  Apply(kActivations[static_cast<int>(call.attrs.activation)], row.g, row.h, call.hidden);
}

// ---- all steps ----------------------------------------------------------------------------------

class Runner {
 public:
  Runner(const RecurrenceCall& call, const RecurrenceState& state, const RunArgs& args)
      : call_(call),
        parallel_(*args.device->parallel),
        y_(args.outputs[0].as<float>()),
        h_(args.outputs[1].as<float>()),
        c_(args.outputs.size() > 2 ? args.outputs[2].as<float>() : nullptr),
        second_(state.first_floats) {
    float* scratch = static_cast<float*>(args.scratch);
    gates_ = scratch, scratch += call.batch * call.columns;
    if (HasTwoProducts(call)) reset_state_ = scratch, scratch += call.batch * call.hidden;
    if (call.has_bias()) {
      bias_ = scratch, scratch += call.columns;
      std::fill_n(bias_, 2 * call.hidden, 0.0f);
      std::copy_n(call.bias().as<float>(), call.hidden, bias_ + 2 * call.hidden);
    }
    weights_ = reinterpret_cast<const float*>(state.weights.get());
    if (weights_ == nullptr) {
      scratch = static_cast<float*>(args.scratch) + SmallFloats(call);
      PackWeights(call, state, scratch, parallel_);
      weights_ = scratch;
    }
    std::copy_n(call.h().as<float>(), call.batch * call.hidden, h_);
    if (c_ != nullptr) std::copy_n(call.c().as<float>(), call.batch * call.hidden, c_);
    // The last states of an empty sequence are 0: no step changes these rows.
    for (int64_t b = 0; b < call.batch; ++b) {
      if (call.Length(b) > 0) continue;
      std::fill_n(h_ + b * call.hidden, call.hidden, 0.0f);
      if (c_ != nullptr) std::fill_n(c_ + b * call.hidden, call.hidden, 0.0f);
    }
  }

  // Floats of scratch before packed weights, a multiple of a line of the cache.
  static int64_t SmallFloats(const RecurrenceCall& call) {
    const int64_t rows = call.columns + (HasTwoProducts(call) ? call.hidden : 0);
    return (call.batch * rows + (call.has_bias() ? call.columns : 0) + 15) / 16 * 16;
  }

  void Take(int64_t step) {
    const float* x = call_.x().as<float>() + step * call_.batch * call_.columns;
    const bool adds_x = !call_.attrs.reset_after;
    Multiply(h_, weights_, 0, FirstColumns(call_), adds_x ? x : nullptr);
    if (HasTwoProducts(call_)) ResetGru(x);
    const int64_t n = call_.hidden;
    parallel_(call_.batch, cpu::RowGrain(call_.columns, 8), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        float* y = y_ + (step * call_.batch + b) * n;
        if (step >= call_.Length(b)) {
          std::fill_n(y, n, 0.0f);
          continue;
        }
        const Row row = {gates_ + b * call_.columns, x + b * call_.columns, h_ + b * n,
                         c_ == nullptr ? nullptr : c_ + b * n};
        Finish(row);
        std::copy_n(row.h, n, y);
      }
    });
  }

 private:
  // gates[:, first:first+count] = state * weights (+ those columns of x, or + bias)
  void Multiply(const float* state, const float* weights, int64_t first, int64_t count,
                const float* x) {
    cpu::GemmArgs g = {.m = call_.batch, .n = count, .k = call_.hidden, .a = state};
    g.a_row = call_.hidden, g.b = weights;
    g.c = gates_ + first, g.c_row = call_.columns;
    if (x != nullptr) g.epilogue.residual = x + first, g.epilogue.residual_row = call_.columns;
    if (bias_ != nullptr) g.epilogue.bias = bias_ + first;
    const double flops = 2.0 * static_cast<double>(g.m * g.n) * static_cast<double>(g.k);
    if (flops < cpu::kSerialFlops) {
      cpu::Gemm(g);
    } else {
      cpu::Gemm(g, parallel_);
    }
  }

  // Update and reset gate, then the product of the hidden gate with what the latter leaves.
  void ResetGru(const float* x) {
    const int64_t n = call_.hidden;
    parallel_(call_.batch, cpu::RowGrain(2 * n, 8), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        float* gates = gates_ + b * call_.columns;
        Apply(UnaryOp::kSigmoid, gates, gates, 2 * n);
        for (int64_t i = 0; i < n; ++i) reset_state_[b * n + i] = gates[n + i] * h_[b * n + i];
      }
    });
    Multiply(reset_state_, weights_ + second_, 2 * n, n, x);
  }

  void Finish(const Row& row) const {
    const int64_t n = call_.hidden;
    if (call_.attrs.cell == Cell::kLstm) return FinishLstm(call_, row);
    if (call_.attrs.cell == Cell::kRnn) return FinishRnn(call_, row);
    if (call_.attrs.reset_after) return FinishGru(call_, row);
    Apply(UnaryOp::kTanh, row.g + 2 * n, row.g + 2 * n, n);
    MixGru(row.g, row.g + 2 * n, row.h, n);
  }

  const RecurrenceCall& call_;
  ParallelFor& parallel_;
  float *y_, *h_, *c_;  // h_ and c_ are the states between steps, too
  int64_t second_;      // where the weights of the second product are
  float *gates_ = nullptr, *reset_state_ = nullptr, *bias_ = nullptr;
  const float* weights_ = nullptr;
};

KernelStatus PrepareRecurrence(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const RecurrenceCall call(args.inputs, args.outputs, args.attrs);
  auto made = std::make_shared<RecurrenceState>();
  RecurrenceState& state = *made;
  out = made;
  if (call.batch == 0 || call.hidden == 0) return KernelStatus::Ok();
  const int64_t first = FirstColumns(call);
  state.first_floats = PackedFloats(call.hidden, first);
  state.packed_floats =
      state.first_floats + (HasTwoProducts(call) ? PackedFloats(call.hidden, call.hidden) : 0);
  const size_t packed_bytes = static_cast<size_t>(state.packed_floats) * sizeof(float);
  args.scratch_bytes = static_cast<size_t>(Runner::SmallFloats(call)) * sizeof(float);
  if (args.inputs[1].data == nullptr) {
    args.scratch_bytes += packed_bytes;
    return KernelStatus::Ok();
  }
  constexpr int kFrom[] = {1};
  const std::string layout = cpu::PackedLayoutOfB(call.hidden, first) + ".transposed" +
                             (HasTwoProducts(call) ? ".two_products" : "");
  state.weights = args.Pack(kFrom, layout, packed_bytes, [&](std::byte* bytes) {
    PackWeights(call, state, reinterpret_cast<float*>(bytes), *args.device->parallel);
  });
  if (state.weights == nullptr) return KernelStatus::OutOfMemory("no memory for packed weights");
  return KernelStatus::Ok();
}

KernelStatus Recurrence(const RunArgs& args) {
  const RecurrenceCall call(args.inputs, args.outputs, args.attrs);
  if (KernelStatus status = call.CheckLengths(); !status.ok()) return status;
  if (call.batch == 0 || call.hidden == 0) return KernelStatus::Ok();
  Runner runner(call, *static_cast<const RecurrenceState*>(args.state), args);
  for (int64_t i = 0; i < call.steps; ++i) {
    if (args.device->parallel->cancelled()) break;
    runner.Take(call.Step(i));
  }
  return KernelStatus::Ok();
}

// All but the lengths.
std::string SupportsRecurrence(const CallSignature& call) {
  CallSignature floats = call;
  floats.inputs = call.inputs.first(std::min<size_t>(call.inputs.size(), 6));
  return cpu::RequireF32(floats);
}

}  // namespace

Kernel CpuRecurrence() {
  return {.op = "nn.recurrence",
          .name = "cpu.recurrence",
          .priority = 10,
          .run = Recurrence,
          .prepare = PrepareRecurrence,
          .supports = SupportsRecurrence,
          .unaligned_inputs = 2,
          .packs_once = true};
}

}  // namespace tenon::kernels
