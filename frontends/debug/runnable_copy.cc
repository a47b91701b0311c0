#include "frontends/debug/runnable_copy.h"

#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/clone.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/dialect/calls_and_jumps.h"
#include "ir/dialect/func_ops.h"

namespace tenon {
namespace {

// The name of the copied module.
constexpr std::string_view kCopied = "copied";

Operation* Outermost(Operation* op) {
  while (op->parent_op() != nullptr) op = op->parent_op();
  return op;
}

// The operation of `copy` that stands where `op` stands in `root`.
Operation* CounterpartIn(Operation* copy, Operation* root, const Operation* op) {
  int64_t before = 0;
  root->WalkPreOrder([&](Operation* at) { return at != op && ++before > 0; });
  Operation* found = nullptr;
  copy->WalkPreOrder([&](Operation* at) {
    found = at;
    return --before >= 0;
  });
  return found;
}

// Adds @main to `module`: a function of the type of `function` that calls the symbol `path`.
void AddMain(Operation* module, const Operation& function, std::string_view path) {
  const Type type = function.attr("function_type").type();
  const Location location = function.location();
  Operation* const main = CreateFunction(module, "main", type, location);
  Block& body = main->region().front();
  std::vector<Value> arguments;
  for (unsigned i = 0; i < body.num_arguments(); ++i) arguments.push_back(body.argument(i));
  OpBuilder builder = OpBuilder::AtEnd(module->context(), &body);
  const absl::StatusOr<func::CallOp> call = func::CallOp::Create(
      builder, location, arguments, type.results(), {.callee = std::string(path)});
  TENON_CHECK(call.ok());
  const std::vector<Value> results = call->outs().vec();
  TENON_CHECK(func::ReturnOp::Create(builder, location, results).ok());
}

}  // namespace

bool PlacedFunction::HasCalls() const {
  return !function->WalkPreOrder([](Operation* op) { return !IsCall(*op); });
}

std::string SymbolPath(const Operation& function) {
  std::string path(SymbolName(function));
  for (const Operation* at = function.parent_op(); at != nullptr && at->parent_op() != nullptr;
       at = at->parent_op()) {
    path = fmt::format("{}::@{}", SymbolName(*at), path);
  }
  return path;
}

RunnableCopy CopyToRun(const std::shared_ptr<Context>& context, const PlacedFunction& from) {
  OwnedOp module = CreateModule(*context);
  Operation* const root = Outermost(from.place);
  OpBuilder builder = OpBuilder::AtEnd(*context, &module->region().front());
  if (root == from.place || !from.HasCalls()) {
    Operation* const copy = builder.Insert(Clone(*from.function));
    Operation* const around = module.get();
    return {Model(context, std::move(module)), copy, around};
  }
  Operation* const around = builder.Insert(Clone(*root));
  Operation* function = CounterpartIn(around, root, from.place);
  if (from.function != from.place) {
    Operation* const old = std::exchange(function, Clone(*from.function));
    old->block()->Insert(function, old);
    old->Erase();
  }
  around->SetAttr("sym_name", Attribute::Str(*context, kCopied));
  AddMain(module.get(), *function, SymbolPath(*function));
  return {Model(context, std::move(module)), function, around};
}

}  // namespace tenon
