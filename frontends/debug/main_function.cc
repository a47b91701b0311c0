#include "frontends/debug/main_function.h"

#include "ir/core/block.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/dialect/func_ops.h"

namespace tenon {

Operation* MainFunction(const Operation& module) {
  Operation* only = nullptr;
  int bodies = 0;
  if (module.num_regions() == 0 || module.region().empty()) return nullptr;
  for (Operation& op : module.region().front()) {
    if (!Isa<func::FuncOp>(op) || op.region().empty()) continue;
    if (SymbolName(op) == "main") return &op;
    only = &op;
    ++bodies;
  }
  return bodies == 1 ? only : nullptr;
}

}  // namespace tenon
