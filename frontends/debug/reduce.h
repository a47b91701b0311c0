// Reducing a program to the smallest one that still shows something.
//
//   auto crashes = [](const Operation& module) { return !Try(module).ok(); };
//   absl::StatusOr<OwnedOp> small = Reduce(*model.module(), crashes);
#ifndef TENON_FRONTENDS_DEBUG_REDUCE_H_
#define TENON_FRONTENDS_DEBUG_REDUCE_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "ir/core/operation.h"

namespace tenon {

// Tells whether a program still shows what is looked for. Gets modules that verify. It may change
// nothing in them: clone what you transform.
using ReducePredicate = std::function<bool(const Operation& module)>;

// How Reduce works.
struct ReduceOptions {
  int64_t most_tries = 2000;  // calls of the predicate
  bool shrink_dims = true;    // also makes dimensions smaller, and symbolic ones constant
};

// What Reduce did.
struct ReduceReport {
  int64_t tries = 0;       // calls of the predicate
  int64_t ops_before = 0,  // operations in the body of the function before
      ops_after = 0;       // and after
};

// Returns a smaller copy of `module` for which `holds`. Only the main function (Model::main)
// changes; other functions go if nothing calls them. Repeats these steps until none helps:
//
//   1. returns fewer values, or a value that is computed earlier
//   2. replaces the results of operations by arguments
//   3. replaces an operation by one of its operands, where the types agree
//   4. makes symbolic dimensions constant, and constant ones smaller, down to 1
//
// Operations without use and arguments without use go each time. Names of arguments and results go,
// too. The result is the same for the same program and predicate. InvalidArgument if the module has
// no main function of one block, or if `holds` is false for it. `report` may be null.
absl::StatusOr<OwnedOp> Reduce(const Operation& module, const ReducePredicate& holds,
                               const ReduceOptions& options = {}, ReduceReport* report = nullptr);

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_REDUCE_H_
