// A program that a step of the reducer changes.
#ifndef TENON_FRONTENDS_DEBUG_REDUCE_PROGRAM_EDIT_H_
#define TENON_FRONTENDS_DEBUG_REDUCE_PROGRAM_EDIT_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ir/core/block.h"
#include "ir/core/operation.h"

namespace tenon::reduce {

// The size of a program, by which a smaller one is told: the first number that differs decides.
using ProgramSize = std::array<int64_t, 6>;
ProgramSize MeasureProgram(const Operation& module);

// True for an op that ends its block. An unregistered op does so at the end of a block.
bool EndsBlock(const Operation& op);
// True for operations that compute: neither modules, functions and other symbols, nor terminators.
bool Computes(const Operation& op);
// The number of such operations below a module.
int64_t NumComputingOps(const Operation& module);

// Changes a module and keeps it consistent: what loses its last use by a change goes with it.
class ProgramEdit {
 public:
  // `module` must outlive the edit.
  explicit ProgramEdit(Operation& module);

  Operation& module() const { return module_; }  // The module that is changed.
  // The ops below the module as it was at the start, each before those in its regions. Those that
  // were erased since are dangling.
  const std::vector<Operation*>& ops() const { return ops_; }
  // True if an op refers to the symbol of `function`.
  bool IsCalled(const Operation& function) const { return called_.contains(&function); }

  // Functions of the dialect func with a body to which nothing refers, so that their types may
  // change.
  std::vector<Operation*> FreeFunctions() const;

  // Erases an op whose results have no uses.
  void Erase(Operation* op);
  // Erases the ops that control no longer reaches from the entry of `region`.
  void EraseUnreachable(Region& region);
  // Returns a value that can take the place of `value` wherever that is used: a new argument of the
  // function around it, if nothing refers to that function, an earlier argument of the same type,
  // or a constant of zeros. Null if there is none.
  Value StandIn(Value value);

  // Ends the edit: erases what is no longer used, and sets the types of functions.
  void Finish();

 private:
  void Forget(Operation* op);

  Operation& module_;
  std::vector<Operation*> ops_;
  absl::flat_hash_set<const Operation*> called_;
  absl::flat_hash_set<const Operation*> erased_;
  absl::flat_hash_set<const Operation*> unused_before_;
};

}  // namespace tenon::reduce

#endif  // TENON_FRONTENDS_DEBUG_REDUCE_PROGRAM_EDIT_H_
