// Memory of operations.
#ifndef TENON_IR_CORE_CONTEXT_OP_POOL_H_
#define TENON_IR_CORE_CONTEXT_OP_POOL_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace tenon {

// An allocator with free lists by size over large slabs. Each thread has a shard of its own, so
// that allocation needs no lock. Memory freed by a thread goes to the shard of that thread.
// Thread-safe; returns all memory to the system at its end.
class OpPool {
 public:
  OpPool();
  ~OpPool();
  OpPool(const OpPool&) = delete;
  OpPool& operator=(const OpPool&) = delete;

  // Returns `bytes` bytes, a multiple of 8, aligned to 8.
  void* Allocate(size_t bytes) {
    Shard& shard = LocalShard();
    if (!kPooling || bytes > kMaxPooled) return AllocateUnpooled(shard, bytes);
    shard.Count(static_cast<int64_t>(bytes));
    FreeNode*& head = shard.free[bytes / 8];
    if (FreeNode* node = head; node != nullptr) {
      head = node->next;
      return node;
    }
    if (static_cast<size_t>(shard.end - shard.bump) < bytes) AddSlab(shard);
    void* memory = shard.bump;
    shard.bump += bytes;
    return memory;
  }

  // `bytes` must be the size that was allocated.
  void Free(void* memory, size_t bytes) {
    Shard& shard = LocalShard();
    if (!kPooling || bytes > kMaxPooled) return FreeUnpooled(shard, memory, bytes);
    shard.Count(-static_cast<int64_t>(bytes));
    auto* node = static_cast<FreeNode*>(memory);
    node->next = shard.free[bytes / 8];
    shard.free[bytes / 8] = node;
  }

  // Bytes allocated and not freed.
  size_t bytes_in_use() const;

 private:
// With AddressSanitizer every operation is its own heap allocation, so that use after free is
// found.
#if defined(__SANITIZE_ADDRESS__)
  static constexpr bool kPooling = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  static constexpr bool kPooling = false;
#else
  static constexpr bool kPooling = true;
#endif
#else
  static constexpr bool kPooling = true;
#endif
  static constexpr size_t kMaxPooled = 1024;
  static constexpr size_t kFirstSlab = size_t{32} << 10, kMaxSlab = size_t{256} << 10;

  struct FreeNode {
    FreeNode* next;
  };
  struct alignas(64) Shard {
    // Only the thread of the shard writes; any thread may read.
    void Count(int64_t bytes) {
      in_use.store(in_use.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    }
    std::byte* bump = nullptr;
    std::byte* end = nullptr;
    std::atomic<int64_t> in_use{0};
    size_t next_slab = kFirstSlab;
    std::array<FreeNode*, kMaxPooled / 8 + 1> free = {};
    std::vector<std::byte*> slabs;
  };
  // The shard that this thread used last, and its pool.
  struct LastShard {
    uint64_t pool = 0;
    Shard* shard = nullptr;
  };

  Shard& LocalShard() { return last_shard_.pool == id_ ? *last_shard_.shard : FindShard(); }
  Shard& FindShard();
  static void AddSlab(Shard& shard);
  static void* AllocateUnpooled(Shard& shard, size_t bytes);
  static void FreeUnpooled(Shard& shard, void* memory, size_t bytes);

  static thread_local constinit LastShard last_shard_;
  const uint64_t id_;  // differs from that of every pool of the process, also earlier ones
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Shard>> shards_;  // by ThreadSlot
};

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_OP_POOL_H_
