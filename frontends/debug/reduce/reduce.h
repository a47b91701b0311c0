// Reducing a program to the smallest one that still shows something.
//
//   auto crashes = [](const Operation& module) { return !Try(module).ok(); };
//   absl::StatusOr<OwnedOp> small = Reduce(*model.module(), crashes);
#ifndef TENON_FRONTENDS_DEBUG_REDUCE_REDUCE_H_
#define TENON_FRONTENDS_DEBUG_REDUCE_REDUCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/operation.h"

namespace tenon {

class PassRegistry;

// Tells whether a program still shows what is looked for. Gets modules that verify. It may change
// nothing in them: clone what you transform.
using ReducePredicate = std::function<bool(const Operation& module)>;

// How Reduce works.
struct ReduceOptions {
  int64_t most_tries = 2000;  // calls of the predicate
  bool shrink_dims = true;    // also makes dimensions smaller, and symbolic ones constant
  // Pipelines of `registry` that may make the program smaller, such as "canonicalize" or
  // "apply-rules{file=simpler.drr}". Each is tried as a whole, and then in parts: its rewrites one
  // by one. The registry must outlive the call; it may be null if there are no pipelines.
  std::vector<std::string> pipelines{};
  const PassRegistry* registry = nullptr;  // see pipelines
  // Is told of each smaller program that was found, and of the calls so far. May be empty.
  std::function<void(const Operation& module, int64_t tries)> on_smaller{};
};

// What Reduce did.
struct ReduceReport {
  int64_t tries = 0;       // calls of the predicate
  int64_t ops_before = 0,  // operations before, without modules, functions and terminators
      ops_after = 0;       // and after
  bool complete = true;    // false if most_tries ended the search
};

// Returns a smaller copy of `module` for which `holds`. Repeats these steps until none helps:
//
//   1. drops functions and other symbols, and bodies of functions
//   2. replaces a jump by one of its ways, joins blocks, puts the body of an op in its place
//   3. drops operations. Arguments, or zeros in functions that are called, stand for their results
//   4. returns fewer values, or values that are computed earlier
//   5. replaces an operation by one of its operands, where the types agree
//   6. drops optional operands, makes others arguments, drops arguments without use
//   7. drops attributes, makes all elements of a constant the same
//   8. makes symbolic dimensions constant, and constant ones smaller, down to 1
//   9. runs `pipelines`
//
// Most steps try many places at once, then halves of them: Zeller and Hildebrandt, "Simplifying and
// Isolating Failure-Inducing Input" (2002). The result is the same for the same program and
// predicate. InvalidArgument if `holds` is false for `module`; the error of a pipeline that is
// wrong. `report` may be null.
absl::StatusOr<OwnedOp> Reduce(const Operation& module, const ReducePredicate& holds,
                               const ReduceOptions& options = {}, ReduceReport* report = nullptr);

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_REDUCE_REDUCE_H_
