// References to symbols: the attributes @name and @module::@name of operations.
#ifndef TENON_IR_CORE_VERIFY_SYMBOL_USES_H_
#define TENON_IR_CORE_VERIFY_SYMBOL_USES_H_

#include <functional>
#include <string_view>
#include <vector>

#include "ir/core/operation.h"

namespace tenon {

// Calls `visit` with the path of each symbol reference in the attributes of `op`, also of those
// inside of arrays and dictionaries. Leaves out the ops in its regions.
void ForEachSymbolRef(const Operation& op, const std::function<void(std::string_view path)>& visit);

// Returns the ops that a path names, as seen from `from`: the nested tables on the way and, last,
// the symbol itself. Shorter than the path if a name is not found.
std::vector<Operation*> SymbolsOnPath(const Operation& from, std::string_view path);

// Returns the operations inside `root` that refer to `symbol`, in the order of the text. Takes time
// in proportion to the size of `root` and of the symbol tables that are asked.
std::vector<Operation*> SymbolUsers(Operation& root, const Operation& symbol);

// True for a symbol that other modules may refer to: `sym_visibility` is neither "private" nor
// "nested".
bool IsPublicSymbol(const Operation& symbol);

}  // namespace tenon

#endif  // TENON_IR_CORE_VERIFY_SYMBOL_USES_H_
