#include "ir/core/verify/symbol_table.h"

#include "ir/core/block.h"
#include "ir/core/context/context_impl.h"

namespace tenon {
namespace {

// Operations of a table that are looked at one by one, before an index is worth its time.
constexpr int kScanned = 32;

// The op in `table` with the trait kSymbol that the index has for `name`; null if there is none. A
// module of n functions is verified with n lookups, which must not take n steps each.
Operation* LookupIndexed(Operation* table, std::string_view name) {
  ContextImpl& impl = ImplOf(table->context());
  std::lock_guard<std::mutex> lock(impl.symbol_mutex);
  const uint64_t epoch = impl.symbol_epoch.load(std::memory_order_relaxed);
  if (impl.indexed_symbol_epoch != epoch) impl.symbols.clear();
  impl.indexed_symbol_epoch = epoch;
  auto [it, is_new] = impl.symbols.try_emplace(table);
  if (is_new) {
    for (unsigned i = 0; i < table->num_regions(); ++i) {
      for (Block& block : table->region(i)) {
        for (Operation& op : block) {
          if (op.Has(Trait::kSymbol)) it->second.try_emplace(SymbolName(op), &op);
        }
      }
    }
  }
  auto found = it->second.find(name);
  return found == it->second.end() ? nullptr : found->second;
}

}  // namespace

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
  int scanned = 0;
  for (unsigned i = 0; i < table->num_regions(); ++i) {
    for (Block& block : table->region(i)) {
      for (Operation& op : block) {
        if (SymbolName(op) == name) return &op;
        if (++scanned != kScanned) continue;
        if (Operation* indexed = LookupIndexed(table, name)) return indexed;
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
