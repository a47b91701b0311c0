// Row-wise kernels of transformers against oneDNN's primitives and against copying as many bytes.
// See README.md.
#include <cstring>

#include "kernels/op_attrs.h"
#include "tests/bench/row_bench.h"

namespace bench {
namespace {

using dnnl::memory;
using tenon::kernels::TensorView;
using tenon::kernels::ThreadPool;
namespace fused = tenon::fused;
namespace nn = tenon::nn;

// Rows of one size and what the kernels need besides them.
struct Rows {
  int64_t rows, size;
  Buffer x{{rows, size}}, skip{{rows, size}}, out{{rows, size}}, sum{{rows, size}};
  Buffer scale{{size}}, bias{{size}}, wide{{rows, 2 * size}}, angles{{rows, size}};
};

class Table {
 public:
  Table(Rows& rows, const char* filter, ThreadPool& pool)
      : r_(rows), filter_(filter), pool_(pool) {}

  // One line: our kernel, oneDNN's primitives if it has any, and copying `bytes` in all.
  void Line(const char* name, const char* kernel, const std::vector<TensorView>& inputs,
            const std::vector<TensorView>& outputs, const void* attrs,
            std::function<void()> peer = nullptr) {
    if (std::strstr(name, filter_) == nullptr) return;
    const Call call(kernel, inputs, outputs, attrs, pool_);
    int64_t bytes = 0;
    for (const TensorView& view : inputs) bytes += view.present() ? view.bytes() : 0;
    for (const TensorView& view : outputs) bytes += view.bytes();
    Buffer from({bytes / 8}), to({bytes / 8});
    std::vector<std::function<void()>> candidates = {
        [&] { call.Run(); },
        [&] { std::memcpy(to.floats(), from.floats(), static_cast<size_t>(bytes / 8 * 4)); }};
    if (peer) candidates.push_back(peer);
    const std::vector<double> t = Interleave(candidates);
    std::printf("%5ld x %-5ld %-22s %8.1f us %6.1f GB/s  copying / ours %4.2f", r_.rows, r_.size,
                name, t[0] * 1e6, static_cast<double>(bytes) / t[0] * 1e-9, t[1] / t[0]);
    if (peer) std::printf("  oneDNN / ours %4.2f", t[2] / t[0]);
    std::printf("\n");
  }

  void All() {
    memory mx = Plain(r_.x), mskip = Plain(r_.skip), mout = Plain(r_.out), msum = Plain(r_.sum);
    const memory::desc row({r_.size}, memory::data_type::f32, memory::format_tag::a);
    memory mscale(row, dnnl_.engine, r_.scale.floats()), mbias(row, dnnl_.engine, r_.bias.floats());
    const auto kind = dnnl::prop_kind::forward_inference;
    const TensorView x = r_.x.view(), out = r_.out.view();

    const dnnl::softmax_forward softmax({{kind, mx.get_desc(), 1}, dnnl_.engine});
    const nn::SoftmaxAttrs softmax_attrs;
    Line("softmax", "cpu.softmax", {x}, {out}, &softmax_attrs,
         Peer(softmax, {{DNNL_ARG_SRC, mx}, {DNNL_ARG_DST, mout}}));
    const dnnl::softmax_forward down({{kind, mx.get_desc(), 0}, dnnl_.engine});
    nn::SoftmaxAttrs down_attrs;
    down_attrs.axis = 0;
    Line("softmax down the rows", "cpu.softmax", {x}, {out}, &down_attrs,
         Peer(down, {{DNNL_ARG_SRC, mx}, {DNNL_ARG_DST, mout}}));
    const dnnl::logsoftmax_forward log_softmax({{kind, mx.get_desc(), 1}, dnnl_.engine});
    const nn::LogSoftmaxAttrs log_attrs;
    Line("log softmax", "cpu.log_softmax", {x}, {out}, &log_attrs,
         Peer(log_softmax, {{DNNL_ARG_SRC, mx}, {DNNL_ARG_DST, mout}}));

    const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
    const dnnl::layer_normalization_forward norm(
        {{kind, mx.get_desc(), 1e-5f, flags}, dnnl_.engine});
    const std::function<void()> norm_x = Peer(norm, {{DNNL_ARG_SRC, mx},
                                                     {DNNL_ARG_SCALE, mscale},
                                                     {DNNL_ARG_SHIFT, mbias},
                                                     {DNNL_ARG_DST, mout}});
    nn::LayerNormAttrs norm_attrs;
    norm_attrs.axis = -1;
    Line("layer norm", "cpu.layer_norm", {x, r_.scale.view(), r_.bias.view()}, {out}, &norm_attrs,
         norm_x);
    nn::RmsNormAttrs rms_attrs;
    rms_attrs.axis = -1;
    Line("RMS norm", "cpu.rms_norm", {x, r_.scale.view()}, {out}, &rms_attrs);
    const dnnl::binary add(
        {{dnnl::algorithm::binary_add, mx.get_desc(), mskip.get_desc(), msum.get_desc()},
         dnnl_.engine});
    const std::function<void()> sum =
        Peer(add, {{DNNL_ARG_SRC_0, mx}, {DNNL_ARG_SRC_1, mskip}, {DNNL_ARG_DST, msum}});
    const std::function<void()> norm_sum = Peer(norm, {{DNNL_ARG_SRC, msum},
                                                       {DNNL_ARG_SCALE, mscale},
                                                       {DNNL_ARG_SHIFT, mbias},
                                                       {DNNL_ARG_DST, mout}});
    fused::SkipLayerNormAttrs skip_attrs;
    skip_attrs.axis = 1;
    Line("add + layer norm", "cpu.skip_layer_norm",
         {x, r_.skip.view(), r_.scale.view(), r_.bias.view()}, {out, r_.sum.view()}, &skip_attrs,
         [=] { sum(), norm_sum(); });

    const dnnl::eltwise_forward gelu(
        {{kind, dnnl::algorithm::eltwise_gelu_erf, mx.get_desc(), 0, 0}, dnnl_.engine});
    nn::GeluAttrs gelu_attrs;
    Line("GELU (erf)", "cpu.gelu", {x}, {out}, &gelu_attrs,
         Peer(gelu, {{DNNL_ARG_SRC, mx}, {DNNL_ARG_DST, mout}}));
    const dnnl::eltwise_forward swish(
        {{kind, dnnl::algorithm::eltwise_swish, mx.get_desc(), 1, 0}, dnnl_.engine});
    const dnnl::binary mul(
        {{dnnl::algorithm::binary_mul, mout.get_desc(), mskip.get_desc(), mout.get_desc()},
         dnnl_.engine});
    const std::function<void()> activate = Peer(swish, {{DNNL_ARG_SRC, mx}, {DNNL_ARG_DST, mout}});
    const std::function<void()> multiply =
        Peer(mul, {{DNNL_ARG_SRC_0, mout}, {DNNL_ARG_SRC_1, mskip}, {DNNL_ARG_DST, mout}});
    fused::GatedAttrs gated_attrs;
    gated_attrs.activation = fused::GatedActivation::kSilu;
    Line("SiLU(x) * up", "cpu.gated", {x, r_.skip.view()}, {out}, &gated_attrs,
         [=] { activate(), multiply(); });
    fused::RotaryAttrs rotary_attrs;
    Line("rotary, halves", "cpu.fused_rotary", {x, r_.angles.view(), r_.skip.view()}, {out},
         &rotary_attrs);
    rotary_attrs.interleaved = true;
    Line("rotary, pairs", "cpu.fused_rotary", {x, r_.angles.view(), r_.skip.view()}, {out},
         &rotary_attrs);
  }

 private:
  memory Plain(const Buffer& b) {
    return dnnl_.Memory({r_.rows, r_.size}, {r_.size, 1}, b.floats());
  }
  std::function<void()> Peer(const dnnl::primitive& primitive,
                             const std::unordered_map<int, memory>& arguments) {
    return [this, primitive, arguments] {
      primitive.execute(dnnl_.stream, arguments);
      dnnl_.stream.wait();
    };
  }

  Rows& r_;
  const char* filter_;
  ThreadPool& pool_;
  Onednn dnnl_;
};

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const char* filter = argc > 1 ? argv[1] : "";
  tenon::kernels::ThreadPool pool(argc > 2 ? std::atoi(argv[2]) : 1);
  const int64_t only = argc > 3 ? std::atoi(argv[3]) : 0;
  for (const auto& [rows, size] : {std::pair{128, 768}, {128, 3072}, {3136, 96}, {8192, 4096}}) {
    if (only != 0 && only != rows) continue;
    bench::Rows r{rows, size};
    bench::Table(r, filter, pool).All();
  }
}
