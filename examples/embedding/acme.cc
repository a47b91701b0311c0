#include "acme.h"

#include <cmath>
#include <string>

#include "tenon/ir/base/check.h"
#include "tenon/ir/dialect/core_ops.h"
#include "tenon/ir/dialect/define_op.h"
#include "tenon/ir/dialect/shapes/shape_functions.h"
#include "tenon/ir/dialect/ten_ops.h"
#include "tenon/kernels/attr_map.h"
#include "tenon/patterns/prelude.h"

namespace {

using tenon::Attribute;
using tenon::DType;
using tenon::Operation;
namespace drr = tenon::drr;
namespace kernels = tenon::kernels;

// ---- the operation: acme.scaled_gelu(x) {scale} = scale * x * Phi(x) ----------------------------

tenon::Dialect AcmeDialect() {
  const tenon::TypeConstraint f32 = tenon::TensorOf({DType::kF32});
  tenon::OpDef gelu;
  gelu.name = "acme.scaled_gelu";
  gelu.summary = "scale * x * Phi(x)";
  gelu.operands = {{"x", tenon::Arity::kSingle, f32}};
  gelu.results = {{"out", tenon::Arity::kSingle, f32}};
  gelu.attrs = {{"scale", tenon::AttrType::kF32, /*required=*/false, "1.0 : f32", {}}};
  gelu.traits = tenon::TraitBits({tenon::Trait::kPure, tenon::Trait::kElementwise});
  gelu.infer = tenon::InferElementwise;
  return {"acme", "operations of Acme", {gelu}};
}

// ---- its kernel ---------------------------------------------------------------------------------

kernels::KernelStatus RunScaledGelu(const kernels::RunArgs& args) {
  const double* scale = args.get<kernels::AttrMap>().Find<double>("scale");
  const float* x = args.inputs[0].as<float>();
  float* out = args.outputs[0].as<float>();
  (*args.device->parallel)(
      args.outputs[0].numel(), /*grain=*/4096, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const double value = x[i];
          out[i] =
              static_cast<float>(*scale * value * 0.5 * (1 + std::erf(value / std::sqrt(2.0))));
        }
      });
  return kernels::KernelStatus::Ok();
}

kernels::Kernel ScaledGeluKernel() {
  kernels::Kernel kernel = {.op = "acme.scaled_gelu", .name = "ref.acme.scaled_gelu"};
  kernel.run = RunScaledGelu;
  kernel.inplace_mask = 1;  // element i is read before it is written
  return kernel;
}

// ---- a rule that makes it -----------------------------------------------------------------------

drr::Val ScaledGelu(const drr::Val& x, const drr::AttrArg<float>& scale) {
  return drr::MakeOp("acme.scaled_gelu", {drr::One(x)}, {{"scale", scale.node()}});
}

drr::Rule ScaledGeluFromErf() {
  using namespace tenon::pattern;  // NOLINT: the functions of the notation
  Val x("x");
  Attr<float> half("half");
  Val argument = AnyOf(Div(x, Splat(std::sqrt(2.0))), Mul(x, Splat(std::sqrt(0.5))));
  return Rule("acme-scaled-gelu")
      .Summary("x * (1 + erf(x / sqrt(2))) * s")
      .Match(Mul(Mul(x, Add(Erf(argument), Splat(1))), Splat(half)))
      .Where(DTypeIs(x, DType::kF32))
      .Replace(ScaledGelu(x, Compute([](double s) { return 2 * s; }, half)));
}

// ---- a pass: a product with a number behind scaled_gelu becomes part of its scale ---------------

class MergeScale : public tenon::Pass {
 public:
  absl::StatusOr<tenon::PassResult> Run(Operation* func, tenon::PassContext& context) override {
    tenon::PassResult result;
    func->Walk([&](Operation* op) {
      if (!Merge(op)) return;
      result.changed = true;
      context.statistics->Add("merged");
    });
    return result;
  }

 private:
  static bool Merge(Operation* op) {
    auto product = tenon::DynCast<tenon::ten::MulOp>(op);
    if (!product) return false;
    Operation* gelu = op->operand(0).defining_op();
    const auto number = tenon::DefinedBy<tenon::core::ConstantOp>(op->operand(1));
    if (gelu == nullptr || gelu->name() != "acme.scaled_gelu" || !gelu->result().has_one_use() ||
        !number || number.value().type().rank() != 0)
      return false;
    const double scale = gelu->attr("scale").float_value() * number.value().ElementAsDouble(0);
    gelu->SetAttr("scale", Attribute::F32(op->context(), static_cast<float>(scale)));
    const tenon::Value merged = gelu->result();
    op->ReplaceAllUsesWith({&merged, 1});
    op->Erase();
    return true;
  }
};

tenon::PassInfo MergeScaleInfo() {
  tenon::PassInfo info;
  info.name = "acme-merge-scale";
  info.summary = "products with a number behind acme.scaled_gelu become part of its scale";
  info.anchor = "func.func";
  info.create = [](const tenon::PassOptionValues&) { return std::make_unique<MergeScale>(); };
  return info;
}

}  // namespace

std::shared_ptr<const tenon::Extension> AcmeExtension() {
  auto extension = std::make_shared<tenon::Extension>();
  extension->dialects = {AcmeDialect()};
  extension->kernels = {ScaledGeluKernel()};
  extension->rules = {ScaledGeluFromErf()};
  extension->passes = {MergeScaleInfo()};
  return extension;
}
