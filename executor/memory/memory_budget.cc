#include "executor/memory/memory_budget.h"

#include "absl/status/status.h"
#include "fmt/format.h"

namespace tenon {
namespace {

thread_local const std::shared_ptr<MemoryBudget>* current = nullptr;

}  // namespace

std::shared_ptr<MemoryBudget> MemoryBudget::Make(int64_t bytes) {
  return bytes <= 0 ? nullptr : std::shared_ptr<MemoryBudget>(new MemoryBudget(bytes));
}

MemoryBudget::Scope::Scope(const std::shared_ptr<MemoryBudget>& budget) : before_(current) {
  current = &budget;
}

MemoryBudget::Scope::~Scope() { current = before_; }

absl::StatusOr<MemoryBudget::Charge> MemoryBudget::Take(size_t bytes) {
  if (current == nullptr || *current == nullptr) return Charge();
  const std::shared_ptr<MemoryBudget>& budget = *current;
  const auto wanted = static_cast<int64_t>(bytes);
  const int64_t used = budget->used_.fetch_add(wanted);
  if (wanted > budget->most_ - used) {
    budget->used_ -= wanted;
    return absl::ResourceExhaustedError(
        fmt::format("{} bytes of memory are needed and {} are in use (expected at most {} "
                    "together, Limits::memory_bytes)",
                    bytes, used, budget->most_));
  }
  return Charge(static_cast<const void*>(nullptr),
                [budget, wanted](const void*) { budget->used_ -= wanted; });
}

}  // namespace tenon
