// Extents that only a value has: what becomes of their names when nothing reads the value.
#ifndef TENON_IR_CORE_DEFINED_DIMS_H_
#define TENON_IR_CORE_DEFINED_DIMS_H_

#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ir/core/operation.h"

namespace tenon {

// Returns the symbols in the type of a result that come with this value: no operand of its
// operation, no attribute of it and no argument around it has them. The count of ten.nonzero is
// one, and so is an extent on which the branches of a ctl.if do not agree. An attribute elsewhere,
// such as `shape` of ten.expand, may name the symbol without reading the value.
std::vector<std::string_view> DefinedDims(Value result);

// Returns true if a result of the operation has such a symbol. A pass that removes operations
// without uses leaves these to `dce`, which knows the attributes of the whole function.
bool DefinesDims(const Operation& op);

// Returns the symbols that attributes of operations inside `root` name.
absl::flat_hash_set<std::string_view> SymbolsInAttributes(Operation& root);

}  // namespace tenon

#endif  // TENON_IR_CORE_DEFINED_DIMS_H_
