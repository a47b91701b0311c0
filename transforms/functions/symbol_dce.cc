// symbol-dce: removes private symbols that nothing in use refers to.
#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/core/block.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/core/verify/symbol_uses.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

class SymbolDce {
 public:
  int64_t Run(Operation* module) {
    Use(module);
    while (!work_.empty()) {
      Operation* const op = work_.back();
      work_.pop_back();
      Scan(*op);
    }
    std::vector<Operation*> dead;
    module->WalkPreOrder([&](Operation* op) {
      if (IsRemovable(*op) && !used_.contains(op)) dead.push_back(op);
      return true;
    });
    // What is inside of a dead symbol goes with it.
    int64_t removed = 0;
    for (auto it = dead.rbegin(); it != dead.rend(); ++it) {
      (*it)->Erase();
      ++removed;
    }
    return removed;
  }

 private:
  static bool IsRemovable(const Operation& op) {
    const Operation* const parent = op.parent_op();
    return (op.Has(Trait::kSymbol) || op.Has(Trait::kSymbolTable)) && !SymbolName(op).empty() &&
           !IsPublicSymbol(op) && parent != nullptr && parent->Has(Trait::kSymbolTable) &&
           !op.has_uses();
  }

  void Use(Operation* op) {
    if (used_.insert(op).second) work_.push_back(op);
  }

  // What an op in use refers to, and what it holds except symbols that may be removed.
  void Scan(Operation& op) {
    ForEachSymbolRef(op, [&](std::string_view path) { UsePath(op, path); });
    for (unsigned r = 0; r < op.num_regions(); ++r) {
      for (Block& block : op.region(r)) {
        for (Operation& inner : block) {
          if (!IsRemovable(inner)) Use(&inner);
        }
      }
    }
  }

  // As SymbolsOnPath, with tables that are kept: modules may have many symbols.
  void UsePath(const Operation& op, std::string_view path) {
    Operation* table = NearestSymbolTable(op);
    while (table != nullptr) {
      const size_t end = path.find("::@");
      std::unique_ptr<SymbolTable>& symbols = tables_[table];
      if (symbols == nullptr) symbols = std::make_unique<SymbolTable>(table);
      Operation* const symbol = symbols->Lookup(path.substr(0, end));
      if (symbol != nullptr) Use(symbol);
      if (symbol == nullptr || end == std::string_view::npos) return;
      path.remove_prefix(end + 3);
      table = symbol;
    }
  }

  absl::flat_hash_set<Operation*> used_;
  std::vector<Operation*> work_;
  absl::flat_hash_map<Operation*, std::unique_ptr<SymbolTable>> tables_;
};

class SymbolDcePass : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* module, PassContext& context) override {
    const int64_t removed = SymbolDce().Run(module);
    if (removed > 0) context.statistics->Add("symbols-removed", removed);
    return PassResult{removed > 0};
  }
};

}  // namespace

PassInfo SymbolDcePassInfo() {
  PassInfo info;
  info.anchor = "builtin.module";
  info.statistics = {{"symbols-removed", "private functions and others that nothing refers to"}};
  info.create = [](const PassOptionValues&) { return std::make_unique<SymbolDcePass>(); };
  return info;
}

}  // namespace tenon
