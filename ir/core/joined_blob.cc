#include "ir/core/joined_blob.h"

#include <cstring>
#include <utility>

#include "ir/core/check.h"
#include "ir/core/context.h"
#include "ir/core/context_impl.h"

namespace tenon {

JoinedBlob::JoinedBlob(size_t rows, std::vector<std::shared_ptr<const Blob>> parts)
    : rows_(rows), parts_(std::move(parts)) {
  TENON_CHECK(rows_ > 0);
  for (const std::shared_ptr<const Blob>& part : parts_) {
    TENON_CHECK(part->size() % rows_ == 0);
    size_ += part->size();
  }
}

void JoinedBlob::CopyTo(std::byte* to) const {
  const size_t pitch = size_ / rows_;
  for (const std::shared_ptr<const Blob>& part : parts_) {
    const size_t run = part->size() / rows_;
    const std::byte* from = part->bytes().data();
    for (size_t row = 0; row < rows_ && run > 0; ++row) {
      std::memcpy(to + row * pitch, from + row * run, run);
    }
    part->DropPages();
    to += run;
  }
}

const std::shared_ptr<const Blob>& JoinedBlob::Whole() const {
  std::call_once(once_, [this] {
    whole_ = Blob::Make(size_, [this](std::byte* to) { CopyTo(to); });
    has_whole_.store(true, std::memory_order_relaxed);
  });
  return whole_;
}

const std::string& JoinedBlob::content_hash() const {
  std::call_once(hash_once_, [this] {
    const std::shared_ptr<const Blob> whole =
        has_whole() ? Whole() : Blob::Make(size_, [this](std::byte* to) { CopyTo(to); });
    hash_ = whole->content_hash();
  });
  return hash_;
}

Attribute JoinedElements(Context& context, Type type, std::shared_ptr<const JoinedBlob> joined) {
  TENON_CHECK(type.is_static());
  TENON_CHECK(joined->size() == static_cast<size_t>(type.num_elements()) * SizeOf(type.dtype()));
  TENON_CHECK(joined->size() > Attribute::kInlineBytes);
  ContextImpl& impl = context.impl();
  const AttributeStorage* storage = impl.attributes.CreateUnique([&](AttributeStorage& s) {
    s.context = &context;
    s.kind = Attribute::Kind::kElements;
    s.type = type;
    s.joined = std::move(joined);
  });
  const std::lock_guard<std::mutex> lock(impl.blob_mutex);
  impl.blob_attributes.push_back(storage);
  return Attribute(storage);
}

std::shared_ptr<const JoinedBlob> JoinedBlobOf(Attribute elements) {
  return elements.storage()->joined;
}

size_t StoredBytes(Attribute elements) {
  const std::shared_ptr<const JoinedBlob>& joined = elements.storage()->joined;
  return joined != nullptr ? joined->size() : elements.raw_bytes().size();
}

bool IsLargeElements(Attribute elements) {
  return elements && elements.kind() == Attribute::Kind::kElements &&
         (elements.storage()->joined != nullptr || elements.storage()->blob != nullptr);
}

}  // namespace tenon
