// cpu.fused_attention against three oneDNN primitives (product, softmax, product) that hold all
// scores, and against the limits of this machine. See README.md.
#include <cmath>
#include <cstring>

#include "kernels/op_attrs.h"
#include "tests/bench/row_bench.h"

namespace bench {
namespace {

using tenon::kernels::TensorView;
namespace fused = tenon::fused;
using dnnl::memory;

struct Shape {
  const char* name;
  int64_t batch, heads, kv_heads, q_len, k_len, dim;
  bool packed, causal, bias, mask;  // packed: q, k and v are columns of one tensor
};

constexpr Shape kShapes[] = {
    {"BERT-base S=128", 1, 12, 12, 128, 128, 64, true, false, false, false},
    {"BERT-base S=384", 1, 12, 12, 384, 384, 64, true, false, false, false},
    {"S=2048", 1, 4, 4, 2048, 2048, 64, false, false, false, false},
    {"causal S=1024", 1, 12, 12, 1024, 1024, 64, true, true, false, false},
    {"grouped causal S=512", 1, 12, 4, 512, 512, 64, false, true, false, false},
    {"16 heads, S=128", 1, 16, 16, 128, 128, 64, true, false, false, false},
    {"16 heads, S=512", 1, 16, 16, 512, 512, 64, true, false, false, false},
    {"ViT-B", 1, 12, 12, 197, 197, 64, true, false, false, false},
    {"Swin 7x7, bias, mask", 64, 3, 3, 49, 49, 32, true, false, true, true},
    {"Swin, last stage, bias", 1, 24, 24, 49, 49, 32, true, false, true, false},
    {"Swin 12x12, bias, mask", 64, 3, 3, 144, 144, 32, true, false, true, true},
    {"Swin 12x12, bias", 4, 12, 12, 144, 144, 32, true, false, true, false},
    {"causal S=128", 1, 12, 12, 128, 128, 64, true, true, false, false},
    {"T5 bias S=128", 1, 8, 8, 128, 128, 64, false, false, true, false},
    {"decode, past 1023", 1, 12, 12, 1, 1024, 64, false, false, false, false},
    {"decode, past 127", 1, 12, 12, 1, 128, 64, false, false, false, false},
    {"grouped decode, past 4095", 1, 32, 8, 1, 4096, 64, false, false, false, false},
};

// The three primitives; strides as the layouts have them. Grouped heads and causality they lack:
// the heads of k and v are repeated beforehand, at no cost, and all scores are computed.
class Primitives {
 public:
  Primitives(const Shape& s, float* q, float* k, float* v, float* out, float* bias, float* mask,
             const memory::dims& q_strides, const memory::dims& k_strides)
      : scores_({s.batch, s.heads, s.q_len, s.k_len}) {
    const memory::dims q_dims = {s.batch, s.heads, s.q_len, s.dim};
    const memory::dims kt_dims = {s.batch, s.heads, s.dim, s.k_len};
    const memory::dims v_dims = {s.batch, s.heads, s.k_len, s.dim};
    const memory::dims dims = {s.batch, s.heads, s.q_len, s.k_len};
    const memory::dims dense = {s.heads * s.q_len * s.k_len, s.q_len * s.k_len, s.k_len, 1};
    const memory::dims kt_strides = {k_strides[0], k_strides[1], k_strides[3], k_strides[2]};
    const memory::dims out_strides = {s.q_len * s.heads * s.dim, s.dim, s.heads * s.dim, 1};
    memory mq = dnnl_.Memory(q_dims, q_strides, q), mk = dnnl_.Memory(kt_dims, kt_strides, k);
    memory mv = dnnl_.Memory(v_dims, k_strides, v), mo = dnnl_.Memory(q_dims, out_strides, out);
    memory ms = dnnl_.Memory(dims, dense, scores_.floats());
    dnnl::primitive_attr scale;
    scale.set_output_scales(0, {static_cast<float>(1 / std::sqrt(static_cast<double>(s.dim)))});
    Add(dnnl::matmul({{mq.get_desc(), mk.get_desc(), ms.get_desc()}, scale, dnnl_.engine}),
        {{DNNL_ARG_SRC, mq}, {DNNL_ARG_WEIGHTS, mk}, {DNNL_ARG_DST, ms}});
    auto add = [&](const memory& term) {
      Add(dnnl::binary(
              {{dnnl::algorithm::binary_add, ms.get_desc(), term.get_desc(), ms.get_desc()},
               dnnl_.engine}),
          {{DNNL_ARG_SRC_0, ms}, {DNNL_ARG_SRC_1, term}, {DNNL_ARG_DST, ms}});
    };
    const int64_t pairs = s.q_len * s.k_len;
    if (s.bias) {
      add(dnnl_.Memory({1, s.heads, s.q_len, s.k_len}, {s.heads * pairs, pairs, s.k_len, 1}, bias));
    }
    if (s.mask) add(dnnl_.Memory({s.batch, 1, s.q_len, s.k_len}, {pairs, pairs, s.k_len, 1}, mask));
    Add(dnnl::softmax_forward(
            {{dnnl::prop_kind::forward_inference, ms.get_desc(), 3}, dnnl_.engine}),
        {{DNNL_ARG_SRC, ms}, {DNNL_ARG_DST, ms}});
    Add(dnnl::matmul({{ms.get_desc(), mv.get_desc(), mo.get_desc()}, dnnl_.engine}),
        {{DNNL_ARG_SRC, ms}, {DNNL_ARG_WEIGHTS, mv}, {DNNL_ARG_DST, mo}});
  }

  void Run() {
    for (size_t i = 0; i < primitives_.size(); ++i) {
      primitives_[i].execute(dnnl_.stream, arguments_[i]);
    }
    dnnl_.stream.wait();
  }

 private:
  void Add(const dnnl::primitive& primitive, std::unordered_map<int, memory> arguments) {
    primitives_.push_back(primitive);
    arguments_.push_back(std::move(arguments));
  }

  Onednn dnnl_;
  Buffer scores_;
  std::vector<dnnl::primitive> primitives_;
  std::vector<std::unordered_map<int, memory>> arguments_;
};

void Measure(const Shape& s, tenon::kernels::ThreadPool& pool) {
  fused::AttentionAttrs attrs;
  attrs.num_heads = s.heads;
  attrs.kv_num_heads = s.kv_heads;
  attrs.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(s.dim)));
  attrs.causal = s.causal;
  const int64_t width = s.heads * s.dim;
  // Attention from the past: k and v lie head by head, as a cache has them.
  if (s.packed) {
    attrs.head_dim = attrs.v_head_dim = s.dim;
    attrs.k_offset = width;
    attrs.v_offset = 2 * width;
  } else {
    attrs.k_layout = fused::AttentionKLayout::kBhsd;
    attrs.v_layout = fused::AttentionVLayout::kBhsd;
  }
  Buffer q({s.batch, s.q_len, s.packed ? 3 * width : width});
  Buffer k({s.batch, s.kv_heads, s.k_len, s.dim}), v({s.batch, s.kv_heads, s.k_len, s.dim});
  Buffer out({s.batch, s.q_len, width}), peer_out({s.batch, s.q_len, width});
  Buffer bias({1, s.heads, s.q_len, s.k_len}), mask({s.batch, 1, s.q_len, s.k_len});
  const Call call("cpu.fused_attention",
                  {q.view(), s.packed ? q.view() : k.view(), s.packed ? q.view() : v.view(),
                   s.mask ? mask.view() : TensorView{}, s.bias ? bias.view() : TensorView{}},
                  {out.view()}, &attrs, pool);
  const int64_t row = s.packed ? 3 * width : width;
  const memory::dims q_strides = {s.q_len * row, s.dim, row, 1};
  Buffer k_all({s.batch, s.heads, s.k_len, s.dim}), v_all({s.batch, s.heads, s.k_len, s.dim});
  const memory::dims k_strides =
      s.packed ? q_strides : memory::dims{s.heads * s.k_len * s.dim, s.k_len * s.dim, s.dim, 1};
  Primitives peer(s, q.floats(), s.packed ? q.floats() + width : k_all.floats(),
                  s.packed ? q.floats() + 2 * width : v_all.floats(), peer_out.floats(),
                  bias.floats(), mask.floats(), q_strides, k_strides);
  const int64_t kv_bytes = 2 * s.batch * s.kv_heads * s.k_len * s.dim * 4;
  Buffer from({kv_bytes / 4}), to({kv_bytes / 4});
  const bool decode = s.q_len == 1;
  double done = 0;  // operations of the multiply-adds
  const std::vector<double> t =
      Interleave({[&] { call.Run(); }, [&] { peer.Run(); },
                  [&] {
                    if (decode) {
                      std::memcpy(to.floats(), from.floats(), static_cast<size_t>(kv_bytes));
                    } else {
                      done = MultiplyAdd(20000);
                    }
                  }});
  const double pairs =
      static_cast<double>(s.causal ? s.q_len * (s.k_len + 1) / 2 : s.q_len * s.k_len);
  const double flops = 4.0 * static_cast<double>(s.batch * s.heads * s.dim) * pairs;
  std::printf("%-26s %9.1f us  oneDNN / ours %5.2f  scratch %6.0f KiB  ", s.name, t[0] * 1e6,
              t[1] / t[0], static_cast<double>(call.scratch_bytes()) / 1024);
  if (decode) {
    std::printf("%5.1f GB/s, of copying's %.2f\n", static_cast<double>(kv_bytes) / t[0] * 1e-9,
                t[2] / t[0] / 2);
  } else {
    const double peak = done / t[2];
    std::printf("%5.1f GFLOP/s, of the peak %.2f\n", flops / t[0] * 1e-9, flops / t[0] / peak);
  }
}

// Decoding with a past: attention that appends the new keys and values itself, against two kernels
// that put them behind those of the past (q and the new k and v lie alike for one position) and
// attention on what they have made.
void MeasureAppend(const Shape& s, tenon::kernels::ThreadPool& pool) {
  fused::AttentionAttrs attrs;
  attrs.num_heads = s.heads;
  attrs.kv_num_heads = s.kv_heads;
  attrs.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(s.dim)));
  attrs.causal = true;
  attrs.k_layout = fused::AttentionKLayout::kBhsd;
  attrs.v_layout = fused::AttentionVLayout::kBhsd;
  Buffer q({s.batch, 1, s.heads * s.dim}), out({s.batch, 1, s.heads * s.dim});
  Buffer k({s.batch, s.kv_heads, 1, s.dim}), v({s.batch, s.kv_heads, 1, s.dim});
  Buffer past_k({s.batch, s.kv_heads, s.k_len - 1, s.dim});
  Buffer past_v({s.batch, s.kv_heads, s.k_len - 1, s.dim});
  Buffer all_k({s.batch, s.kv_heads, s.k_len, s.dim}), all_v({s.batch, s.kv_heads, s.k_len, s.dim});
  const Call one("cpu.fused_attention",
                 {q.view(), k.view(), v.view(), {}, {}, {}, past_k.view(), past_v.view()},
                 {out.view(), all_k.view(), all_v.view()}, &attrs, pool);
  const tenon::ten::ConcatAttrs append{.axis = 2};
  const Call keys("cpu.concat", {past_k.view(), k.view()}, {all_k.view()}, &append, pool);
  const Call values("cpu.concat", {past_v.view(), v.view()}, {all_v.view()}, &append, pool);
  const Call attention("cpu.fused_attention", {q.view(), all_k.view(), all_v.view()}, {out.view()},
                       &attrs, pool);
  const std::vector<double> t = Interleave({[&] { one.Run(); },
                                            [&] {
                                              keys.Run();
                                              values.Run();
                                              attention.Run();
                                            }});
  std::printf("%-26s %9.1f us  appended apart / inside %5.2f\n", s.name, t[0] * 1e6, t[1] / t[0]);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const char* filter = argc > 1 ? argv[1] : "";
  tenon::kernels::ThreadPool pool(argc > 2 ? std::atoi(argv[2]) : 1);
  for (const auto& shape : bench::kShapes) {
    if (std::strstr(shape.name, filter) == nullptr) continue;
    bench::Measure(shape, pool);
    if (shape.q_len == 1) bench::MeasureAppend(shape, pool);
  }
}
