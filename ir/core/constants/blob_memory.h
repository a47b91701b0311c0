// Memory for the bytes of large constants.
#ifndef TENON_IR_CORE_CONSTANTS_BLOB_MEMORY_H_
#define TENON_IR_CORE_CONSTANTS_BLOB_MEMORY_H_

#include <cstddef>
#include <memory>

namespace tenon {

// Returns `size` uninitialized bytes, aligned to 64; null if there is no memory. From 1 MiB on, the
// bytes are mapped, so that freeing them returns them to the system at once.
std::shared_ptr<void> AllocateBlobMemory(size_t size);

}  // namespace tenon

#endif  // TENON_IR_CORE_CONSTANTS_BLOB_MEMORY_H_
