// Changing IR so that a listener learns of each change.
#ifndef TENON_IR_CORE_REWRITE_REWRITER_H_
#define TENON_IR_CORE_REWRITE_REWRITER_H_

#include <span>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ir/core/builder.h"

namespace tenon {

// An OpBuilder that also replaces, erases and changes, and tells its listener of everything. Code
// that a driver calls, such as a RewritePattern (pass/rewrite_pattern.h), changes IR through it and
// in no other way.
//
// Misuse ends the program in every build, before anything is read or written out of bounds: see
// each function for what it requires.
class Rewriter : public OpBuilder {
 public:
  // `listener` may be null. It must outlive the rewriter.
  explicit Rewriter(Context& context, IrListener* listener = nullptr) : OpBuilder(context) {
    set_listener(listener);
  }

  // ---- replacing and erasing

  // Gives the uses of the results of `op` to `values` and erases `op`. Requires one value per
  // result; that of a result without uses may be null.
  void Replace(Operation* op, std::span<const Value> values);
  void Replace(Operation* op, Value value) { Replace(op, {&value, 1}); }
  // Creates an op of the generated class `Op` before `op`, at its location, and replaces `op` with
  // it. `args` are those of Op::Create behind the location. Returns the error of Op::Create, and
  // changes nothing then. The insertion point stays where it was.
  template <typename Op, typename... Args>
  absl::StatusOr<Op> ReplaceWith(Operation* op, Args&&... args) {
    OpBuilder before = OpBuilder::Before(op);
    before.set_listener(listener());
    absl::StatusOr<Op> made = Op::Create(before, op->location(), std::forward<Args>(args)...);
    if (made.ok()) ReplaceByResultsOf(op, made->op());
    return made;
  }
  // Replaces `op` by the results of `made`, of which it must have as many.
  void ReplaceByResultsOf(Operation* op, Operation* made);
  // Gives all uses of `was` to `now`, another value.
  void ReplaceAllUses(Value was, Value now);
  // Gives those uses of `was` to `now` for which `take` returns true.
  void ReplaceUsesIf(Value was, Value now, absl::FunctionRef<bool(const OpOperand&)> take);
  // Erases `op` with everything inside. Requires that its results have no uses. An insertion point
  // before `op`, or inside, moves behind it.
  void Erase(Operation* op);
  // Erases `block` and its ops. Requires that no terminator has it as a successor, and that nothing
  // outside of it uses its values. An insertion point inside is cleared.
  void Erase(Block* block);

  // ---- changing an op in place

  // Calls `change`, which may change operands, attributes, successors and result types of `op`, and
  // nothing else. It must not give `op` more operands, which makes another op of it:
  // SetOperandGroup.
  void Modify(Operation* op, absl::FunctionRef<void()> change);
  // Operation::set_operand, with `i` checked.
  void SetOperand(Operation* op, unsigned i, Value value);
  // Operation::SetAttr.
  void SetAttr(Operation* op, std::string_view name, Attribute value);
  // The functions of edit.h. An op that takes the place of another one is told as created, its
  // results with uses as replaced, and the other one as erased.
  Operation* SetOperandGroup(Operation* op, unsigned group, std::span<const Value> values);
  // InsertOperands of edit.h. Checks `at`.
  Operation* InsertOperands(Operation* op, unsigned at, std::span<const Value> values);
  // EraseOperands of edit.h.
  void EraseOperands(Operation* op, unsigned first, unsigned count);
  // Moves `op` before or behind `other`, another op that is in a block.
  void MoveBefore(Operation* op, Operation* other);
  // Moves `op` behind `other`, which is not inside of it.
  void MoveAfter(Operation* op, Operation* other);
  // Inserts a copy of `op` at the insertion point and returns it (clone.h).
  Operation* InsertClone(const Operation& op, IrMapping& mapping);

  // ---- blocks

  // Appends an empty block to `region` and returns it.
  Block* AddBlock(Region& region);
  // The functions of edit.h. A moved op is told as modified.
  Block* SplitBlock(Operation* first);
  // InlineBlock of edit.h. An insertion point in `from` goes where its ops go.
  void InlineBlock(Block* from, Block* to, Operation* before, std::span<const Value> arguments);
  // Appends `from` to `to`: InlineBlock at its end.
  void MergeBlocks(Block* from, Block* to, std::span<const Value> arguments) {
    InlineBlock(from, to, nullptr, arguments);
  }
  // Moves all blocks of `from` to the end of `to`.
  void MoveBlocks(Region& from, Region& to);

 private:
  void Modified(Operation* op) {
    if (listener() != nullptr) listener()->Modified(op);
  }
  void TellMoved(Operation* first, Operation* end);
  void TellErased(Operation* op);
  Operation* TellRemade(Operation* op, absl::FunctionRef<Operation*()> edit, bool grows);
};

}  // namespace tenon

#endif  // TENON_IR_CORE_REWRITE_REWRITER_H_
