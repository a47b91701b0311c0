// Large constants in flight: those that no operation holds.
#ifndef TENON_IR_CORE_KEEP_BLOBS_H_
#define TENON_IR_CORE_KEEP_BLOBS_H_

#include <cstdint>

#include "ir/core/context.h"

namespace tenon {

// As long as one lives, in any thread, Context::ReleaseUnusedBlobs frees nothing that an operation
// held or that was made since it began; what it was asked for is done when it goes. For whoever has
// large constants in attributes alone - not in an operation yet, or not any more - in a Context
// that another thread may release blobs of. The pass manager, the parser and the importers keep one
// while they work. Thread-safe.
class KeepUnusedBlobs {
 public:
  explicit KeepUnusedBlobs(Context& context);
  ~KeepUnusedBlobs();
  KeepUnusedBlobs(const KeepUnusedBlobs&) = delete;
  KeepUnusedBlobs& operator=(const KeepUnusedBlobs&) = delete;

 private:
  Context& context_;
  uint64_t epoch_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_KEEP_BLOBS_H_
