#include "ir/core/constants/large_elements.h"

#include <utility>

#include "ir/base/check.h"
#include "ir/core/context/context_impl.h"

namespace tenon {

Attribute LargeElements(Context& context, Type type, std::shared_ptr<const Blob> blob) {
  TENON_CHECK(type.is_static() && blob->size() > Attribute::kInlineBytes);
  TENON_CHECK(blob->size() == static_cast<size_t>(type.num_elements()) * SizeOf(type.dtype()));
  return ImplOf(context).AddLargeElements(context, type, std::move(blob), nullptr);
}

}  // namespace tenon
