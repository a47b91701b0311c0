// How much memory one program may have at a time (Limits::memory_bytes).
#ifndef TENON_EXECUTOR_MEMORY_BUDGET_H_
#define TENON_EXECUTOR_MEMORY_BUDGET_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace tenon {

// Thread-safe. What is taken is given back when its charge goes, which may outlive the program.
class MemoryBudget {
 public:
  // Null for 0 bytes: no limit.
  static std::shared_ptr<MemoryBudget> Make(int64_t bytes);

  // Charges blocks that this thread allocates (AllocateAligned, AllocateLasting, AllocatePassing)
  // to `budget`, which may be null, for as long as it lives.
  class Scope {
   public:
    explicit Scope(const std::shared_ptr<MemoryBudget>& budget);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const std::shared_ptr<MemoryBudget>* before_;
  };

  // For who allocates: keep the charge as long as the block. Null without a scope.
  // ResourceExhausted if the budget has less.
  using Charge = std::shared_ptr<const void>;
  static absl::StatusOr<Charge> Take(size_t bytes);

 private:
  explicit MemoryBudget(int64_t bytes) : most_(bytes) {}
  const int64_t most_;
  std::atomic<int64_t> used_{0};
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_MEMORY_BUDGET_H_
