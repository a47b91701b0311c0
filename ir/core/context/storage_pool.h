// Memory of interned types, attributes and dimensions. Internal to ir/core.
#ifndef TENON_IR_CORE_CONTEXT_STORAGE_POOL_H_
#define TENON_IR_CORE_CONTEXT_STORAGE_POOL_H_

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace tenon {

// An allocator for many small objects that are freed rarely, and then many at a time. Slabs grow
// with the pool. Not thread-safe; returns all memory to the system at its end.
class StoragePool {
 public:
  StoragePool() = default;
  ~StoragePool();
  StoragePool(const StoragePool&) = delete;
  StoragePool& operator=(const StoragePool&) = delete;

  // Returns `bytes` bytes, aligned to 8. Requires bytes > 0.
  void* Allocate(size_t bytes);
  // An object and the bytes that were asked for.
  using Freed = std::pair<std::byte*, size_t>;
  // Frees objects, in any order. Slabs in which nothing is left go back to the system.
  void Free(std::vector<Freed> objects);
  // Frees an object that lies outside of the slabs; leaves others alone.
  void FreeUnpooled(void* object, size_t bytes);
  // True if there may be such objects.
  bool has_unpooled() const { return unpooled_ > 0; }
  // Bytes of all slabs and large objects.
  size_t reserved_bytes() const { return reserved_; }

 private:
  static constexpr size_t kMaxPooled = 512;
  static constexpr size_t kFirstSlab = size_t{1} << 10, kMaxSlab = size_t{64} << 10;
  struct FreeNode {
    FreeNode* next;
  };
  struct Slab {
    std::byte* begin;
    size_t bytes;
  };
  static size_t Rounded(size_t bytes) { return (bytes + 7) / 8 * 8; }
  void AddSlab();
  void Recycle(std::byte* node, size_t bytes);

  std::byte* bump_ = nullptr;
  std::byte* end_ = nullptr;
  size_t next_slab_ = kFirstSlab;
  size_t reserved_ = 0;
  size_t unpooled_ = 0;  // objects
  std::vector<Slab> slabs_;
  std::array<FreeNode*, kMaxPooled / 8 + 1> free_ = {};  // by size
};

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_STORAGE_POOL_H_
