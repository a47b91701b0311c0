#include "ir/core/symbol_table.h"

#include "ir/core/block.h"

namespace tenon {

std::string_view SymbolName(const Operation& op) {
  Attribute name = op.attr("sym_name");
  return name && name.kind() == Attribute::Kind::kString ? name.str() : std::string_view();
}

SymbolTable::SymbolTable(Operation* table) {
  for (unsigned i = 0; i < table->num_regions(); ++i) {
    for (Block& block : table->region(i)) {
      for (Operation& op : block) {
        if (std::string_view name = SymbolName(op); !name.empty())
          symbols_.emplace(std::string(name), &op);
      }
    }
  }
}

Operation* SymbolTable::Lookup(std::string_view name) const {
  auto it = symbols_.find(name);
  return it == symbols_.end() ? nullptr : it->second;
}

Operation* LookupSymbol(Operation* table, std::string_view name) {
  for (unsigned i = 0; i < table->num_regions(); ++i) {
    for (Block& block : table->region(i)) {
      for (Operation& op : block) {
        if (SymbolName(op) == name) return &op;
      }
    }
  }
  return nullptr;
}

Operation* NearestSymbolTable(const Operation& op) {
  Operation* table = op.parent_op();
  while (table != nullptr && !table->Has(Trait::kSymbolTable)) table = table->parent_op();
  return table;
}

Operation* LookupSymbolFrom(const Operation& from, std::string_view path) {
  Operation* at = NearestSymbolTable(from);
  while (at != nullptr) {
    const size_t end = path.find("::@");
    at = LookupSymbol(at, path.substr(0, end));
    if (end == std::string_view::npos) return at;
    path.remove_prefix(end + 3);
  }
  return nullptr;
}

}  // namespace tenon
