#include "ir/core/context/interned_roots.h"

#include "ir/core/context/context_impl.h"

namespace tenon {

InternedRoots::InternedRoots(Context& context) : handles_(std::make_shared<Handles>()) {
  ContextImpl& impl = ImplOf(context);
  const std::lock_guard<std::mutex> lock(impl.roots_mutex);
  std::erase_if(impl.roots, [](const auto& roots) { return roots.expired(); });
  impl.roots.push_back(handles_);
}

void InternedRoots::Add(Type type) {
  const std::lock_guard<std::mutex> lock(handles_->mutex);
  if (type) handles_->types.push_back(type);
}
void InternedRoots::Add(Attribute attribute) {
  const std::lock_guard<std::mutex> lock(handles_->mutex);
  if (attribute) handles_->attributes.push_back(attribute);
}
void InternedRoots::Add(DimExpr dim) {
  const std::lock_guard<std::mutex> lock(handles_->mutex);
  if (dim) handles_->dims.push_back(dim);
}
void InternedRoots::Add(Location location) {
  const std::lock_guard<std::mutex> lock(handles_->mutex);
  if (!location.is_unknown()) handles_->locations.push_back(location);
}

}  // namespace tenon
