// Recurrent layers against oneDNN's, products with the experts of rows against a loop over the
// rows, the largest of rows against std::partial_sort. See README.md.
#include <cmath>
#include <numeric>

#include "kernels/op_attrs.h"
#include "tests/bench/row_bench.h"

namespace bench {
namespace {

using dnnl::memory;
using tenon::DType;
using tenon::kernels::TensorView;
using tenon::kernels::ThreadPool;
namespace fused = tenon::fused;
namespace nn = tenon::nn;
namespace ten = tenon::ten;

void Print(const char* name, const char* peer, const std::vector<double>& seconds) {
  std::printf("%-42s %10.1f us  %s / ours %5.2f\n", name, seconds[0] * 1e6, peer,
              seconds[1] / seconds[0]);
}

TensorView View(const std::vector<int64_t>& values, const std::vector<int64_t>& shape) {
  return {const_cast<int64_t*>(values.data()), DType::kI64, shape};
}

// What all numbers of a layer are: the order of gates and the layouts of weights do not matter
// then.
constexpr float kNumber = 0.01f;

memory Filled(const Onednn& dnnl, const memory::desc& desc) {
  memory made(desc, dnnl.engine);
  auto* const floats = static_cast<float*>(made.get_data_handle());
  std::fill_n(floats, desc.get_size() / sizeof(float), kNumber);
  return made;
}

// Writes its states to `y`.
std::function<void()> LayerOfOnednn(Onednn& dnnl, bool lstm, int64_t steps, int64_t batch,
                                    int64_t size, const memory& y) {
  const auto plain = [](const memory::dims& dims, memory::format_tag tag) {
    return memory::desc(dims, memory::data_type::f32, tag);
  };
  const int64_t gates = lstm ? 4 : 3;
  const auto any = memory::format_tag::any;
  const memory::desc x = plain({steps, batch, size}, memory::format_tag::tnc);
  const memory::desc h = plain({1, 1, batch, size}, memory::format_tag::ldnc);
  const memory::desc w = plain({1, 1, size, gates, size}, any);
  // The hidden gate of a GRU whose reset multiplies a product has a bias of its own.
  const memory::desc bias = plain({1, 1, 4, size}, memory::format_tag::ldgo);
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto direction = dnnl::rnn_direction::unidirectional_left2right;
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC_LAYER, Filled(dnnl, x)},
                                               {DNNL_ARG_SRC_ITER, Filled(dnnl, h)},
                                               {DNNL_ARG_BIAS, Filled(dnnl, bias)},
                                               {DNNL_ARG_DST_LAYER, y},
                                               {DNNL_ARG_DST_ITER, Filled(dnnl, h)}};
  const auto run = [&](const auto& descriptor, const dnnl::primitive& primitive) {
    arguments[DNNL_ARG_WEIGHTS_LAYER] = Filled(dnnl, descriptor.weights_layer_desc());
    arguments[DNNL_ARG_WEIGHTS_ITER] = Filled(dnnl, descriptor.weights_iter_desc());
    return [&dnnl, primitive, arguments] {
      primitive.execute(dnnl.stream, arguments);
      dnnl.stream.wait();
    };
  };
  if (lstm) {
    arguments[DNNL_ARG_SRC_ITER_C] = Filled(dnnl, h);
    arguments[DNNL_ARG_DST_ITER_C] = Filled(dnnl, h);
    const dnnl::lstm_forward::primitive_desc descriptor(
        {kind, direction, x, h, h, w, w, bias, x, h, h}, dnnl.engine);
    return run(descriptor, dnnl::lstm_forward(descriptor));
  }
  const dnnl::lbr_gru_forward::primitive_desc descriptor({kind, direction, x, h, w, w, bias, x, h},
                                                         dnnl.engine);
  return run(descriptor, dnnl::lbr_gru_forward(descriptor));
}

// A layer is the product of all its inputs and the recurrence, as in a compiled program.
void Layer(bool lstm, int64_t steps, int64_t batch, int64_t size, ThreadPool& pool) {
  const int64_t gates = lstm ? 4 : 3;
  const Buffer x({steps, batch, size}), w({size, gates * size}), bias({gates * size});
  const Buffer of_inputs({steps, batch, gates * size}), r({gates * size, size});
  const Buffer h({batch, size}), c({batch, size}), last({batch, size}), last_c({batch, size});
  const Buffer hidden_bias({size}), y({steps, batch, size});
  for (const Buffer* buffer : {&x, &w, &bias, &r, &h, &c, &hidden_bias}) {
    std::fill_n(buffer->floats(), buffer->view().numel(), kNumber);
  }
  const TensorView none;
  const fused::LinearAttrs linear;
  nn::RecurrenceAttrs attrs;
  attrs.cell = lstm ? nn::RecurrenceCell::kLstm : nn::RecurrenceCell::kGru;
  attrs.reset_after = !lstm;
  std::vector<TensorView> outputs = {y.view(), last.view()};
  if (lstm) outputs.push_back(last_c.view());
  const Call product("cpu.fused_linear", {x.view(), w.view(), bias.view(), none},
                     {of_inputs.view()}, &linear, pool, {1});
  const Call recurrence("cpu.recurrence",
                        {of_inputs.view(), r.view(), h.view(), lstm ? c.view() : none,
                         lstm ? none : hidden_bias.view(), none, none},
                        outputs, &attrs, pool, {1});
  Onednn dnnl;
  const memory y_of_onednn =
      Filled(dnnl, {{steps, batch, size}, memory::data_type::f32, memory::format_tag::tnc});
  char name[64];
  std::snprintf(name, sizeof(name), "%s, %ld steps, batch %ld, %ld wide", lstm ? "LSTM" : "GRU",
                steps, batch, size);
  Print(name, "oneDNN",
        Interleave({[&] { product.Run(), recurrence.Run(); },
                    LayerOfOnednn(dnnl, lstm, steps, batch, size, y_of_onednn)}));
  const auto* const expected = static_cast<const float*>(y_of_onednn.get_data_handle());
  float difference = 0;
  for (int64_t i = 0; i < steps * batch * size; ++i) {
    difference = std::max(difference, std::abs(y.floats()[i] - expected[i]));
  }
  if (difference > 1e-4f) std::printf("    the results differ by %g\n", difference);
}

// Each row has two experts.
void Experts(int64_t tokens, int64_t experts, int64_t k, int64_t n, ThreadPool& pool) {
  const int64_t rows = 2 * tokens;
  const Buffer x({rows, k}), w({experts, k, n}), out({rows, n});
  std::vector<int64_t> of_row;
  for (int64_t row = 0; row < rows; ++row) of_row.push_back(row * 5 % 7 % experts);
  const fused::ExpertLinearAttrs attrs;
  const std::vector<int64_t> shape = {rows};
  const Call call("cpu.expert_linear", {x.view(), w.view(), View(of_row, shape)}, {out.view()},
                  &attrs, pool, {1});
  const fused::LinearAttrs linear;
  const TensorView none;
  const std::vector<int64_t> row_of_x = {1, k}, row_of_out = {1, n}, matrix = {k, n};
  std::vector<std::unique_ptr<Call>> of_expert;  // one row, always the same
  for (int64_t expert = 0; expert < experts; ++expert) {
    of_expert.push_back(std::make_unique<Call>(
        "cpu.fused_linear",
        std::vector<TensorView>{{x.floats(), DType::kF32, row_of_x},
                                {w.floats() + expert * k * n, DType::kF32, matrix},
                                none,
                                none},
        std::vector<TensorView>{{out.floats(), DType::kF32, row_of_out}}, &linear, pool,
        std::vector<size_t>{1}));
  }
  char name[64];
  std::snprintf(name, sizeof(name), "experts, %ld rows of %ld, %ld of %ld", rows, k, experts, n);
  const auto loop = [&] {
    for (int64_t expert : of_row) of_expert[static_cast<size_t>(expert)]->Run();
  };
  Print(name, "row by row", Interleave({[&] { call.Run(); }, loop}, 9));
}

void Largest(int64_t rows, int64_t size, int64_t k, ThreadPool& pool) {
  const Buffer x({rows, size}), values({rows, k});
  std::vector<int64_t> places(static_cast<size_t>(rows * k)), order(static_cast<size_t>(size));
  const std::vector<int64_t> shape = {rows, k};
  ten::TopkAttrs attrs;
  attrs.k = {k};
  attrs.axis = 1;
  const Call call("cpu.topk", {x.view()}, {values.view(), View(places, shape)}, &attrs, pool);
  const auto sort = [&] {
    for (int64_t row = 0; row < rows; ++row) {
      const float* from = x.floats() + row * size;
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [=](int64_t a, int64_t b) {
        return from[a] > from[b] || (from[a] == from[b] && a < b);
      });
    }
  };
  char name[64];
  std::snprintf(name, sizeof(name), "largest %ld of %ld x %ld", k, rows, size);
  Print(name, "partial_sort", Interleave({[&] { call.Run(); }, sort}));
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  tenon::kernels::ThreadPool pool(argc > 1 ? std::atoi(argv[1]) : 1);
  for (bool lstm : {true, false}) {
    bench::Layer(lstm, 128, 1, 256, pool);
    bench::Layer(lstm, 64, 1, 1024, pool);
    // oneDNN 2.6.3's GRU does not write the states of 16 rows.
    if (lstm) bench::Layer(lstm, 64, 16, 512, pool);
  }
  bench::Experts(1, 8, 768, 2048, pool);
  bench::Experts(128, 8, 768, 2048, pool);
  bench::Largest(4, 50257, 1, pool);
  bench::Largest(4, 50257, 50, pool);
}
