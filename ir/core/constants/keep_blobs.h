// Protection of large constants that no operation holds yet.
#ifndef TENON_IR_CORE_CONSTANTS_KEEP_BLOBS_H_
#define TENON_IR_CORE_CONSTANTS_KEEP_BLOBS_H_

#include <cstdint>

#include "ir/core/context/context.h"

namespace tenon {

// While one lives, in any thread, Context::ReleaseUnusedBlobs keeps two kinds of bytes: those made
// since it began, and those that an operation has held since. When it ends, bytes that had to wait
// are freed. Keep one while you hold large constants in attributes alone and another thread may
// release blobs of the same Context. The pass manager, the parser and the importer do so.
// Thread-safe.
class KeepUnusedBlobs {
 public:
  explicit KeepUnusedBlobs(Context& context);  // Begins to protect blobs of `context`.
  ~KeepUnusedBlobs();
  KeepUnusedBlobs(const KeepUnusedBlobs&) = delete;
  KeepUnusedBlobs& operator=(const KeepUnusedBlobs&) = delete;

 private:
  Context& context_;
  uint64_t epoch_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_CONSTANTS_KEEP_BLOBS_H_
