// The IR by itself: docs/guide/embed-the-ir.md explains this file. It links tenon::ir alone.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tenon/ir/base/check.h"
#include "tenon/ir/core/block.h"
#include "tenon/ir/core/builder.h"
#include "tenon/ir/core/context/context.h"
#include "tenon/ir/core/context/diagnostic.h"
#include "tenon/ir/core/context/release_unused.h"
#include "tenon/ir/core/text/parser.h"
#include "tenon/ir/core/text/printer.h"
#include "tenon/ir/core/verify/verifier.h"
#include "tenon/ir/dialect/define_op.h"
#include "tenon/ir/dialect/dialects.h"
#include "tenon/ir/dialect/func_ops.h"
#include "tenon/ir/dialect/shapes/shape_functions.h"
#include "tenon/ir/dialect/ten_ops.h"

namespace {

using namespace tenon;  // NOLINT(google-build-using-namespace): this file speaks of nothing else

// acme.scale(x) {factor} = x * factor
Dialect AcmeDialect() {
  OpDef scale;
  scale.name = "acme.scale";
  scale.summary = "x * factor";
  scale.operands = {{"x", Arity::kSingle, TensorOf({DType::kF32})}};
  scale.results = {{"out", Arity::kSingle, TensorOf({DType::kF32})}};
  scale.attrs = {{"factor", AttrType::kF32, /*required=*/true, {}, {}}};
  scale.traits = TraitBits({Trait::kPure, Trait::kElementwise});
  scale.infer = InferSameAsFirst;
  scale.verify = [](Operation& op) {
    return op.attr("factor").float_value() != 0
               ? absl::OkStatus()
               : absl::InvalidArgumentError("'factor' must not be 0");
  };
  return {"acme", "operations of Acme", {scale}};
}

// Creates acme.scale. Its result type comes from the shape function.
absl::StatusOr<Operation*> CreateScale(OpBuilder& builder, Value x, float factor) {
  Context& context = builder.context();
  const OpInfo* info = context.FindOp("acme.scale");
  const Attribute slots[] = {Attribute::F32(context, factor)};
  return builder.CreateInferred(*info, Location::Name(context, "scale"), {&x, 1}, slots);
}

// @main(x) = relu(scale(x)) for x of shape [batch, 4].
absl::StatusOr<OwnedOp> BuildModule(Context& context) {
  const DimExpr dims[] = {DimExpr::Symbol(context, "batch"), DimExpr::Constant(context, 4)};
  const Type rows = Type::Tensor(context, DType::kF32, dims);
  OwnedOp module = CreateModule(context);
  Operation* main =
      CreateFunction(module.get(), "main", Type::Function(context, {&rows, 1}, {&rows, 1}));
  Block& body = main->region().front();
  OpBuilder builder = OpBuilder::AtEnd(context, &body);
  TENON_ASSIGN_OR_RETURN(Operation * scale, CreateScale(builder, body.argument(0), 2));
  TENON_ASSIGN_OR_RETURN(ten::ReluOp relu,
                         ten::ReluOp::Create(builder, Location(), scale->result()));
  const Value results[] = {relu.out()};
  TENON_RETURN_IF_ERROR(func::ReturnOp::Create(builder, Location(), results).status());
  return module;
}

// Swaps relu(scale(x)) into scale(relu(x)), which is the same for a positive factor.
absl::StatusOr<int> SwapScales(Operation* module) {
  std::vector<Operation*> found;
  module->Walk([&](Operation* op) {
    auto relu = DynCast<ten::ReluOp>(op);
    Operation* scale = relu ? relu.x().defining_op() : nullptr;
    if (scale == nullptr || scale->name() != "acme.scale" || !scale->result().has_one_use()) return;
    if (scale->attr("factor").float_value() > 0) found.push_back(op);
  });
  for (Operation* relu : found) {
    Operation* scale = relu->operand(0).defining_op();
    OpBuilder builder = OpBuilder::Before(relu);
    TENON_ASSIGN_OR_RETURN(ten::ReluOp first,
                           ten::ReluOp::Create(builder, relu->location(), scale->operand(0)));
    TENON_ASSIGN_OR_RETURN(
        Operation * second,
        CreateScale(builder, first.out(), static_cast<float>(scale->attr("factor").float_value())));
    relu->result().ReplaceAllUsesWith(second->result());
    relu->Erase();   // the last use of `scale` goes with it
    scale->Erase();  // `relu` and `scale` dangle from here on
  }
  return static_cast<int>(found.size());
}

absl::Status Run() {
  Context context;
  RegisterAllDialects(context);
  TENON_RETURN_IF_ERROR(context.RegisterDialect(AcmeDialect()));
  context.diagnostics().SetHandler([&](const Diagnostic& diagnostic) {
    std::printf("diagnostic: %s\n", FormatDiagnostic(context, diagnostic).c_str());
  });

  TENON_ASSIGN_OR_RETURN(OwnedOp module, BuildModule(context));
  TENON_RETURN_IF_ERROR(Verify(module.get()));
  const OwnedOp original(Clone(*module));  // a deep copy, which `original` owns
  TENON_ASSIGN_OR_RETURN(const int swapped, SwapScales(module.get()));
  TENON_RETURN_IF_ERROR(Verify(module.get()));
  std::printf("swapped %d\n%s", swapped, Print(*module).c_str());

  // Printed text reads back as the same program.
  TENON_ASSIGN_OR_RETURN(const OwnedOp again, ParseModule(context, Print(*original)));
  std::printf("read back: %s\n", Print(*again) == Print(*original) ? "the same" : "different");

  // What is wrong comes back as a status, and as a diagnostic with its place.
  const absl::Status wrong = ParseModule(context, R"(
func.func() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "f"}> ({
^bb0(%x: tensor<2xf32>):
  %0 = acme.scale(%x) <{factor = 0.0 : f32}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return(%0) : (tensor<2xf32>) -> ()
}) : () -> ()
)")
                                 .status();
  std::printf("status: %s\n", std::string(wrong.message()).c_str());

  // The refused program has left types and attributes behind.
  Operation* const modules[] = {module.get(), original.get(), again.get()};
  TENON_ASSIGN_OR_RETURN(const ReleasedCounts released, ReleaseUnused(context, modules));
  std::printf("types of other programs: %s\n", released.types > 0 ? "freed" : "none");
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
