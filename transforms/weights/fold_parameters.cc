// fold-parameters: reads of parameters that have a value become constants, except those of
// replaceable parameters.
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/core/verify/symbol_uses.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/replaceable.h"
#include "pass/rewrite_step.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

bool MayHaveParameters(const Operation& module) {
  bool found = false;
  const_cast<Operation&>(module).WalkPreOrder([&](Operation* op) {
    found |= Isa<core::ParameterOp>(op);
    return !found;
  });
  return found;
}

class FoldParameters : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* module, PassContext& context) override {
    if (!MayHaveParameters(*module)) return PassResult();
    if (!BeginStep(context,
                   {.kind = RewriteStep::Kind::kPass, .name = "fold-parameters", .op = module}))
      return PassResult();
    const absl::StatusOr<PassResult> result = Fold(module, context);
    EndStep(context);
    return result;
  }

 private:
  static absl::StatusOr<PassResult> Fold(Operation* module, PassContext& context) {
    std::vector<Operation*> reads, parameters;
    module->WalkPreOrder([&](Operation* op) {
      if (Isa<core::GetParameterOp>(op)) reads.push_back(op);
      if (Isa<core::ParameterOp>(op)) parameters.push_back(op);
      return true;
    });
    absl::flat_hash_set<const Operation*> folded;
    for (Operation* read : reads) {
      const auto get = Cast<core::GetParameterOp>(read);
      const auto parameter =
          DynCast<core::ParameterOp>(LookupSymbolFrom(*read, read->attr("name").str()));
      if (!parameter || !parameter.value() || parameter.value().type() != get.out().type() ||
          parameter->attr(kReplaceable)) {
        continue;
      }
      // The name stays with the constant, so that unfold-parameters gives it back.
      OpBuilder builder = OpBuilder::Before(read);
      const Location name = Location::Name(read->context(), parameter.sym_name());
      const auto constant = core::ConstantOp::Create(builder, name, {.value = parameter.value()});
      if (!constant.ok()) return constant.status();
      read->result().ReplaceAllUsesWith(constant->out());
      read->Erase();
      folded.insert(parameter.op());
      context.statistics->Add("reads-folded", 1);
    }
    if (folded.empty()) return PassResult();
    // Parameters that nobody reads any more.
    absl::flat_hash_set<const Operation*> in_use;
    module->WalkPreOrder([&](Operation* op) {
      ForEachSymbolRef(*op, [&](std::string_view path) {
        for (const Operation* symbol : SymbolsOnPath(*op, path)) in_use.insert(symbol);
      });
      return true;
    });
    for (Operation* parameter : parameters) {
      if (folded.contains(parameter) && !in_use.contains(parameter)) parameter->Erase();
    }
    return PassResult{true};
  }
};

}  // namespace

PassInfo FoldParametersPassInfo() {
  PassInfo info;
  info.anchor = "builtin.module";
  info.statistics = {{"reads-folded", "reads of parameters that became constants"}};
  info.steps = PassSteps::kEach;  // none where there are no parameters
  info.create = [](const PassOptionValues&) { return std::make_unique<FoldParameters>(); };
  return info;
}

}  // namespace tenon
