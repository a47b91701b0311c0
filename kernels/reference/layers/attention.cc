// Reference kernels of attention and of rotary position embeddings.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "kernels/calls/attention_call.h"
#include "kernels/calls/rotary_call.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Keys or values: those of the past and then the new ones.
template <typename T>
struct Rows {
  const T *past, *now;
  const AttentionCall::Layout &past_layout, &layout;
  int64_t past_len;

  // Elements are `element(j)` apart.
  const T* At(int64_t b, int64_t h, int64_t j) const {
    return j < past_len ? past + past_layout.At(b, h, j) : now + layout.At(b, h, j - past_len);
  }
  int64_t element(int64_t j) const { return j < past_len ? past_layout.element : layout.element; }

  static Rows Keys(const AttentionCall& call, const RunArgs& args) {
    const T* past = call.has_past ? args.inputs[AttentionCall::kPast].as<T>() : nullptr;
    return {past, args.inputs[1].as<T>(), call.past_k, call.k, call.past_len};
  }
  static Rows Values(const AttentionCall& call, const RunArgs& args) {
    const T* past = call.has_past ? args.inputs[AttentionCall::kPast + 1].as<T>() : nullptr;
    return {past, args.inputs[2].as<T>(), call.past_v, call.v, call.past_len};
  }
};

// Writes the keys or values attended to.
template <typename T>
void WritePresent(const AttentionCall& call, const Rows<T>& rows,
                  const AttentionCall::Layout& layout, int64_t dim, T* present) {
  for (int64_t b = 0; b < call.batch; ++b) {
    for (int64_t h = 0; h < call.kv_heads; ++h) {
      for (int64_t j = 0; j < call.k_len; ++j) {
        const T* from = rows.At(b, h, j);
        T* to = present + layout.At(b, h, j);
        for (int64_t d = 0; d < dim; ++d) to[d] = from[d * rows.element(j)];
      }
    }
  }
}

// The score of one query row against key j, before the softmax.
template <typename T>
double Score(const AttentionCall& call, const T* q, const Rows<T>& keys, int64_t b, int64_t h,
             int64_t i, int64_t j) {
  using C = Compute<T>;
  const T* k = keys.At(b, call.kv_head(h), j);
  double dot = 0;
  for (int64_t d = 0; d < call.dim; ++d) {
    dot += static_cast<double>(static_cast<C>(q[d * call.q.element])) *
           static_cast<double>(static_cast<C>(k[d * keys.element(j)]));
  }
  dot *= call.scale;
  if (call.softcap > 0) dot = call.softcap * std::tanh(dot / call.softcap);
  auto at = [&](const AttentionCall::ScoreStrides& s) {
    return b * s[0] + h * s[1] + i * s[2] + j * s[3];
  };
  // Sums are rounded to T: a finite mask must swallow the scores as it does in the source program.
  auto plus = [&](double term) {
    dot = static_cast<double>(static_cast<C>(static_cast<T>(dot + term)));
  };
  const bool hidden = call.Hides(b, h, i, j);
  const auto replaced = static_cast<double>(static_cast<C>(static_cast<T>(call.mask_value)));
  if (hidden && call.mask_last) return replaced;
  if (hidden && call.mask_replaces) dot = replaced;
  if (call.bias.present()) plus(DoubleAt(call.bias, at(call.bias_strides)));
  if (call.mask.present() && call.mask.dtype != DType::kBool) {
    plus(DoubleAt(call.mask, at(call.mask_strides)));
  }
  if (hidden && !call.mask_replaces) {
    if (call.mask_value == -kInfinity) return -kInfinity;
    plus(call.mask_value);
  }
  return dot;
}

// `scores`: room for one row.
template <typename T>
void AttendRow(const AttentionCall& call, const RunArgs& args, int64_t b, int64_t h, int64_t i,
               double* scores) {
  const int64_t kv = call.kv_head(h);
  const Rows<T> keys = Rows<T>::Keys(call, args), values = Rows<T>::Values(call, args);
  const T* q = args.inputs[0].as<T>() + call.q.At(b, h, i);
  T* out = args.outputs[0].as<T>() + call.out.At(b, h, i);
  double max = -kInfinity, sum = 0;
  bool masked = true;  // the softmax of such a row is NaN
  for (int64_t j = 0; j < call.k_len; ++j) {
    scores[j] = Score(call, q, keys, b, h, i, j);
    max = std::max(max, scores[j]);
    masked &= scores[j] == -kInfinity;
  }
  for (int64_t j = 0; j < call.k_len; ++j) {
    scores[j] = std::exp(scores[j] - max);
    sum += scores[j];
  }
  if (call.zero_nan_rows && std::isnan(sum)) {
    std::fill_n(scores, call.k_len, 0.0);
    sum = 1;
  }
  for (int64_t d = 0; d < call.v_dim; ++d) {
    double total = 0;
    for (int64_t j = 0; j < call.k_len; ++j) {
      const T* v = values.At(b, kv, j);
      total += scores[j] / sum * static_cast<Compute<T>>(v[d * values.element(j)]);
    }
    out[d * call.out.element] = static_cast<T>(masked && call.nan_guard ? 0.0 : total);
  }
}

KernelStatus Attend(const AttentionCall& call, const RunArgs& args) {
  return DispatchFloat(args.outputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (call.has_past) {
      WritePresent(call, Rows<T>::Keys(call, args), call.present_k, call.dim,
                   args.outputs[1].as<T>());
      WritePresent(call, Rows<T>::Values(call, args), call.present_v, call.v_dim,
                   args.outputs[2].as<T>());
    }
    for (int64_t b = 0; b < call.batch; ++b) {
      for (int64_t h = 0; h < call.heads; ++h) {
        for (int64_t i = 0; i < call.q_len; ++i) {
          AttendRow<T>(call, args, b, h, i, static_cast<double*>(args.scratch));
        }
      }
    }
    return KernelStatus::Ok();
  });
}

template <auto kReadCall>
KernelStatus PrepareAttention(PrepareArgs& args, std::shared_ptr<KernelState>&) {
  const AttentionCall call = kReadCall(args.inputs, args.outputs, args.attrs);
  args.scratch_bytes = static_cast<size_t>(call.k_len) * sizeof(double);
  return KernelStatus::Ok();
}

template <auto kReadCall>
KernelStatus RunAttention(const RunArgs& args) {
  return Attend(kReadCall(args.inputs, args.outputs, args.attrs), args);
}

KernelStatus RotaryEmbedding(const RunArgs& args) {
  const auto& attrs = args.get<nn::RotaryEmbeddingAttrs>();
  const TensorView &x = args.inputs[0], &cos = args.inputs[1], &sin = args.inputs[2];
  if (KernelStatus status = RotaryEmbeddingCall::Check(args.inputs, attrs); !status.ok()) {
    return status;
  }
  const auto call = RotaryEmbeddingCall::Of(args.inputs, attrs);
  const int64_t half = call.half;
  return DispatchFloat(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    for (int64_t b = 0; b < call.batch; ++b) {
      for (int64_t i = 0; i < call.length; ++i) {
        int64_t angle = 0;
        if (KernelStatus status = call.AnglesAt(b, i, angle); !status.ok()) return status;
        for (int64_t h = 0; h < call.heads; ++h) {
          const int64_t row = b * call.batch_stride + h * call.head_stride + i * call.row_stride;
          const T* from = x.as<T>() + row;
          T* to = args.outputs[0].as<T>() + row;
          for (int64_t d = 0; d < half; ++d) {
            const int64_t first = attrs.interleaved ? 2 * d : d;
            const int64_t second = attrs.interleaved ? 2 * d + 1 : d + half;
            const C a = static_cast<C>(from[first]), c = static_cast<C>(from[second]);
            const C co = static_cast<C>(cos.as<T>()[angle + d]);
            const C si = static_cast<C>(sin.as<T>()[angle + d]);
            to[first] = static_cast<T>(a * co - c * si);
            to[second] = static_cast<T>(a * si + c * co);
          }
          for (int64_t d = 2 * half; d < call.dim; ++d) to[d] = from[d];
        }
      }
    }
    return KernelStatus::Ok();
  });
}

}  // namespace

Kernel RefAttention() {
  return {.op = "nn.attention",
          .name = "ref.attention",
          .run = RunAttention<&AttentionCall::OfNn>,
          .prepare = PrepareAttention<&AttentionCall::OfNn>};
}

Kernel RefFusedAttention() {
  return {.op = "fused.attention",
          .name = "ref.fused_attention",
          .run = RunAttention<&AttentionCall::OfFused>,
          .prepare = PrepareAttention<&AttentionCall::OfFused>};
}

Kernel RefRotaryEmbedding() {
  return {.op = "nn.rotary_embedding", .name = "ref.rotary_embedding", .run = RotaryEmbedding};
}

}  // namespace tenon::kernels
