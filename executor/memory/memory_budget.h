// The limit on the memory of one program (Limits::memory_bytes).
#ifndef TENON_EXECUTOR_MEMORY_MEMORY_BUDGET_H_
#define TENON_EXECUTOR_MEMORY_MEMORY_BUDGET_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace tenon {

// Counts the memory of a program. Thread-safe. Memory is given back when its charge is destroyed,
// which may happen after the end of the program.
class MemoryBudget {
 public:
  // Returns null for 0 bytes: no limit.
  static std::shared_ptr<MemoryBudget> Make(int64_t bytes);

  // While one lives, blocks that this thread allocates (AllocateAligned, AllocateLasting,
  // AllocatePassing) are charged to `budget`, which may be null.
  class Scope {
   public:
    explicit Scope(const std::shared_ptr<MemoryBudget>& budget);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const std::shared_ptr<MemoryBudget>* before_;
  };

  // For functions that allocate: charges `bytes` to the budget of the scope. Keep the charge as
  // long as the block. Null without a scope. ResourceExhausted if the budget does not suffice.
  using Charge = std::shared_ptr<const void>;
  static absl::StatusOr<Charge> Take(size_t bytes);

 private:
  explicit MemoryBudget(int64_t bytes) : most_(bytes) {}
  const int64_t most_;
  std::atomic<int64_t> used_{0};
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_MEMORY_MEMORY_BUDGET_H_
