// Memory of operations: size-classed free lists over slabs.
#ifndef TENON_IR_CORE_OP_POOL_H_
#define TENON_IR_CORE_OP_POOL_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon {

// Thread-safe. Threads are spread over shards, so that passes on different functions rarely meet;
// memory freed by a thread is reused by that thread's shard. No header per allocation.
class OpPool {
 public:
  OpPool() = default;
  ~OpPool();
  OpPool(const OpPool&) = delete;
  OpPool& operator=(const OpPool&) = delete;

  void* Allocate(size_t bytes);  // a multiple of 8; 8-byte aligned
  void Free(void* memory, size_t bytes);
  size_t bytes_in_use() const;

 private:
  static constexpr size_t kMaxPooled = 1024;
  static constexpr size_t kFirstSlab = size_t{32} << 10, kMaxSlab = size_t{1} << 20;
  struct FreeNode {
    FreeNode* next;
  };
  struct alignas(64) Shard {
    std::atomic_flag lock = ATOMIC_FLAG_INIT;
    std::byte* bump = nullptr;
    std::byte* end = nullptr;
    int64_t in_use = 0;
    size_t next_slab = kFirstSlab;
    std::array<FreeNode*, kMaxPooled / 8 + 1> free = {};
    std::vector<void*> slabs;
  };
  static constexpr size_t kShards = 8;
  Shard& ThreadShard();
  std::array<Shard, kShards> shards_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_OP_POOL_H_
