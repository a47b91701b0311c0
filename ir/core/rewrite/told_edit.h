// Edits that make an op anew, and tell a listener. Private to ir/core/rewrite.
#ifndef TENON_IR_CORE_REWRITE_TOLD_EDIT_H_
#define TENON_IR_CORE_REWRITE_TOLD_EDIT_H_

#include <span>

#include "ir/core/operation.h"
#include "ir/core/rewrite/ir_listener.h"

namespace tenon {

// SetOperandGroup and InsertOperands of edit.h. If they make the op anew, the listener, which may
// be null, hears of the new op, of each result with uses that is replaced, and of the old op.
Operation* SetOperandGroup(Operation* op, unsigned group, std::span<const Value> values,
                           IrListener* listener);
Operation* InsertOperands(Operation* op, unsigned at, std::span<const Value> values,
                          IrListener* listener);

}  // namespace tenon

#endif  // TENON_IR_CORE_REWRITE_TOLD_EDIT_H_
