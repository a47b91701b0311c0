// cpu.resize against oneDNN's resampling, in the same layout and in the blocks of channels that it
// likes best. See README.md.
#include "kernels/op_attrs.h"
#include "tests/bench/row_bench.h"

namespace {

using dnnl::memory;
using tenon::ten::ResizeAttrs;
using tenon::ten::ResizeMode;

void Line(ResizeMode mode, int64_t side, int64_t to, int64_t channels, bool channels_last,
          tenon::kernels::ThreadPool& pool) {
  const auto shape = [&](int64_t s) {
    return channels_last ? std::vector<int64_t>{1, s, s, channels}
                         : std::vector<int64_t>{1, channels, s, s};
  };
  const bench::Buffer x(shape(side)), out(shape(to));
  ResizeAttrs attrs;
  attrs.mode = mode;
  const bench::Call call("cpu.resize", {x.view()}, {out.view()}, &attrs, pool);
  bench::Onednn dnnl;
  const auto plain = channels_last ? memory::format_tag::nhwc : memory::format_tag::nchw;
  std::vector<std::function<void()>> candidates = {[&] { call.Run(); }};
  for (const auto tag : {plain, memory::format_tag::nChw16c}) {
    const auto desc = [&](int64_t s) {
      return memory::desc({1, channels, s, s}, memory::data_type::f32, tag);
    };
    const memory from(desc(side), dnnl.engine), into(desc(to), dnnl.engine);
    const dnnl::resampling_forward peer(
        {{dnnl::prop_kind::forward_inference,
          mode == ResizeMode::kLinear ? dnnl::algorithm::resampling_linear
                                      : dnnl::algorithm::resampling_nearest,
          from.get_desc(), into.get_desc()},
         dnnl.engine});
    candidates.push_back([&dnnl, peer, from, into] {
      peer.execute(dnnl.stream, {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, into}});
      dnnl.stream.wait();
    });
  }
  const std::vector<double> t = bench::Interleave(candidates);
  const double bytes = static_cast<double>(x.view().bytes() + out.view().bytes());
  std::printf(
      "%-7s %3ld to %3ld, %3ld channels %-5s %8.1f us %6.1f GB/s  oneDNN / ours %5.2f, "
      "its layout %5.2f\n",
      mode == ResizeMode::kLinear ? "linear" : "nearest", side, to, channels,
      channels_last ? "last" : "first", t[0] * 1e6, bytes / t[0] * 1e-9, t[1] / t[0], t[2] / t[0]);
}

}  // namespace

int main(int argc, char** argv) {
  tenon::kernels::ThreadPool pool(argc > 1 ? std::atoi(argv[1]) : 1);
  for (const ResizeMode mode : {ResizeMode::kNearest, ResizeMode::kLinear}) {
    Line(mode, 26, 52, 128, true, pool);
    Line(mode, 32, 256, 32, true, pool);
    Line(mode, 32, 256, 32, false, pool);
  }
}
