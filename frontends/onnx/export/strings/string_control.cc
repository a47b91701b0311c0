// Strings that control flow passes on: spans and text become one value, in the place of the spans.
#include <span>

#include "frontends/onnx/export/strings/string_values.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/ctl_ops.h"

namespace tenon::onnx {
namespace {

Operation* LoopOf(const Operation* op) {
  const bool is_loop = op != nullptr && (Isa<ctl::ForOp>(op) || Isa<ctl::WhileOp>(op));
  return is_loop ? const_cast<Operation*>(op) : nullptr;
}

// Where the first carried value is among the arguments of a region.
unsigned FirstArgument(const Operation& loop) { return Isa<ctl::ForOp>(&loop) ? 1 : 0; }

// The same among the operands of the terminator of a region: ctl.condition has the condition first.
unsigned FirstYielded(const Operation& terminator) {
  return Isa<ctl::ConditionOp>(&terminator) ? 1 : 0;
}

absl::StatusOr<Value> EmptyText(Operation& before) {
  Context& context = before.context();
  const int64_t size = 0;
  const Type type = Type::Tensor(context, DType::kU8, std::span(&size, 1));
  OpBuilder builder = OpBuilder::Before(&before);
  const Attribute none = Attribute::Elements(context, type, std::span<const std::byte>());
  TENON_ASSIGN_OR_RETURN(const auto made,
                         core::ConstantOp::Create(builder, before.location(), {.value = none}));
  return made.out();
}

}  // namespace

Value StringValues::OfControl(Value spans, Value text) {
  if (spans.is_result()) {
    Operation& op = *spans.defining_op();
    const bool together = text.is_result() && text.defining_op() == &op;
    if (Isa<ctl::IfOp>(&op)) return OfIf(op, spans, text);
    if (LoopOf(&op) == nullptr || !together) return Value();
    return OfCarried(op, spans.result_index(), text.result_index()) ? spans : Value();
  }
  Operation* const loop = LoopOf(spans.parent_block()->parent_op());
  if (loop == nullptr || text.is_result() || text.parent_block() != spans.parent_block())
    return Value();
  const unsigned first = FirstArgument(*loop);
  if (spans.argument_index() < first || text.argument_index() < first) return Value();
  const bool carried =
      OfCarried(*loop, spans.argument_index() - first, text.argument_index() - first);
  return carried ? spans : Value();
}

Value StringValues::OfIf(Operation& op, Value spans, Value text) {
  const bool together = text.is_result() && text.defining_op() == &op;
  const unsigned at = spans.result_index();
  std::vector<Value> strings;
  for (unsigned i = 0; i < op.num_regions(); ++i) {
    const Operation& yield = *op.region(i).front().back();
    strings.push_back(Of(yield.operand(at), together ? yield.operand(text.result_index()) : text));
    if (!strings.back()) return Value();
  }
  for (unsigned i = 0; i < op.num_regions(); ++i)
    op.region(i).front().back()->set_operand(at, strings[i]);
  if (together) texts_.push_back({&op, text.result_index()});
  return spans;
}

bool StringValues::OfCarried(Operation& loop, unsigned spans, unsigned text) {
  const LoopParts parts = PartsOfLoop(loop);
  if (spans >= parts.num_carried || text >= parts.num_carried) return false;
  const Value init =
      Of(loop.operand(parts.first_init + spans), loop.operand(parts.first_init + text));
  if (!init) return false;
  loop.set_operand(parts.first_init + spans, init);
  Note(loop.result(spans), loop.result(text), loop.result(spans));
  const unsigned first = FirstArgument(loop);
  for (unsigned i = 0; i < loop.num_regions(); ++i) {
    Block& body = loop.region(i).front();
    Note(body.argument(first + spans), body.argument(first + text), body.argument(first + spans));
    // What the body gives back can only be found when its operations have been visited.
    const unsigned yielded = FirstYielded(*body.back());
    yielded_.push_back({body.back(), yielded + spans, yielded + text});
  }
  texts_.push_back({&loop, text});
  return true;
}

Operation* StringValues::FindYielded() {
  while (!yielded_.empty()) {
    const auto [terminator, spans, text] = yielded_.back();
    yielded_.pop_back();
    const Value strings = Of(terminator->operand(spans), terminator->operand(text));
    if (!strings) return terminator;
    terminator->set_operand(spans, strings);
  }
  return nullptr;
}

absl::StatusOr<bool> StringValues::DropTexts() {
  bool changed = false;
  std::vector<Text> left;
  for (Text& text : texts_) {
    if (!text.op->result(text.result).has_uses()) {
      TENON_ASSIGN_OR_RETURN(const bool dropped, DropText(text, changed));
      if (dropped) continue;
    }
    left.push_back(text);
  }
  texts_ = std::move(left);
  return changed;
}

const Operation* StringValues::ReaderOfText() const {
  for (const Text& text : texts_) {
    if (text.passed_on) return text.op;
  }
  return nullptr;
}

// True if the text is gone.
absl::StatusOr<bool> StringValues::DropText(Text& text, bool& changed) {
  Operation& op = *text.op;
  if (LoopOf(&op) == nullptr) {
    for (unsigned i = 0; i < op.num_regions(); ++i) {
      Operation* const yield = op.region(i).front().back();
      TENON_ASSIGN_OR_RETURN(const Value empty, EmptyText(*yield));
      yield->set_operand(text.result, empty);
    }
    changed = true;
    return true;
  }
  // The iterations pass the first text on. Then operations that made the next ones are dead.
  const unsigned first = FirstArgument(op);
  bool is_read = false;
  for (unsigned i = 0; i < op.num_regions(); ++i) {
    Block& body = op.region(i).front();
    const Value argument = body.argument(first + text.result);
    if (!text.passed_on)
      body.back()->set_operand(FirstYielded(*body.back()) + text.result, argument);
    for (const OpOperand& use : argument.uses()) is_read |= use.owner() != body.back();
  }
  changed |= !text.passed_on;
  text.passed_on = true;
  if (is_read) return false;
  TENON_ASSIGN_OR_RETURN(const Value empty, EmptyText(op));
  op.set_operand(PartsOfLoop(op).first_init + text.result, empty);
  return changed = true;
}

}  // namespace tenon::onnx
