// Lookup of operations by symbol name.
#ifndef TENON_IR_CORE_SYMBOL_TABLE_H_
#define TENON_IR_CORE_SYMBOL_TABLE_H_

#include <map>
#include <string>
#include <string_view>

#include "ir/core/operation.h"

namespace tenon {

// The symbols directly inside an op with the SymbolTable trait. A snapshot: rebuild after changes.
class SymbolTable {
 public:
  explicit SymbolTable(Operation* table);
  Operation* Lookup(std::string_view name) const;  // null if there is none
 private:
  std::map<std::string, Operation*, std::less<>> symbols_;
};

// One lookup without building a table.
Operation* LookupSymbol(Operation* table, std::string_view name);
// The symbol name of an op; empty if it has none.
std::string_view SymbolName(const Operation& op);

}  // namespace tenon

#endif  // TENON_IR_CORE_SYMBOL_TABLE_H_
