#include "ir/core/op_pool.h"

#include <new>

namespace tenon {
namespace {

// Under AddressSanitizer every operation is its own heap allocation, so that use after free is
// seen.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPooling = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kPooling = false;
#else
constexpr bool kPooling = true;
#endif
#else
constexpr bool kPooling = true;
#endif

class SpinLock {
 public:
  explicit SpinLock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) {
      while (flag_.test(std::memory_order_relaxed)) {
      }
    }
  }
  ~SpinLock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag& flag_;
};

}  // namespace

OpPool::~OpPool() {
  for (Shard& shard : shards_) {
    for (void* slab : shard.slabs) ::operator delete(slab);
  }
}

OpPool::Shard& OpPool::ThreadShard() {
  static std::atomic<size_t> next_thread{0};
  thread_local const size_t index = next_thread.fetch_add(1, std::memory_order_relaxed) % kShards;
  return shards_[index];
}

void* OpPool::Allocate(size_t bytes) {
  Shard& shard = ThreadShard();
  if (!kPooling || bytes > kMaxPooled) {
    {
      SpinLock lock(shard.lock);
      shard.in_use += static_cast<int64_t>(bytes);
    }
    return ::operator new(bytes);
  }
  SpinLock lock(shard.lock);
  shard.in_use += static_cast<int64_t>(bytes);
  FreeNode*& head = shard.free[bytes / 8];
  if (head != nullptr) {
    FreeNode* node = head;
    head = node->next;
    return node;
  }
  if (static_cast<size_t>(shard.end - shard.bump) < bytes) {
    // What is left of the old slab becomes a free node of its size.
    size_t left = static_cast<size_t>(shard.end - shard.bump);
    if (left >= sizeof(FreeNode)) {
      auto* node = reinterpret_cast<FreeNode*>(shard.bump);
      node->next = shard.free[left / 8];
      shard.free[left / 8] = node;
    }
    shard.bump = static_cast<std::byte*>(::operator new(shard.next_slab));
    shard.end = shard.bump + shard.next_slab;
    shard.slabs.push_back(shard.bump);
    if (shard.next_slab < kMaxSlab) shard.next_slab *= 2;
  }
  void* memory = shard.bump;
  shard.bump += bytes;
  return memory;
}

void OpPool::Free(void* memory, size_t bytes) {
  Shard& shard = ThreadShard();
  if (!kPooling || bytes > kMaxPooled) {
    ::operator delete(memory);
    SpinLock lock(shard.lock);
    shard.in_use -= static_cast<int64_t>(bytes);
    return;
  }
  SpinLock lock(shard.lock);
  shard.in_use -= static_cast<int64_t>(bytes);
  auto* node = static_cast<FreeNode*>(memory);
  node->next = shard.free[bytes / 8];
  shard.free[bytes / 8] = node;
}

size_t OpPool::bytes_in_use() const {
  int64_t total = 0;
  for (const Shard& shard : shards_) total += shard.in_use;
  return static_cast<size_t>(total);
}

}  // namespace tenon
