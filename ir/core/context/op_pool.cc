#include "ir/core/context/op_pool.h"

#include <cstdint>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "ir/base/check.h"

namespace tenon {
namespace {

constexpr uintptr_t kPage = 4096;
// Left to the heap's own header, so that a slab does not reach into one page more.
constexpr size_t kHeapHeader = 32;

uint64_t NextPoolId() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// Values keep numbers in the upper 16 bits of pointers to memory of the pool (value.h).
void* New(size_t bytes) {
  void* const memory = ::operator new(bytes);
  TENON_CHECK_MSG((reinterpret_cast<uintptr_t>(memory) + bytes) >> 48 == 0,
                  "memory of operations lies beyond the first 48 bits of addresses");
  return memory;
}

// A small number that no other living thread has. A thread that ends passes its number on, and with
// it the shards of that number; the mutex orders the two threads' accesses.
class ThreadSlot {
 public:
  ThreadSlot() {
    Slots& slots = AllSlots();
    std::lock_guard<std::mutex> lock(slots.mutex);
    if (slots.unused.empty()) {
      number_ = slots.count++;
    } else {
      number_ = slots.unused.back();
      slots.unused.pop_back();
    }
  }
  ~ThreadSlot() {
    Slots& slots = AllSlots();
    std::lock_guard<std::mutex> lock(slots.mutex);
    slots.unused.push_back(number_);
  }
  size_t number() const { return number_; }

 private:
  struct Slots {
    std::mutex mutex;
    size_t count = 0;
    std::vector<size_t> unused;
  };
  // Never destroyed: threads may outlive static objects.
  static Slots& AllSlots() {
    static auto* const slots = new Slots;
    return *slots;
  }
  size_t number_;
};

// Slabs are about to be filled from one end to the other: one system call for all their pages is
// cheaper than a fault for each. Where it is not known, pages come one by one.
void TouchPages([[maybe_unused]] std::byte* slab, [[maybe_unused]] size_t bytes) {
#if defined(MADV_POPULATE_WRITE)
  auto first = reinterpret_cast<uintptr_t>(slab) / kPage * kPage;
  auto last = (reinterpret_cast<uintptr_t>(slab) + bytes + kPage - 1) / kPage * kPage;
  static_cast<void>(madvise(reinterpret_cast<void*>(first), last - first, MADV_POPULATE_WRITE));
#endif
}

}  // namespace

thread_local constinit OpPool::LastShard OpPool::last_shard_;

OpPool::OpPool() : id_(NextPoolId()) {}

OpPool::~OpPool() {
  for (const std::unique_ptr<Shard>& shard : shards_) {
    if (shard == nullptr) continue;
    for (std::byte* slab : shard->slabs) ::operator delete(slab);
  }
}

OpPool::Shard& OpPool::FindShard() {
  thread_local const ThreadSlot slot;
  std::lock_guard<std::mutex> lock(mutex_);
  if (shards_.size() <= slot.number()) shards_.resize(slot.number() + 1);
  std::unique_ptr<Shard>& shard = shards_[slot.number()];
  if (shard == nullptr) shard = std::make_unique<Shard>();
  last_shard_ = {id_, shard.get()};
  return *shard;
}

void OpPool::AddSlab(Shard& shard) {
  // What is left of the old slab becomes a free node of its size.
  size_t left = static_cast<size_t>(shard.end - shard.bump);
  if (left >= sizeof(FreeNode)) {
    auto* node = reinterpret_cast<FreeNode*>(shard.bump);
    node->next = shard.free[left / 8];
    shard.free[left / 8] = node;
  }
  size_t bytes = shard.next_slab - kHeapHeader;
  shard.bump = static_cast<std::byte*>(New(bytes));
  shard.end = shard.bump + bytes;
  shard.slabs.push_back(shard.bump);
  if (shard.next_slab == kMaxSlab) {
    TouchPages(shard.bump, bytes);
  } else {
    shard.next_slab *= 2;
  }
}

void* OpPool::AllocateUnpooled(Shard& shard, size_t bytes) {
  shard.Count(static_cast<int64_t>(bytes));
  return New(bytes);
}

void OpPool::FreeUnpooled(Shard& shard, void* memory, size_t bytes) {
  shard.Count(-static_cast<int64_t>(bytes));
  ::operator delete(memory);
}

size_t OpPool::bytes_in_use() const {
  std::lock_guard<std::mutex> lock(mutex_);
  int64_t total = 0;
  for (const std::unique_ptr<Shard>& shard : shards_) {
    if (shard != nullptr) total += shard->in_use.load(std::memory_order_relaxed);
  }
  return static_cast<size_t>(total);
}

}  // namespace tenon
