#include "frontends/debug/fragment.h"

#include <algorithm>
#include <set>

#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/context/context.h"
#include "ir/dialect/func_ops.h"

namespace tenon {
namespace {

class FragmentBuilder {
 public:
  FragmentBuilder(const std::function<bool(const Operation*)>& is_inside,
                  std::vector<Value>& inputs)
      : is_inside_(is_inside), inputs_(inputs) {}

  void Need(Value value) {
    Operation* const op = value.defining_op();
    if (op != nullptr && (is_inside_(op) || op->Has(Trait::kConstantLike))) {
      Visit(op);
    } else if (std::find(inputs_.begin(), inputs_.end(), value) == inputs_.end()) {
      inputs_.push_back(value);
    }
  }
  const std::vector<Operation*>& ops() const { return ops_; }

 private:
  void Visit(Operation* op) {
    if (!seen_.insert(op).second) return;
    op->Walk([&](Operation* inner) {
      for (OpOperand& operand : inner->operands()) {
        if (!operand.get() || IsDefinedIn(*op, operand.get())) continue;
        Need(operand.get());
      }
    });
    ops_.push_back(op);
  }
  static bool IsDefinedIn(const Operation& op, Value value) {
    if (const Operation* def = value.defining_op()) return def != &op && op.IsAncestorOf(def);
    const Operation* const owner = value.argument_owner()->parent_op();
    return owner != nullptr && op.IsAncestorOf(owner);
  }

  const std::function<bool(const Operation*)>& is_inside_;
  std::vector<Value>& inputs_;
  std::set<Operation*> seen_;
  std::vector<Operation*> ops_;  // operands first
};

}  // namespace

OwnedOp MakeFragment(std::span<const Value> results,
                     const std::function<bool(const Operation* op)>& is_inside,
                     std::vector<Value>& inputs) {
  TENON_CHECK(!results.empty());
  Context& context = results[0].type().context();
  FragmentBuilder fragment(is_inside, inputs);
  for (Value result : results) fragment.Need(result);
  std::vector<Type> input_types, result_types;
  for (Value input : inputs) input_types.push_back(input.type());
  for (Value result : results) result_types.push_back(result.type());
  OwnedOp module = CreateModule(context);
  Operation* const function =
      CreateFunction(module.get(), "main", Type::Function(context, input_types, result_types));
  Block& body = function->region().front();
  IrMapping mapping;
  for (unsigned i = 0; i < inputs.size(); ++i) mapping.Map(inputs[i], body.argument(i));
  for (Operation* op : fragment.ops()) {
    Operation* const copy = Clone(*op, mapping);
    for (unsigned r = 0; r < op->num_results(); ++r) mapping.Map(op->result(r), copy->result(r));
    body.Append(copy);
  }
  std::vector<Value> returned;
  for (Value result : results) returned.push_back(mapping.Lookup(result));
  OpBuilder builder = OpBuilder::AtEnd(context, &body);
  TENON_CHECK(func::ReturnOp::Create(builder, Location(), returned).ok());
  return module;
}

}  // namespace tenon
