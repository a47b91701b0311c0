// Memory that a program keeps, such as packed weights and arenas, and memory used while making it.
#ifndef TENON_EXECUTOR_MEMORY_LASTING_MEMORY_H_
#define TENON_EXECUTOR_MEMORY_LASTING_MEMORY_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"

namespace tenon {

// As AllocateAligned, for memory that lasts. Large blocks use huge pages if the system has them,
// which avoids address translation misses when weights are streamed. Takes a system call, so do not
// use it for memory of one run. Small pages fill the end of a block, so that the resident size does
// not grow.
absl::StatusOr<std::shared_ptr<std::byte>> AllocateLasting(size_t bytes);

// As AllocateAligned, for memory that is freed while lasting memory is allocated: a heap would keep
// its room between lasting blocks. From 256 KiB on, freed memory returns to the system.
absl::StatusOr<std::shared_ptr<std::byte>> AllocatePassing(size_t bytes);

}  // namespace tenon

#endif  // TENON_EXECUTOR_MEMORY_LASTING_MEMORY_H_
