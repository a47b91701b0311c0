#include "frontends/onnx/export/local_functions.h"

#include <algorithm>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/builder.h"
#include "ir/core/context/diagnostic.h"
#include "ir/dialect/func_ops.h"

namespace tenon::onnx {
namespace {

// "skip_layer_norm" gives "SkipLayerNorm".
std::string CamelCase(std::string_view name) {
  std::string camel;
  bool begins = true;
  for (const char c : name) {
    if (c != '_') camel += begins && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    begins = c == '_';
  }
  return camel;
}

// {core.name = ...} for each argument or result.
Attribute NameList(Context& context, const std::vector<std::string>& names) {
  std::vector<Attribute> entries;
  for (const std::string& name : names) {
    const NamedAttribute entry{context.Intern("core.name"), Attribute::Str(context, name)};
    entries.push_back(Attribute::Dictionary(context, std::span(&entry, 1)));
  }
  return Attribute::Array(context, entries);
}

// The name of each operand: that of its group in the definition, numbered in groups of several.
std::vector<std::string> OperandNames(const Operation& op) {
  std::vector<std::string> names;
  const OpDef& def = op.info().def();
  for (unsigned group = 0; group < def.operands.size(); ++group) {
    const auto [first, count] = op.operand_group(group);
    for (unsigned i = 0; i < count; ++i) {
      const std::string& name = def.operands[group].name;
      names.push_back(count == 1 ? name : fmt::format("{}_{}", name, i));
    }
  }
  return names;
}

class Outliner {
 public:
  explicit Outliner(absl::FunctionRef<absl::Status(Operation*)> lower) : lower_(lower) {}

  absl::Status Visit(Operation& op) {
    if (op.info().dialect() != "fused" || !op.has_uses()) return absl::OkStatus();
    for (OpOperand& operand : op.operands()) {
      if (!operand.get().type().is_tensor()) return absl::OkStatus();
    }
    std::vector<unsigned> used;
    for (unsigned i = 0; i < op.num_results(); ++i) {
      if (op.result(i).has_uses()) used.push_back(i);
    }
    LocalFunction made{.name = CamelCase(op.name().substr(op.name().find('.') + 1)), .module = {}};
    TENON_ASSIGN_OR_RETURN(made.module, FunctionOf(op, used));
    absl::Status lowered;
    {
      const ScopedDiagnosticHandler dropped(op.context(), {});
      lowered = lower_(made.module.get());
    }
    if (!lowered.ok()) return absl::OkStatus();
    Call(op, used);
    functions_.push_back(std::move(made));
    return absl::OkStatus();
  }

  std::vector<LocalFunction> Take() { return std::move(functions_); }

 private:
  static absl::StatusOr<OwnedOp> FunctionOf(const Operation& op,
                                            const std::vector<unsigned>& used) {
    Context& context = op.context();
    // Equal operations of different nodes get equal names.
    const Location location = Location::Name(context, op.name().substr(op.name().find('.') + 1));
    std::vector<Type> inputs, outputs;
    for (const OpOperand& operand : op.operands()) inputs.push_back(operand.get().type());
    std::vector<std::string> names;
    for (const unsigned i : used) {
      outputs.push_back(op.result(i).type());
      names.push_back(used.size() == 1 ? "result" : fmt::format("result_{}", i));
    }
    OwnedOp module = CreateModule(context, location);
    Operation* const function =
        CreateFunction(module.get(), "main", Type::Function(context, inputs, outputs), location);
    function->SetAttr("arg_attrs", NameList(context, OperandNames(op)));
    function->SetAttr("res_attrs", NameList(context, names));
    Block& body = function->region().front();
    Operation* const copy = Clone(op);
    copy->set_location(location);
    for (unsigned i = 0; i < copy->num_operands(); ++i) copy->set_operand(i, body.argument(i));
    OpBuilder builder = OpBuilder::AtEnd(context, &body);
    std::vector<Value> results;
    for (const unsigned i : used) results.push_back(copy->result(i));
    TENON_ASSIGN_OR_RETURN(const auto end, func::ReturnOp::Create(builder, location, results));
    copy->MoveBefore(end.op());
    return module;
  }

  void Call(Operation& op, const std::vector<unsigned>& used) {
    Context& context = op.context();
    const NamedAttribute entries[] = {
        {context.Intern(kCallee), Attribute::I64(context, static_cast<int64_t>(functions_.size()))},
        {context.Intern("domain"), Attribute::Str(context, kFunctionDomain)},
        {context.Intern("opset"), Attribute::I64(context, 1)}};
    OperationState state;
    state.info = context.GetUnregisteredOp(fmt::format("onnx.{}.Call", kFunctionDomain));
    state.location = op.location();
    state.slots.push_back(Attribute::Dictionary(context, entries));
    for (const OpOperand& operand : op.operands()) state.operands.push_back(operand.get());
    for (const unsigned i : used) state.result_types.push_back(op.result(i).type());
    OpBuilder builder = OpBuilder::Before(&op);
    Operation* const call = builder.Create(state);
    for (unsigned i = 0; i < used.size(); ++i)
      op.result(used[i]).ReplaceAllUsesWith(call->result(i));
    op.Erase();
  }

  absl::FunctionRef<absl::Status(Operation*)> lower_;
  std::vector<LocalFunction> functions_;
};

}  // namespace

absl::StatusOr<std::vector<LocalFunction>> OutlineFused(
    Operation& function, absl::FunctionRef<absl::Status(Operation*)> lower) {
  function.context().AllowUnregisteredDialect("onnx");
  std::vector<Operation*> ops;
  function.Walk([&](Operation* op) { ops.push_back(op); });
  Outliner outliner(lower);
  for (Operation* op : ops) TENON_RETURN_IF_ERROR(outliner.Visit(*op));
  return outliner.Take();
}

}  // namespace tenon::onnx
