#include "ir/core/constants/deferred_blob.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/constants/blob_memory.h"
#include "ir/core/context/context.h"
#include "ir/core/context/context_impl.h"

namespace tenon {

DeferredBlob::DeferredBlob(std::string recipe, std::vector<std::shared_ptr<const Blob>> sources,
                           size_t size, std::function<bool(std::byte*)> fill)
    : recipe_(std::move(recipe)),
      sources_(std::move(sources)),
      size_(size),
      fill_(std::move(fill)) {}

bool DeferredBlob::CopyTo(std::byte* to) const {
  if (!has_whole()) return fill_(to);
  std::memcpy(to, Whole()->bytes().data(), size_);
  return true;
}

std::shared_ptr<const Blob> DeferredBlob::Bytes() const {
  if (has_whole()) return Whole();
  std::shared_ptr<void> memory = AllocateBlobMemory(size_);
  auto* const bytes = static_cast<std::byte*>(memory.get());
  if (bytes == nullptr || !fill_(bytes)) return nullptr;
  return Blob::Borrow(std::span<const std::byte>(bytes, size_), std::move(memory));
}

const std::shared_ptr<const Blob>& DeferredBlob::Whole() const {
  std::call_once(once_, [this] {
    whole_ = Bytes();
    if (whole_ == nullptr) throw std::bad_alloc();
    has_whole_.store(true, std::memory_order_relaxed);
  });
  return whole_;
}

void DeferredBlob::Inspect() const {
  std::call_once(inspect_once_, [this] {
    const std::shared_ptr<const Blob> made = Bytes();
    if (made == nullptr) throw std::bad_alloc();
    hash_ = made->content_hash();
    const std::span<const std::byte> bytes = made->bytes();
    std::copy_n(bytes.begin(), std::min(bytes.size(), first_.size()), first_.begin());
    for (size_t element = 1; element <= first_.size(); element *= 2) {
      if (bytes.size() > element &&
          std::memcmp(bytes.data(), bytes.data() + element, bytes.size() - element) == 0) {
        repeated_ |= element;
      }
    }
  });
}

const std::string& DeferredBlob::content_hash() const {
  Inspect();
  return hash_;
}

std::span<const std::byte> DeferredBlob::RepeatedElement(size_t element) const {
  Inspect();
  return std::span(first_).first((repeated_ & element) != 0 ? element : 0);
}

std::shared_ptr<const DeferredBlob> JoinBlobs(size_t rows,
                                              std::vector<std::shared_ptr<const Blob>> parts) {
  TENON_CHECK(rows > 0);
  size_t size = 0;
  for (const std::shared_ptr<const Blob>& part : parts) {
    TENON_CHECK(part->size() % rows == 0);
    size += part->size();
  }
  auto fill = [rows, size, parts](std::byte* to) {
    const size_t pitch = size / rows;
    for (const std::shared_ptr<const Blob>& part : parts) {
      const size_t run = part->size() / rows;
      const std::byte* from = part->bytes().data();
      for (size_t row = 0; row < rows && run > 0; ++row) {
        std::memcpy(to + row * pitch, from + row * run, run);
      }
      part->DropPages();
      to += run;
    }
    return true;
  };
  std::string recipe = fmt::format("{} parts joined, {} rows", parts.size(), rows);
  return std::make_shared<const DeferredBlob>(std::move(recipe), std::move(parts), size,
                                              std::move(fill));
}

Attribute DeferredElements(Context& context, Type type,
                           std::shared_ptr<const DeferredBlob> deferred) {
  TENON_CHECK(type.is_static());
  TENON_CHECK(deferred->size() == static_cast<size_t>(type.num_elements()) * SizeOf(type.dtype()));
  TENON_CHECK(deferred->size() > Attribute::kInlineBytes);
  return ImplOf(context).AddLargeElements(context, type, nullptr, std::move(deferred));
}

std::shared_ptr<const DeferredBlob> DeferredBlobOf(Attribute elements) {
  const LargeElementsStorage* large = elements.storage()->large();
  return large != nullptr ? large->deferred : nullptr;
}

size_t StoredBytes(Attribute elements) {
  const LargeElementsStorage* large = elements.storage()->large();
  return large != nullptr && large->deferred ? large->deferred->size()
                                             : elements.raw_bytes().size();
}

bool IsLargeElements(Attribute elements) {
  const LargeElementsStorage* large = elements ? elements.storage()->large() : nullptr;
  return large != nullptr && (large->deferred != nullptr || large->blob != nullptr);
}

const std::string& ContentHash(Attribute large) {
  const LargeElementsStorage& storage = *large.storage()->large();
  return storage.deferred != nullptr ? storage.deferred->content_hash()
                                     : storage.blob->content_hash();
}

std::span<const std::byte> RepeatedElement(Attribute elements) {
  const LargeElementsStorage* large = elements.storage()->large();
  if (large == nullptr || large->deferred == nullptr) return {};
  return large->deferred->RepeatedElement(SizeOf(elements.type().dtype()));
}

}  // namespace tenon
