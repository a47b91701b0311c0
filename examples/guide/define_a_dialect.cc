// A dialect with state, interfaces and constants: docs/guide/define-a-dialect.md explains this
// file. It links tenon::transforms, for the passes cse and dce.
#include <cstdio>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fmt/format.h"
#include "tenon/ir/base/check.h"
#include "tenon/ir/core/block.h"
#include "tenon/ir/core/builder.h"
#include "tenon/ir/core/constants/constant.h"
#include "tenon/ir/core/context/context.h"
#include "tenon/ir/core/context/diagnostic.h"
#include "tenon/ir/core/context/dialect_types.h"
#include "tenon/ir/core/interfaces/op_interfaces.h"
#include "tenon/ir/core/text/parser.h"
#include "tenon/ir/core/text/printer.h"
#include "tenon/ir/core/verify/verifier.h"
#include "tenon/ir/dialect/define_op.h"
#include "tenon/ir/dialect/dialects.h"
#include "tenon/ir/dialect/shapes/shape_functions.h"
#include "tenon/pass/analysis_manager.h"
#include "tenon/pass/pass.h"
#include "tenon/transforms/passes.h"

namespace {

using namespace tenon;  // NOLINT(google-build-using-namespace): this file speaks of nothing else

using Rates = std::map<std::string, double, std::less<>>;

// acme.amount() {value}: a number as a constant of the dialect.
OpDef Amount() {
  OpDef def;
  def.name = "acme.amount";
  def.summary = "An amount of money";
  def.results = {{"out", Arity::kSingle, TensorOf({DType::kF64})}};
  def.attrs = {{"value", AttrType::kF64, /*required=*/true, {}, {}}};
  def.traits = TraitBits({Trait::kPure, Trait::kConstantLike});
  return def;
}

// acme.convert(x) {currency}: x times a rate. The hooks hold the table of rates.
OpDef Convert(const std::shared_ptr<const Rates>& rates) {
  OpDef def;
  def.name = "acme.convert";
  def.summary = "Converts an amount to another currency";
  def.operands = {{"x", Arity::kSingle, TensorOf({DType::kF64})}};
  def.results = {{"out", Arity::kSingle, TensorOf({DType::kF64})}};
  def.attrs = {{"currency", AttrType::kStr, /*required=*/true, {}, {}}};
  def.traits = TraitBits({Trait::kPure, Trait::kElementwise});
  def.infer = InferSameAsFirst;
  def.verify = [rates](Operation& op) {
    const std::string_view currency = op.attr("currency").str();
    if (rates->contains(currency)) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format("no rate for '{}'", currency));
  };
  def.fold = [rates](Operation& op, std::span<const Attribute> constants, FoldResults& results) {
    const Attribute x = constants[0];
    if (!x || x.kind() != Attribute::Kind::kFloat) return false;
    const double rate = rates->find(op.attr("currency").str())->second;
    results.push_back(
        {.value = {}, .attribute = Attribute::F64(op.context(), x.float_value() * rate)});
    return true;
  };
  return def;
}

// acme.log(x) {quiet}: without effects if it is quiet.
class LogEffects : public EffectsInterface {
 public:
  Effects EffectsOf(const Operation& op) const override {
    return op.attr("quiet") ? Effects() : Effects{.writes = true};
  }
};

OpDef Log() {
  OpDef def;
  def.name = "acme.log";
  def.summary = "Writes a value to a log, unless it is quiet";
  def.operands = {{"x", Arity::kSingle, TensorOf({DType::kF64})}};
  def.attrs = {{"quiet", AttrType::kUnit, /*required=*/false, {}, {}}};
  def.interfaces.Add<EffectsInterface, LogEffects>();
  return def;
}

// acme.twice(x) ({^bb0(%x): … acme.next(%y)}): runs its region two times.
class TwiceRegions : public RegionBranchInterface {
 public:
  absl::InlinedVector<RegionEdge, 2> EdgesFrom(const Operation& op, int from) const override {
    const Operation& source = from == RegionEdge::kParent ? op : *op.region().front().terminator();
    const OperandRange values(source.operands().data(), source.num_operands());
    if (from == RegionEdge::kParent) return {{.to = 0, .values = values}};
    return {{.to = 0, .values = values}, {.to = RegionEdge::kParent, .values = values}};
  }
};

OpDef Twice() {
  OpDef def;
  def.name = "acme.twice";
  def.summary = "Runs its region two times";
  def.operands = {{"x", Arity::kSingle, TensorOf({DType::kF64})}};
  def.results = {{"out", Arity::kSingle, TensorOf({DType::kF64})}};
  def.regions = {"body"};
  def.traits = TraitBits({Trait::kSingleBlock});
  def.interfaces.Add<RegionBranchInterface, TwiceRegions>();
  return def;
}

OpDef Next() {
  OpDef def;
  def.name = "acme.next";
  def.summary = "Ends the region of acme.twice";
  def.operands = {{"x", Arity::kSingle, TensorOf({DType::kF64})}};
  def.traits = TraitBits({Trait::kTerminator});
  return def;
}

// !acme.ledger<currency>: a type with a parameter.
ParametricDef Ledger(const std::shared_ptr<const Rates>& rates) {
  ParametricDef def;
  def.name = "acme.ledger";
  def.summary = "A list of payments in one currency";
  def.parameters = {{"currency", AttrType::kStr, /*required=*/true, {}, {}}};
  def.verify = [rates](std::span<const Attribute> parameters) {
    const std::string_view currency = parameters[0].str();
    if (rates->contains(currency)) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format("no rate for '{}'", currency));
  };
  return def;
}

// acme.book(ledger, x): writes x into a ledger.
OpDef Book() {
  OpDef def;
  def.name = "acme.book";
  def.summary = "Writes an amount into a ledger";
  def.operands = {{"ledger", Arity::kSingle, DialectTypeOf("acme.ledger")},
                  {"x", Arity::kSingle, TensorOf({DType::kF64})}};
  def.traits = TraitBits({Trait::kWritesMemory});
  return def;
}

// Makes acme.amount of a float attribute.
Operation* MakeAmount(OpBuilder& builder, Attribute value, Type type, Location location) {
  if (value.kind() != Attribute::Kind::kFloat) return nullptr;
  const OpInfo* info = builder.context().FindOp("acme.amount");
  return builder.Insert(Operation::Create(*info, location, {&type, 1}, {}, {&value, 1}));
}

Dialect AcmeDialect(const std::shared_ptr<const Rates>& rates) {
  Dialect dialect{"acme", "Money", {Amount(), Convert(rates), Log(), Twice(), Next(), Book()}};
  dialect.make_constant = MakeAmount;
  dialect.types = {Ledger(rates)};
  return dialect;
}

constexpr char kProgram[] = R"(
func.func() <{function_type = (!acme.ledger<"EUR">) -> tensor<f64>, sym_name = "main"}> ({
^bb0(%ledger: !acme.ledger<"EUR">):
  %0 = acme.amount() <{value = 100.0}> : () -> tensor<f64>
  %1 = acme.convert(%0) <{currency = "EUR"}> : (tensor<f64>) -> tensor<f64>
  acme.log(%1) : (tensor<f64>) -> ()
  acme.book(%ledger, %1) : (!acme.ledger<"EUR">, tensor<f64>) -> ()
  acme.log(%0) <{quiet}> : (tensor<f64>) -> ()
  %2 = acme.twice(%0) ({
  ^bb0(%x: tensor<f64>):
    %3 = acme.convert(%x) <{currency = "EUR"}> : (tensor<f64>) -> tensor<f64>
    acme.next(%3) : (tensor<f64>) -> ()
  }) : (tensor<f64>) -> tensor<f64>
  func.return(%1) : (tensor<f64>) -> ()
}) : () -> ()
)";

absl::Status RunPass(const PassInfo& info, Operation* function) {
  Statistics statistics;
  AnalysisManager analyses(function);
  PassContext services;
  services.statistics = &statistics;
  services.analyses = &analyses;
  return info.create(PassOptionValues())->Run(function, services).status();
}

absl::Status Run() {
  Context context;
  RegisterAllDialects(context);
  const auto rates = std::make_shared<const Rates>(Rates{{"EUR", 0.5}, {"JPY", 160}});
  TENON_RETURN_IF_ERROR(context.RegisterDialect(AcmeDialect(rates)));
  TENON_ASSIGN_OR_RETURN(const OwnedOp module, ParseModule(context, kProgram));
  Operation* function = module->region().front().front();

  // Folds by the dialect's own constants.
  OpBuilder builder(context);
  for (Operation& op : function->region().front()) {
    FoldResults results;
    if (!Fold(op, results)) continue;
    builder.SetInsertionPointBefore(&op);
    op.ReplaceAllUsesWith(MakeFolded(builder, op, results));
  }
  // dce and cse know the ops by their interfaces alone.
  TENON_RETURN_IF_ERROR(RunPass(CsePassInfo(), function));
  TENON_RETURN_IF_ERROR(RunPass(DcePassInfo(), function));
  TENON_RETURN_IF_ERROR(Verify(module.get()));
  std::printf("%s", Print(*module).c_str());
  const Type ledger = function->region().front().argument(0).type();
  std::printf("%s of %s\n", std::string(DialectNameOf(ledger)).c_str(),
              std::string(ParametersOf(ledger)[0].str()).c_str());

  const absl::Status no_type = ParseType(context, "!acme.ledger<1.5>").status();
  std::printf("status: %s\n", std::string(no_type.message()).c_str());
  const absl::Status wrong = ParseModule(context, R"(
func.func() <{function_type = (tensor<f64>) -> tensor<f64>, sym_name = "main"}> ({
^bb0(%x: tensor<f64>):
  %0 = acme.convert(%x) <{currency = "XYZ"}> : (tensor<f64>) -> tensor<f64>
  func.return(%0) : (tensor<f64>) -> ()
}) : () -> ()
)")
                                 .status();
  std::printf("status: %s\n", std::string(wrong.message()).c_str());
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
