// What an instruction costs, small kernel included: a chain of 2000 unary operations on 16 floats,
// neg and abs in turns, nothing fused. chain_vs_onnxruntime.py runs this program and ONNX Runtime
// in turns.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "frontends/cpp/tenon.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kOps = 2000;
constexpr int64_t kElements = 16;

std::string Chain() {
  const std::string type = fmt::format("tensor<{}xf32>", kElements);
  std::string text = fmt::format(
      "func.func() <{{function_type = ({0}) -> {0}, sym_name = \"main\"}}> ({{\n^bb0(%v0: {0}):\n",
      type);
  for (int i = 0; i < kOps; ++i) {
    text += fmt::format("  %v{} = ten.{}(%v{}) : ({}) -> {}\n", i + 1, i % 2 == 0 ? "neg" : "abs",
                        i, type, type);
  }
  return text + fmt::format("  func.return(%v{}) : ({}) -> ()\n}}) : () -> ()\n", kOps, type);
}

int Measure() {
  absl::StatusOr<tenon::Model> model = tenon::LoadFromBytes(Chain(), "chain");
  absl::StatusOr<tenon::Program> program =
      model.ok() ? tenon::Compile(*model, {.threads = 1}) : model.status();
  if (!program.ok()) {
    fmt::print(stderr, "{}\n", std::string(program.status().message()));
    return 1;
  }
  tenon::Session session = program->NewSession();
  const std::vector<int64_t> shape = {kElements};
  const tenon::Tensor in = tenon::Tensor::Make(tenon::DType::kF32, shape);
  const tenon::Tensor out = tenon::Tensor::Make(tenon::DType::kF32, shape);
  std::fill_n(in.as<float>(), kElements, 1.5f);
  const std::vector<tenon::kernels::TensorView> from = {in.view()}, to = {out.view()};
  std::vector<double> ns;
  for (int run = 0; run < 2000; ++run) {
    const auto start = Clock::now();
    if (absl::Status status = session.Run(from, to); !status.ok()) return 1;
    ns.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  std::sort(ns.begin(), ns.end());
  fmt::print(
      "{{\"ops\": {}, \"elements\": {}, \"ns_per_op_median\": {:.2f}, \"ns_per_op_min\": "
      "{:.2f}}}\n",
      kOps, kElements, ns[ns.size() / 2] / kOps, ns[0] / kOps);
  return 0;
}

}  // namespace

int main() { return Measure(); }
