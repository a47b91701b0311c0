// Kernels of a host: docs/guide/add-a-kernel.md explains this file.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tenon/executor/profile/profiler.h"
#include "tenon/frontends/cpp/extension.h"
#include "tenon/frontends/cpp/tenon.h"
#include "tenon/ir/base/check.h"
#include "tenon/ir/dialect/define_op.h"
#include "tenon/ir/dialect/shapes/shape_functions.h"
#include "tenon/kernels/attr_map.h"
#include "tenon/kernels/kernel.h"

namespace {

using tenon::DType;
using tenon::kernels::AttrMap;
using tenon::kernels::CallSignature;
using tenon::kernels::Kernel;
using tenon::kernels::KernelState;
using tenon::kernels::KernelStatus;
using tenon::kernels::PackedBytes;
using tenon::kernels::PrepareArgs;
using tenon::kernels::RunArgs;
using tenon::kernels::TensorView;

// acme.divide_columns(x, w) {scale}: scale * x / w. x is [..., C] and w is [C].
tenon::Dialect AcmeDialect() {
  const tenon::TypeConstraint f32 = tenon::TensorOf({DType::kF32});
  tenon::OpDef op;
  op.name = "acme.divide_columns";
  op.summary = "scale * x / w, for each column of x";
  op.operands = {{"x", tenon::Arity::kSingle, f32}, {"w", tenon::Arity::kSingle, f32}};
  op.results = {{"out", tenon::Arity::kSingle, f32}};
  op.attrs = {{"scale", tenon::AttrType::kF32, /*required=*/false, "1.0 : f32", {}}};
  op.traits = tenon::TraitBits({tenon::Trait::kPure});
  op.infer = tenon::InferSameAsFirst;
  op.verify = [](tenon::Operation& self) {
    const tenon::Type x = self.operand(0).type(), w = self.operand(1).type();
    if (!x.is_tensor() || !w.is_tensor()) return absl::OkStatus();
    if (x.rank() < 1 || w.rank() != 1)
      return absl::InvalidArgumentError("expected x of rank 1 or more and w of rank 1");
    // Two dimensions that are not provably equal are compared by the kernel.
    const tenon::DimExpr columns = x.dim(-1), divisors = w.dim(0);
    if (columns.is_constant() && divisors.is_constant() && !(columns == divisors))
      return absl::InvalidArgumentError("expected one element of w for each column of x");
    return absl::OkStatus();
  };
  return {"acme", "operations of Acme", {op}};
}

// ---- the reference kernel: short, in double, for every call that the verifier accepts

KernelStatus CheckColumns(const RunArgs& args) {
  const TensorView& x = args.inputs[0];
  const TensorView& w = args.inputs[1];
  if (w.dim(0) == x.dim(-1)) return KernelStatus::Ok();
  return KernelStatus::Invalid("w has " + std::to_string(w.dim(0)) + " elements (expected " +
                               std::to_string(x.dim(-1)) + ", one for each column of x)");
}

KernelStatus DivideColumns(const RunArgs& args) {
  if (KernelStatus status = CheckColumns(args); !status.ok()) return status;
  const double scale = *args.get<AttrMap>().Find<double>("scale");
  const float* x = args.inputs[0].as<float>();
  const float* w = args.inputs[1].as<float>();
  float* out = args.outputs[0].as<float>();
  const int64_t columns = args.inputs[0].dim(-1);
  for (int64_t i = 0; i < args.outputs[0].numel(); ++i)
    out[i] = static_cast<float>(scale * x[i] / w[i % columns]);
  return KernelStatus::Ok();
}

Kernel ReferenceKernel() {
  return {.op = "acme.divide_columns", .name = "ref.acme.divide_columns", .run = DivideColumns};
}

// ---- the fast kernel: packs factors once, multiplies, and shares the rows among threads

struct FactorState : KernelState {
  PackedBytes factors;
};

std::string FastSupports(const CallSignature& call) {
  if (!call.constant_input[1]) return "needs a constant w";
  return "";
}

KernelStatus PrepareFactors(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const TensorView& w = args.inputs[1];
  auto state = std::make_shared<FactorState>();
  const auto fill = [&](std::byte* bytes) {
    auto* factors = reinterpret_cast<float*>(bytes);
    for (int64_t i = 0; i < w.numel(); ++i) factors[i] = 1 / args.inputs[1].as<float>()[i];
  };
  const int from[] = {1};
  state->factors = args.Pack(from, "acme.reciprocals f32", static_cast<size_t>(w.bytes()), fill);
  if (state->factors == nullptr) return KernelStatus::OutOfMemory("no memory for the factors");
  out = std::move(state);
  return KernelStatus::Ok();
}

KernelStatus MultiplyColumns(const RunArgs& args) {
  if (KernelStatus status = CheckColumns(args); !status.ok()) return status;
  const auto scale = static_cast<float>(*args.get<AttrMap>().Find<double>("scale"));
  const auto& state = *static_cast<FactorState*>(args.state);
  const auto* factors = reinterpret_cast<const float*>(state.factors.get());
  const float* x = args.inputs[0].as<float>();
  float* out = args.outputs[0].as<float>();
  const int64_t columns = args.inputs[0].dim(-1);
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  const int64_t rows = args.outputs[0].numel() / columns, grain = 1 + 16384 / columns;
  (*args.device->parallel)(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * columns; i < end * columns; ++i)
      out[i] = scale * x[i] * factors[i % columns];
  });
  return KernelStatus::Ok();
}

Kernel FastKernel() {
  return {.op = "acme.divide_columns",
          .name = "acme.divide_columns.packed",
          .priority = 10,
          .run = MultiplyColumns,
          .prepare = PrepareFactors,
          .supports = FastSupports,
          .inplace_mask = 1};  // bit 0: the result may take the memory of x
}

// ---- a program that has a call for each of them

constexpr char kProgram[] = R"(
func.func() <{function_type = (tensor<?x2xf32, ["rows", ""]>, tensor<2xf32>) -> tensor<?x2xf32, ["rows", ""]>, sym_name = "main"}> ({
^bb0(%x: tensor<?x2xf32, ["rows", ""]>, %v: tensor<2xf32>):
  %w = core.constant() <{value = dense<[2.0, 4.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
  %0 = acme.divide_columns(%x, %w) <{scale = 3.0 : f32}> : (tensor<?x2xf32, ["rows", ""]>, tensor<2xf32>) -> tensor<?x2xf32, ["rows", ""]>
  %1 = acme.divide_columns(%0, %v) : (tensor<?x2xf32, ["rows", ""]>, tensor<2xf32>) -> tensor<?x2xf32, ["rows", ""]>
  func.return(%1) : (tensor<?x2xf32, ["rows", ""]>) -> ()
}) : () -> ()
)";

absl::Status Run() {
  auto extension = std::make_shared<tenon::Extension>();
  extension->dialects = {AcmeDialect()};
  extension->kernels = {ReferenceKernel(), FastKernel()};
  TENON_ASSIGN_OR_RETURN(const tenon::Model model,
                         tenon::LoadFromBytes(kProgram, "program.mlir", {.extension = extension}));
  TENON_ASSIGN_OR_RETURN(const tenon::Program program, tenon::Compile(model, {.threads = 2}));

  tenon::Tensor x = tenon::Tensor::Make(DType::kF32, {3, 2});
  tenon::Tensor v = tenon::Tensor::Make(DType::kF32, {2});
  for (int i = 0; i < 6; ++i) x.as<float>()[i] = static_cast<float>(i);
  v.as<float>()[0] = 1, v.as<float>()[1] = 0.5;
  const std::vector<tenon::Tensor> inputs = {x, v};
  tenon::Profiler profiler;
  TENON_ASSIGN_OR_RETURN(const std::vector<tenon::Tensor> outputs,
                         program.Run(inputs, {.profiler = &profiler}));
  for (const tenon::ProfiledCall& call : profiler.calls())
    std::printf("%s by %s\n", call.op.c_str(), call.kernel.c_str());
  for (int i = 0; i < 6; ++i) std::printf("%g ", outputs[0].as<float>()[i]);
  std::printf("\n");
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
