// A plugin with a wrong kernel or a wrong pass, as the variable TENON_TEST_PLANTED says, for
// testing_test.py.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "frontends/cpp/plugin.h"
#include "ir/core/builder.h"
#include "ir/dialect/ten_ops.h"

namespace {

using tenon::Operation;
namespace kernels = tenon::kernels;

std::string_view Mode() {
  const char* const mode = std::getenv("TENON_TEST_PLANTED");
  return mode == nullptr ? "" : mode;
}

// erf(x), and what is planted.
kernels::KernelStatus RunErf(const kernels::RunArgs& args) {
  if (Mode() == "crash") std::abort();
  while (Mode() == "hang") std::this_thread::sleep_for(std::chrono::seconds(1));
  const auto* x = args.inputs[0].as<float>();
  auto* out = args.outputs[0].as<float>();
  for (int64_t i = 0; i < args.outputs[0].numel(); ++i) out[i] = std::erf(x[i]) + 0.01F;
  return kernels::KernelStatus::Ok();
}

// x * Phi(x) of another distribution.
kernels::KernelStatus RunGelu(const kernels::RunArgs& args) {
  const auto* x = args.inputs[0].as<float>();
  auto* out = args.outputs[0].as<float>();
  for (int64_t i = 0; i < args.outputs[0].numel(); ++i) out[i] = x[i] / (1 + std::exp(-x[i]));
  return kernels::KernelStatus::Ok();
}

// Makes ten.tanh of each ten.erf.
class WrongPass : public tenon::Pass {
 public:
  absl::StatusOr<tenon::PassResult> Run(Operation* function, tenon::PassContext&) override {
    tenon::PassResult result;
    function->Walk([&](Operation* op) {
      if (!tenon::Isa<tenon::ten::ErfOp>(*op)) return;
      tenon::OpBuilder builder = tenon::OpBuilder::Before(op);
      const auto tanh = tenon::ten::TanhOp::Create(builder, op->location(), op->operand(0));
      if (!tanh.ok()) return;
      const tenon::Value value = tanh->out();
      op->ReplaceAllUsesWith({&value, 1});
      op->Erase();
      result.changed = true;
    });
    return result;
  }
};

absl::Status AddPlanted(tenon::Extension& extension) {
  kernels::Kernel kernel = {.op = "ten.erf", .name = "planted.erf", .priority = 1000};
  kernel.run = RunErf;
  if (Mode() == "gelu") {
    kernel.op = "nn.gelu";
    kernel.name = "planted.gelu";
    kernel.run = RunGelu;
  }
  if (Mode() != "pass") extension.kernels = {kernel};
  tenon::PassInfo pass;
  pass.name = "planted-pass";
  pass.summary = "ten.erf becomes ten.tanh";
  pass.anchor = "func.func";
  pass.create = [](const tenon::PassOptionValues&) { return std::make_unique<WrongPass>(); };
  extension.passes = {pass};
  return absl::OkStatus();
}

}  // namespace

TENON_PLUGIN("planted", AddPlanted)
