// A dialect that tenon_add_dialect makes of dsp.yaml, with its check, its kernels and a rule, as a
// plugin:
//
//   ir-opt signals.mlir -O2 --load-plugin=libdsp.so
#include <cmath>
#include <numbers>
#include <string>

#include "dsp_ops.h"
#include "dsp_patterns.h"
#include "tenon/frontends/cpp/plugin.h"
#include "tenon/kernels/attr_map.h"
#include "tenon/patterns/prelude.h"

namespace tenon {

// The function that `verify:` names.
absl::Status VerifyWindow(Operation& op) {
  const dsp::WindowOp window(&op);
  const Type type = window.x().type();
  if (window.size() < 1) return absl::InvalidArgumentError("size is below 1");
  if (type.rank() < 1) return absl::InvalidArgumentError("x has no axis (expected a signal)");
  const DimExpr last = type.dim(type.rank() - 1);
  if (last.is_constant() && last.constant() != window.size())
    return absl::InvalidArgumentError("size is not the length of the last axis of x");
  return absl::OkStatus();
}

}  // namespace tenon

namespace {

namespace drr = tenon::drr;
namespace kernels = tenon::kernels;
using kernels::AttrMap;

// ---- kernels: attributes come as a map ----------------------------------------------------------

kernels::KernelStatus RunMix(const kernels::RunArgs& args) {
  const double gain = *args.get<AttrMap>().Find<double>("gain");
  const kernels::TensorView& a = args.inputs[0];
  const kernels::TensorView& b = args.inputs[1];
  const int64_t count = args.outputs[0].numel();
  if (a.numel() != count || b.numel() != count)
    return kernels::KernelStatus::Invalid("the signals have different shapes");
  float* out = args.outputs[0].as<float>();
  for (int64_t i = 0; i < count; ++i)
    out[i] = a.as<float>()[i] + static_cast<float>(gain) * b.as<float>()[i];
  return kernels::KernelStatus::Ok();
}

kernels::KernelStatus RunWindow(const kernels::RunArgs& args) {
  const AttrMap& attrs = args.get<AttrMap>();
  const int64_t size = *attrs.Find<int64_t>("size");
  const double offset = *attrs.Find<std::string>("kind") == "hann" ? 0.5 : 25.0 / 46;
  const float* x = args.inputs[0].as<float>();
  float* out = args.outputs[0].as<float>();
  for (int64_t i = 0; i < args.outputs[0].numel(); ++i) {
    const double angle =
        2 * std::numbers::pi * static_cast<double>(i % size) / static_cast<double>(size);
    out[i] = x[i] * static_cast<float>(offset - (1 - offset) * std::cos(angle));
  }
  return kernels::KernelStatus::Ok();
}

kernels::Kernel KernelOf(const char* op, const char* name, kernels::RunFn run) {
  kernels::Kernel kernel = {.op = op, .name = name};
  kernel.run = run;
  return kernel;
}

// ---- a rule with the function that was made of dsp.mix ------------------------------------------

drr::Rule MixOfMul() {
  using namespace tenon::pattern;  // NOLINT: the functions of the notation
  Val a("a"), b("b");
  Attr<float> gain("gain");
  return Rule("dsp-mix")
      .Summary("a + b * gain, of signals of one shape")
      .Match(Add(a, Mul(b, Splat(gain))))
      .Where(DTypeIs(a, tenon::DType::kF32) && SameShape(a, b))
      .Replace(tenon::pattern::dsp::Mix(a, b, {.gain = gain}));
}

absl::Status AddDsp(tenon::Extension& extension) {
  extension.dialects = {tenon::DspDialect()};
  extension.kernels = {KernelOf("dsp.mix", "ref.dsp.mix", RunMix),
                       KernelOf("dsp.window", "ref.dsp.window", RunWindow)};
  extension.rules = {MixOfMul()};
  return absl::OkStatus();
}

}  // namespace

TENON_PLUGIN("dsp", AddDsp)
