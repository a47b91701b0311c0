// Putting the body of a function in the place of a call.
#ifndef TENON_TRANSFORMS_FUNCTIONS_INLINE_CALL_H_
#define TENON_TRANSFORMS_FUNCTIONS_INLINE_CALL_H_

#include <set>
#include <string>
#include <vector>

#include "ir/core/operation.h"
#include "transforms/shapes/dim_facts.h"

namespace tenon {

// The function that calls, as it changes with each call that is inlined.
struct Caller {
  // Reads the names of extents in `function`.
  explicit Caller(Operation* function);
  Operation* function;
  DimFacts facts;                              // what the extents of results are
  std::set<std::string, std::less<>> extents;  // names that the function has
  std::vector<Operation*> calls;               // those in bodies that were inlined
};

// Replaces `call` by a copy of the body of `callee`, a function with a body that is not around the
// call. Extents of the callee get the names that the caller has for them, and others get names that
// the caller does not have. `caller` learns of them; its function must be resolved with its facts
// at the end.
//
// Returns false, and changes nothing, in three cases. The callee has several blocks and the call is
// not in a block of a function. An extent of the callee has no name in the caller. The types of
// results are not those of the call where their users need the same type.
bool InlineCall(Operation* call, Operation* callee, Caller& caller);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_FUNCTIONS_INLINE_CALL_H_
