// Linear layers and convolutions that read one tensor.
#include "tests/spellings/spelling.h"

namespace tenon::spellings::siblings {
namespace {

constexpr int64_t kRows = 8, kChannels = 4;

V Linear(Graph& g, const V& x, int64_t columns, bool biased = true) {
  V product = g.Op("MatMul", {x, g.Param({kRows, columns}, -0.5, 0.5)});
  return biased ? g.Add(product, g.Param({columns})) : product;
}

V Gemm(Graph& g, const V& x, int64_t columns) {
  return g.Op("Gemm", {x, g.Param({columns, kRows}, -0.5, 0.5), g.Param({columns})},
              {{"transB", int64_t{1}}});
}

V Conv(Graph& g, const V& x, int64_t filters, int64_t side = 1) {
  const int64_t pad = side / 2;
  return g.Op("Conv", {x, g.Param({filters, kChannels, side, side}, -0.4, 0.4), g.Param({filters})},
              {{"kernel_shape", Ints{side, side}}, {"pads", Ints{pad, pad, pad, pad}}});
}

void OutAll(Graph& g, const std::vector<V>& values) {
  for (const V& value : values) g.Out(value);
}

Spelling Of(const char* name, const char* ops, std::function<void(Graph&)> build) {
  Spelling spelling{name, ops, std::move(build)};
  spelling.rules = "siblings";
  return spelling;
}

std::vector<Spelling> All() {
  return {
      Of("Widths", "fused.linear ten.split",
         [](Graph& g) {
           V x = g.In({B(), S(), kRows});
           OutAll(g, {Linear(g, x, 3), Linear(g, x, 5), Linear(g, x, 2), Linear(g, x, 1)});
         }),
      Of("WithAndWithoutBias", "fused.linear ten.split",
         [](Graph& g) {
           V x = g.In({B(), S(), kRows});
           OutAll(g, {Linear(g, x, 3), Linear(g, x, 5, false), Linear(g, x, 2, false)});
         }),
      Of("OneActivation", "fused.linear ten.split",
         [](Graph& g) {
           V x = g.In({B(), S(), kRows});
           OutAll(g, {g.Op("Relu", {Linear(g, x, 3)}), g.Op("Relu", {Linear(g, x, 4)})});
         }),
      Of("Activations", "fused.linear ten.relu ten.sigmoid ten.split ten.tanh",
         [](Graph& g) {
           V x = g.In({B(), S(), kRows});
           OutAll(g, {g.Op("Relu", {Linear(g, x, 3)}), Linear(g, x, 2),
                      g.Op("Sigmoid", {Linear(g, x, 4)}), g.Op("Tanh", {Linear(g, x, 5)})});
         }),
      Of("TransposedMatrices", "fused.linear ten.split",
         [](Graph& g) {
           V x = g.In({B(), kRows});
           OutAll(g, {Gemm(g, x, 3), Linear(g, x, 5), Gemm(g, x, 2)});
         }),
      Of("Convolutions", "fused.conv ten.split",
         [](Graph& g) {
           V x = g.In({B(), kChannels, 6, 6});
           OutAll(g, {g.Op("Relu", {Conv(g, x, 3)}), g.Op("Relu", {Conv(g, x, 5)}),
                      g.Op("Relu", {Conv(g, x, 2)})});
         }),
      Of("ActivatedConvolutions", "fused.conv ten.relu ten.sigmoid ten.split ten.tanh",
         [](Graph& g) {
           V x = g.In({B(), kChannels, 6, 6});
           OutAll(g, {g.Op("Relu", {Conv(g, x, 3)}), Conv(g, x, 2), Conv(g, x, 6),
                      g.Op("Sigmoid", {Conv(g, x, 4)}), g.Op("Tanh", {Conv(g, x, 5)})});
         }),
      // Near misses.
      Of("OtherTensors", "!ten.split",
         [](Graph& g) {
           OutAll(g,
                  {Linear(g, g.In({B(), S(), kRows}), 3), Linear(g, g.In({B(), S(), kRows}), 3)});
         }),
      Of("OtherGeometry", "!ten.split",
         [](Graph& g) {
           V x = g.In({B(), kChannels, 6, 6});
           OutAll(g, {Conv(g, x, 3), Conv(g, x, 5, 3)});
         }),
  };
}

TENON_SPELLINGS(SiblingsSpelling, All());

}  // namespace
}  // namespace tenon::spellings::siblings
