// Branches and loops.
#include <limits>
#include <utility>

#include "frontends/onnx/export/lowering.h"
#include "frontends/onnx/file/tensor.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/ctl_ops.h"
#include "transforms/expand/formula.h"

namespace tenon::onnx {
namespace {

bool IsNumber(Value value, int64_t number) {
  Operation* op = value.defining_op();
  return op != nullptr && Isa<core::ConstantOp>(op) &&
         core::ConstantOp(op).value().ElementAsInt(0) == number;
}

std::vector<Value> OperandsFrom(Operation& op, unsigned first) {
  std::vector<Value> values;
  for (unsigned i = first; i < op.num_operands(); ++i) values.push_back(op.operand(i));
  return values;
}

void MoveOps(Block& from, Block& to) {
  for (Operation *op = from.front(), *next; op != nullptr; op = next) {
    next = op->next();
    op->RemoveFromBlock();
    to.Append(op);
  }
}

// Takes the terminator of a block away. Returns its operands.
std::vector<Value> TakeTerminator(Block& block) {
  Operation* terminator = block.back();
  std::vector<Value> values = OperandsFrom(*terminator, 0);
  terminator->Erase();
  return values;
}

Type ScalarOf(Context& context, DType dtype) {
  return Type::Tensor(context, dtype, std::span<const int64_t>());
}

void If(Lowering& l) {
  constexpr std::string_view kGraphs[] = {"then_branch", "else_branch"};
  Operation& op = l.op();
  std::vector<unsigned> used;
  for (unsigned i = 0; i < op.num_results(); ++i) {
    if (op.result(i).has_uses()) used.push_back(i);
  }
  if (used.empty() && op.num_results() > 0) used.push_back(0);
  Operation* node = l.Nodes("If", {op.operand(0)}, {}, used.size(), kGraphs);
  if (node == nullptr) return;
  std::vector<Value> results(op.num_results());
  for (unsigned i = 0; i < 2; ++i) {
    node->region(i).TakeBody(op.region(i));
    Block& block = node->region(i).front();
    const std::vector<Value> all = TakeTerminator(block);
    std::vector<Value> yielded;
    for (const unsigned k : used) yielded.push_back(all[k]);
    l.Yield(block, yielded);
  }
  for (unsigned i = 0; i < used.size(); ++i) results[used[i]] = node->result(i);
  l.Done(results);
}

// The stacked results of a Loop, which lie along axis 0 in the order of the iterations.
Value Stacked(Lowering& l, Value value, const LoopScan& scan, Type type) {
  if (scan.reverse) {
    constexpr int64_t kFirst = std::numeric_limits<int64_t>::min() + 1;
    value = l.Node("Slice", {value, l.Ints({-1}), l.Ints({kFirst}), l.Ints({0}), l.Ints({-1})});
  }
  if (scan.axis == 0 || !type.is_tensor()) return value;
  std::vector<int64_t> perm;
  for (int64_t axis = 0; axis < type.rank(); ++axis) {
    perm.push_back(axis < scan.axis ? axis + 1 : axis == scan.axis ? 0 : axis);
  }
  return l.Transpose(value, perm);
}

// A node Loop for `l.op()`: `trips` or `condition` may be null. `body` fills the block, whose
// arguments are the iteration, the condition and the carried values.
template <typename Body>
void MakeLoop(Lowering& l, Value trips, Value condition, const std::vector<Value>& carried,
              std::span<const Value> arguments, const Body& body) {
  constexpr std::string_view kGraphs[] = {"body"};
  Operation& op = l.op();
  const LoopParts parts = PartsOfLoop(op);
  std::vector<Value> inputs = {trips, condition};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  Operation* node = l.Nodes("Loop", inputs, {}, op.num_results(), kGraphs);
  if (node == nullptr) return;
  Block& block = *node->region().AddBlock();
  block.AddArgument(ScalarOf(l.context(), DType::kI64), op.location());
  block.AddArgument(ScalarOf(l.context(), DType::kBool), op.location());
  for (const Value argument : arguments) block.AddArgument(argument.type(), argument.location());
  body(block);
  std::vector<Value> results;
  const size_t stacked = op.num_results() - parts.scans.size();
  for (unsigned i = 0; i < op.num_results(); ++i) {
    const Value value = node->result(i);
    results.push_back(
        i < stacked ? value : Stacked(l, value, parts.scans[i - stacked], op.result(i).type()));
  }
  l.Done(results);
}

void For(Lowering& l, const ctl::ForOp& op) {
  Operation& loop = l.op();
  Block& old = loop.region().front();
  const Value lower = loop.operand(0), upper = loop.operand(1), step = loop.operand(2);
  const bool plain = IsNumber(lower, 0) && IsNumber(step, 1);
  OpFormula f(loop);
  Value trips = upper;
  if (!plain) {
    // (upper - lower) / step, rounded away from 0.
    const Value distance = f.Sub(f.Sub(upper, lower), f.Make<ten::SignOp>(step));
    trips = f.Div(f.Add(distance, step), step);
  }
  if (!f.ok()) return l.Fail("its trip count");
  std::vector<Value> arguments;
  for (unsigned i = 1; i < old.num_arguments(); ++i) arguments.push_back(old.argument(i));
  MakeLoop(l, trips, Value(), op.inits(), arguments, [&](Block& block) {
    std::vector<Value> yielded = {block.argument(1)};
    MoveOps(old, block);
    for (unsigned i = 1; i < old.num_arguments(); ++i) {
      old.argument(i).ReplaceAllUsesWith(block.argument(i + 1));
    }
    Value counter = block.argument(0);
    if (!plain && old.argument(0).has_uses()) {
      OpFormula inner(*block.front());
      counter = inner.Add(inner.Mul(counter, step), lower);
    }
    if (old.argument(0).has_uses()) old.argument(0).ReplaceAllUsesWith(counter);
    for (const Value value : TakeTerminator(block)) yielded.push_back(value);
    l.Yield(block, yielded);
  });
}

// The region `before` decides about the first iteration in front of the loop, and about each next
// one at the end of the body.
void While(Lowering& l, const ctl::WhileOp& op) {
  Operation& loop = l.op();
  Block& before = loop.region(0).front();
  Block& after = loop.region(1).front();
  IrMapping mapping;
  const std::vector<Value> inits = op.inits();
  for (unsigned i = 0; i < before.num_arguments(); ++i) mapping.Map(before.argument(i), inits[i]);
  for (Operation& inner : before) {
    if (&inner != before.back()) l.builder().Insert(Clone(inner, mapping));
  }
  std::vector<Value> passed;
  for (const Value value : OperandsFrom(*before.back(), 0)) passed.push_back(mapping.Lookup(value));
  const Value condition = passed[0];
  passed.erase(passed.begin());
  std::vector<Value> arguments;
  for (unsigned i = 0; i < after.num_arguments(); ++i) arguments.push_back(after.argument(i));
  MakeLoop(l, Value(), condition, passed, arguments, [&](Block& block) {
    MoveOps(after, block);
    for (unsigned i = 0; i < after.num_arguments(); ++i) {
      after.argument(i).ReplaceAllUsesWith(block.argument(i + 2));
    }
    const std::vector<Value> next = TakeTerminator(block);
    MoveOps(before, block);
    for (unsigned i = 0; i < before.num_arguments(); ++i) {
      if (before.argument(i).has_uses()) before.argument(i).ReplaceAllUsesWith(next[i]);
    }
    std::vector<Value> yielded = TakeTerminator(block);
    yielded.insert(yielded.end(), next.begin() + before.num_arguments(), next.end());
    l.Yield(block, yielded);
  });
}

bool IsIf(const Operation& op) { return Isa<ctl::IfOp>(op) || op.name() == "onnx.If"; }

// A Gather whose only position is out of range where it runs. The position follows from the
// condition of the If around it, so that no engine looks it up while it loads the model.
void FailAtRunTime(Lowering& l, const ctl::FailOp& op) {
  const Operation* inner = &l.op();
  Operation* outer = inner->parent_op();
  while (outer != nullptr && !IsIf(*outer)) inner = std::exchange(outer, outer->parent_op());
  if (outer == nullptr) return l.Fail("no node fails in each run");
  Value taken = outer->operand(0);
  if (inner->block()->parent() != &outer->region(0)) taken = l.Node("Not", {taken});
  const Value position = l.Node("Cast", {taken}, {{"to", l.Int(OnnxTypeOf(DType::kI64))}});
  Value value = l.Node("Gather", {l.Ints({0}), position});
  const auto attrs = op.attrs();
  if (attrs.to != DType::kI64) {
    value = l.Node("Cast", {value}, {{"to", l.Int(OnnxTypeOf(attrs.to))}});
  }
  const std::vector<int64_t> ones(attrs.shape.size(), 1);
  l.Done(l.Node("Reshape", {value, l.Ints(ones)}));
}

}  // namespace

bool LowerControl(Lowering& l) {
  Operation& op = l.op();
  switch (op.id()) {
    case ctl::IfOp::kId:
      If(l);
      return true;
    case ctl::ForOp::kId:
      For(l, ctl::ForOp(&op));
      return true;
    case ctl::WhileOp::kId:
      While(l, ctl::WhileOp(&op));
      return true;
    case ctl::FailOp::kId:
      FailAtRunTime(l, ctl::FailOp(&op));
      return true;
    default:
      return false;
  }
}

}  // namespace tenon::onnx
