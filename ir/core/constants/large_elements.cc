#include "ir/core/constants/large_elements.h"

#include <mutex>
#include <utility>

#include "ir/base/check.h"
#include "ir/core/context/context_impl.h"

namespace tenon {

Attribute LargeElements(Context& context, Type type, std::shared_ptr<const Blob> blob) {
  TENON_CHECK(type.is_static() && blob->size() > Attribute::kInlineBytes);
  TENON_CHECK(blob->size() == static_cast<size_t>(type.num_elements()) * SizeOf(type.dtype()));
  ContextImpl& impl = ImplOf(context);
  const AttributeStorage* storage = impl.attributes.CreateUnique([&](AttributeStorage& s) {
    s.context = &context;
    s.kind = Attribute::Kind::kElements;
    s.type = type;
    s.blob = std::move(blob);
  });
  const std::lock_guard<std::mutex> lock(impl.blob_mutex);
  impl.blob_attributes.push_back(storage);
  return Attribute(storage);
}

}  // namespace tenon
