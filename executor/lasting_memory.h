// Memory that a program keeps: packed weights, arenas; and what it needs to make them.
#ifndef TENON_EXECUTOR_LASTING_MEMORY_H_
#define TENON_EXECUTOR_LASTING_MEMORY_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"

namespace tenon {

// As AllocateAligned, but large blocks lie on huge pages where the system has them: streaming
// through weights then misses no address translations. Takes a system call, so it is not for what
// comes and goes with every run. Where huge pages do not fit the end of a block small ones are
// used, so that the resident size does not grow.
absl::StatusOr<std::shared_ptr<std::byte>> AllocateLasting(size_t bytes);

// For what goes again while memory that lasts is allocated: between such blocks a heap would keep
// its room. From 256 KiB on it is the system's again when it is freed.
absl::StatusOr<std::shared_ptr<std::byte>> AllocatePassing(size_t bytes);

}  // namespace tenon

#endif  // TENON_EXECUTOR_LASTING_MEMORY_H_
