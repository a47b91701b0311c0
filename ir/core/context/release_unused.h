// Frees interned data that nobody uses. For programs that read many modules in one Context.
#ifndef TENON_IR_CORE_CONTEXT_RELEASE_UNUSED_H_
#define TENON_IR_CORE_CONTEXT_RELEASE_UNUSED_H_

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "ir/core/context/context.h"

namespace tenon {

class Operation;

// How many of each kind were freed.
struct ReleasedCounts {
  size_t types = 0;       // types
  size_t attributes = 0;  // attributes, large constants included
  size_t dims = 0;        // dimension expressions
  size_t locations = 0;   // locations
};

// Frees the types, attributes, dimension expressions and locations of `context` that are in use
// nowhere. In use is what `modules` and everything below them name, what registered dialects name,
// what an InternedRoots holds, and what these consist of. All other handles are invalid afterwards:
// those in variables of the caller, of its passes and of its hooks too.
//
// Returns FailedPrecondition, and frees nothing, if the Context has operations that are not below
// `modules`, or while a KeepUnusedBlobs lives: a parser, an importer or a run of passes. Requires
// that no other thread uses the Context. `modules` are detached operations, each named once.
absl::StatusOr<ReleasedCounts> ReleaseUnused(Context& context, std::span<Operation* const> modules);

// Returns the bytes of memory that `context` takes for types, attributes, dimension expressions and
// locations. Those of large constants are not among them (Context::live_blob_bytes). Thread-safe.
size_t InternedBytes(const Context& context);

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_RELEASE_UNUSED_H_
