// Lookup of operations by symbol name.
#ifndef TENON_IR_CORE_VERIFY_SYMBOL_TABLE_H_
#define TENON_IR_CORE_VERIFY_SYMBOL_TABLE_H_

#include <map>
#include <string>
#include <string_view>

#include "ir/core/operation.h"

namespace tenon {

// The symbols directly inside an op with the trait kSymbolTable, such as the functions of a module.
// A snapshot: make a new one after changes.
class SymbolTable {
 public:
  explicit SymbolTable(Operation* table);  // Reads the symbols of `table`.
  // Null if there is no such symbol.
  Operation* Lookup(std::string_view name) const;

 private:
  std::map<std::string, Operation*, std::less<>> symbols_;
};

// The same for a single lookup, without building a table.
Operation* LookupSymbol(Operation* table, std::string_view name);
// Returns the op that `path` ("name", or "module::@name" for a symbol in a nested table) names. The
// first name is looked up in the nearest symbol table around `from`, each further one in the op
// found before. Null if there is none.
Operation* LookupSymbolFrom(const Operation& from, std::string_view path);
// Returns the nearest op with the trait kSymbolTable around `op`; null if there is none.
Operation* NearestSymbolTable(const Operation& op);
// Returns the attribute `sym_name`; empty if there is none.
std::string_view SymbolName(const Operation& op);

}  // namespace tenon

#endif  // TENON_IR_CORE_VERIFY_SYMBOL_TABLE_H_
