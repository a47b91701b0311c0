// Functions and other symbols, and bodies of functions.
#include "frontends/debug/reduce/step.h"
#include "ir/dialect/func_ops.h"

namespace tenon::reduce {
namespace {

// Drops symbols and what they hold. Those that are in use make the program wrong.
class DropSymbols : public Step {
 public:
  size_t Count(ProgramEdit& edit) const override { return Places(edit).size(); }
  bool Change(ProgramEdit& edit, size_t first, size_t count) const override {
    const std::vector<Operation*> places = Places(edit);
    // A nested one comes behind those around it.
    for (size_t i = first + count; i-- > first;) edit.Erase(places[i]);
    return true;
  }

 private:
  static std::vector<Operation*> Places(const ProgramEdit& edit) {
    std::vector<Operation*> places;
    for (Operation* op : edit.ops()) {
      if (op->Has(Trait::kSymbol) || op->Has(Trait::kSymbolTable)) places.push_back(op);
    }
    return places;
  }
};

// Makes declarations of functions.
class DropBodies : public Step {
 public:
  size_t Count(ProgramEdit& edit) const override { return Places(edit).size(); }
  bool Change(ProgramEdit& edit, size_t first, size_t count) const override {
    const std::vector<Operation*> places = Places(edit);
    for (size_t i = first; i < first + count; ++i) {
      // A function of the same name and type.
      OperationState state;
      state.info = &places[i]->info();
      state.location = places[i]->location();
      state.slots.assign(places[i]->slots().begin(), places[i]->slots().end());
      state.discardable = places[i]->discardable_attrs();
      state.num_regions = 1;
      places[i]->block()->Insert(Operation::Create(state), places[i]);
      edit.Erase(places[i]);
    }
    return true;
  }

 private:
  static std::vector<Operation*> Places(const ProgramEdit& edit) {
    std::vector<Operation*> places;
    for (Operation* op : edit.ops()) {
      if (Isa<func::FuncOp>(op) && !op->region().empty()) places.push_back(op);
    }
    return places;
  }
};

}  // namespace

void AddSymbolSteps(Steps& steps) {
  steps.push_back(std::make_unique<DropSymbols>());
  steps.push_back(std::make_unique<DropBodies>());
}

}  // namespace tenon::reduce
