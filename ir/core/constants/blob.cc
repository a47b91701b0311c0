#include "ir/core/constants/blob.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/inline_xxhash.h"
#include "ir/base/source_file.h"
#include "ir/core/constants/blob_memory.h"

namespace tenon {

// Large blocks are the system's own, to which they return as soon as nobody has them: weights come
// and go one by one, and a heap would keep the room of all of them.
std::shared_ptr<void> AllocateBlobMemory(size_t size) {
  constexpr size_t kMapped = size_t{1} << 20;
  if (size >= kMapped) {
    void* const mapped =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped != MAP_FAILED) return {mapped, [size](void* p) { munmap(p, size); }};
  }
  constexpr std::align_val_t kAlign{64};
  void* const memory = ::operator new(size == 0 ? 1 : size, kAlign, std::nothrow);
  if (memory == nullptr) return nullptr;
  return {memory, [](void* p) { ::operator delete (p, std::align_val_t{64}); }};
}

std::shared_ptr<const Blob> Blob::Make(size_t size, const std::function<void(std::byte*)>& fill) {
  std::shared_ptr<void> owner = AllocateBlobMemory(size);
  if (owner == nullptr) throw std::bad_alloc();
  auto* const data = static_cast<std::byte*>(owner.get());
  fill(data);
  return std::make_shared<const Blob>(std::span<const std::byte>(data, size), std::move(owner));
}

std::shared_ptr<const Blob> Blob::Copy(std::span<const std::byte> bytes) {
  return Make(bytes.size(), [&](std::byte* to) {
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  });
}

std::shared_ptr<const Blob> Blob::Borrow(std::span<const std::byte> bytes,
                                         std::shared_ptr<const void> owner) {
  return std::make_shared<const Blob>(bytes, std::move(owner));
}

std::shared_ptr<const Blob> Blob::OfFile(std::span<const std::byte> bytes,
                                         std::shared_ptr<const void> owner) {
  return std::make_shared<const Blob>(bytes, std::move(owner), /*of_file=*/true);
}

void Blob::DropPages() const {
  if (of_file_) tenon::DropPages(bytes_);
}

size_t Blob::alignment() const {
  auto address = reinterpret_cast<uintptr_t>(bytes_.data());
  size_t alignment = 1;
  while (alignment < 4096 && address % (alignment * 2) == 0) alignment *= 2;
  return alignment;
}

const std::string& Blob::content_hash() const {
  std::call_once(hash_once_, [this] {
    XXH128_hash_t h = XXH3_128bits(bytes_.data(), bytes_.size());
    hash_ = fmt::format("{:016x}{:016x}", h.high64, h.low64);
  });
  return hash_;
}

}  // namespace tenon
