// Constants whose elements lie among those of other bytes, in another order.
#ifndef TENON_IR_CORE_CONSTANTS_UNPACKED_BLOB_H_
#define TENON_IR_CORE_CONSTANTS_UNPACKED_BLOB_H_

#include <cstddef>
#include <memory>

#include "ir/base/element_order.h"
#include "ir/core/constants/constant_bytes.h"
#include "ir/core/constants/deferred_blob.h"

namespace tenon {

// Returns the `size` bytes of a tensor whose elements lie in `packed` in some order. They are
// unpacked when they are read, in pieces if `packed` is stored. Requires Fits(order, size,
// packed.size()).
std::shared_ptr<const DeferredBlob> UnpackedBlob(ElementOrder order, ConstantBytes packed,
                                                 size_t size);

}  // namespace tenon

#endif  // TENON_IR_CORE_CONSTANTS_UNPACKED_BLOB_H_
