#include "ir/core/constants/deferred_blob.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/inline_xxhash.h"
#include "ir/core/constants/blob_memory.h"
#include "ir/core/context/context.h"
#include "ir/core/context/context_impl.h"

namespace tenon {

namespace {

// Bytes that are computed at a time.
constexpr size_t kPiece = size_t{16} << 20;

}  // namespace

DeferredBlob::DeferredBlob(std::string recipe, std::vector<std::shared_ptr<const Blob>> sources,
                           size_t size, std::function<bool(std::byte*)> fill)
    : recipe_(std::move(recipe)),
      sources_(std::move(sources)),
      size_(size),
      fill_(std::move(fill)) {}

DeferredBlob::DeferredBlob(std::string recipe, std::vector<std::shared_ptr<const Blob>> sources,
                           size_t size, FillRange fill)
    : recipe_(std::move(recipe)),
      sources_(std::move(sources)),
      size_(size),
      fill_range_(std::move(fill)) {}

bool DeferredBlob::CopyTo(std::byte* to) const {
  if (fill_ == nullptr || has_whole()) return CopyRange(0, {to, size_});
  return fill_(to);
}

bool DeferredBlob::CopyRange(size_t first, std::span<std::byte> to) const {
  if (!has_whole()) return fill_range_(first, to);
  std::ranges::copy(Whole()->bytes().subspan(first, to.size()), to.begin());
  return true;
}

bool DeferredBlob::ForEachPiece(absl::FunctionRef<bool(std::span<const std::byte>)> use) const {
  std::shared_ptr<const Blob> whole;  // held while it is used
  if (has_whole() || !in_pieces()) {
    whole = Bytes();
    if (whole == nullptr) return false;
  }
  const size_t room = std::min(kPiece, size_);
  const std::shared_ptr<void> memory = whole != nullptr ? nullptr : AllocateBlobMemory(room);
  if (whole == nullptr && memory == nullptr) return false;
  for (size_t first = 0; first < size_; first += kPiece) {
    const size_t size = std::min(kPiece, size_ - first);
    const std::span<std::byte> piece(static_cast<std::byte*>(memory.get()), memory ? size : 0);
    if (memory != nullptr && !CopyRange(first, piece)) return false;
    if (!use(memory != nullptr ? piece : whole->bytes().subspan(first, size))) return false;
  }
  return true;
}

std::shared_ptr<const Blob> DeferredBlob::Bytes() const {
  if (has_whole()) return Whole();
  std::shared_ptr<void> memory = AllocateBlobMemory(size_);
  auto* const bytes = static_cast<std::byte*>(memory.get());
  if (bytes == nullptr || !CopyTo(bytes)) return nullptr;
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
    XXH3_state_t hash;
    XXH3_128bits_reset(&hash);
    size_t repeated = 0;
    bool is_first = true;
    const bool done = ForEachPiece([&](std::span<const std::byte> piece) {
      XXH3_128bits_update(&hash, piece.data(), piece.size());
      if (is_first)
        std::ranges::copy(piece.first(std::min(piece.size(), first_.size())), first_.begin());
      for (size_t element = 1; element <= first_.size(); element *= 2) {
        if (is_first && size_ > element) repeated |= element;
        const size_t head = std::min(element, piece.size());
        // All bytes are those `element` before them, or the first ones.
        if (std::memcmp(piece.data(), first_.data(), head) != 0 ||
            std::memcmp(piece.data(), piece.data() + head, piece.size() - head) != 0) {
          repeated &= ~element;
        }
      }
      is_first = false;
      return true;
    });
    if (!done) throw std::bad_alloc();
    // As Blob::content_hash.
    const XXH128_hash_t sum = XXH3_128bits_digest(&hash);
    hash_ = fmt::format("{:016x}{:016x}", sum.high64, sum.low64);
    repeated_ = repeated;
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
