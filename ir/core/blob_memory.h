// Memory for the bytes of large constants.
#ifndef TENON_IR_CORE_BLOB_MEMORY_H_
#define TENON_IR_CORE_BLOB_MEMORY_H_

#include <cstddef>
#include <memory>

namespace tenon {

// 64-byte aligned, of any contents. Null: there is no memory.
std::shared_ptr<void> AllocateBlobMemory(size_t size);

}  // namespace tenon

#endif  // TENON_IR_CORE_BLOB_MEMORY_H_
