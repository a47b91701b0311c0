#include "ir/core/context/storage_pool.h"

#include <algorithm>
#include <new>

namespace tenon {
namespace {

// With AddressSanitizer every object is its own heap allocation, so that use after free is found.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPoolingStorages = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kPoolingStorages = false;
#else
constexpr bool kPoolingStorages = true;
#endif
#else
constexpr bool kPoolingStorages = true;
#endif

}  // namespace

StoragePool::~StoragePool() {
  for (const Slab& slab : slabs_) ::operator delete(slab.begin);
}

void StoragePool::Recycle(std::byte* node, size_t bytes) {
  FreeNode*& head = free_[bytes / 8];
  head = new (node) FreeNode{head};
}

void StoragePool::AddSlab() {
  // What is left of the old slab becomes a free object of its size.
  if (const auto left = static_cast<size_t>(end_ - bump_); left > 0) Recycle(bump_, left);
  bump_ = static_cast<std::byte*>(::operator new(next_slab_));
  end_ = bump_ + next_slab_;
  slabs_.push_back({bump_, next_slab_});
  reserved_ += next_slab_;
  next_slab_ = std::min(kMaxSlab, 2 * next_slab_);
}

void* StoragePool::Allocate(size_t bytes) {
  bytes = Rounded(bytes);
  if (!kPoolingStorages || bytes > kMaxPooled) {
    reserved_ += bytes;
    ++unpooled_;
    return ::operator new(bytes);
  }
  if (FreeNode*& head = free_[bytes / 8]; head != nullptr) return std::exchange(head, head->next);
  if (static_cast<size_t>(end_ - bump_) < bytes) AddSlab();
  return std::exchange(bump_, bump_ + bytes);
}

void StoragePool::FreeUnpooled(void* object, size_t bytes) {
  bytes = Rounded(bytes);
  if (kPoolingStorages && bytes <= kMaxPooled) return;
  reserved_ -= bytes;
  --unpooled_;
  ::operator delete(object);
}

void StoragePool::Free(std::vector<Freed> objects) {
  std::erase_if(objects, [&](Freed& object) {
    object.second = Rounded(object.second);
    if (kPoolingStorages && object.second <= kMaxPooled) return false;
    FreeUnpooled(object.first, object.second);
    return true;
  });
  if (objects.empty()) return;
  for (size_t size = 1; size < free_.size(); ++size) {
    for (const FreeNode* node = free_[size]; node != nullptr; node = node->next)
      objects.emplace_back(reinterpret_cast<std::byte*>(const_cast<FreeNode*>(node)), size * 8);
    free_[size] = nullptr;
  }
  if (bump_ != end_) objects.emplace_back(bump_, static_cast<size_t>(end_ - bump_));
  bump_ = end_ = nullptr;
  std::sort(objects.begin(), objects.end());
  std::sort(slabs_.begin(), slabs_.end(),
            [](const Slab& a, const Slab& b) { return a.begin < b.begin; });
  auto next = objects.begin();
  std::erase_if(slabs_, [&](const Slab& slab) {
    const auto first = next;
    size_t unused = 0;
    for (; next != objects.end() && next->first < slab.begin + slab.bytes; ++next)
      unused += next->second;
    if (unused == slab.bytes) {
      reserved_ -= slab.bytes;
      ::operator delete(slab.begin);
      return true;
    }
    for (auto at = first; at != next; ++at) {
      // The rest of the last slab may be larger than any object.
      std::byte* node = at->first;
      for (size_t left = at->second; left > 0;) {
        const size_t part = std::min(left, kMaxPooled);
        Recycle(node, part);
        node += part;
        left -= part;
      }
    }
    return false;
  });
}

}  // namespace tenon
