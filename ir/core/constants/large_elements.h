// Large constants whose bytes nobody has looked at yet. Internal to Tenon.
#ifndef TENON_IR_CORE_CONSTANTS_LARGE_ELEMENTS_H_
#define TENON_IR_CORE_CONSTANTS_LARGE_ELEMENTS_H_

#include <memory>

#include "ir/core/attribute.h"

namespace tenon {

// As Attribute::Elements with a blob, but reads none of its bytes: equal elements do not become a
// splat. Requires a static tensor type of the blob's size, and more than Attribute::kInlineBytes
// bytes. Thread-safe.
Attribute LargeElements(Context& context, Type type, std::shared_ptr<const Blob> blob);

}  // namespace tenon

#endif  // TENON_IR_CORE_CONSTANTS_LARGE_ELEMENTS_H_
