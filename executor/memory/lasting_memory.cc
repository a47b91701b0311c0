#include "executor/memory/lasting_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "executor/memory/memory_budget.h"
#include "executor/tensor.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/out_of_memory.h"

namespace tenon {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// `size` bytes, of which `wanted` are.
absl::StatusOr<std::byte*> Map(size_t size, size_t wanted) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) return static_cast<std::byte*>(memory);
  return absl::ResourceExhaustedError(
      fmt::format("{} bytes of memory cannot be allocated {}", wanted, kMemoryLimit));
}

}  // namespace

absl::StatusOr<std::shared_ptr<std::byte>> AllocatePassing(size_t bytes) {
  constexpr size_t kMapped = size_t{256} << 10;
  if (bytes < kMapped) return AllocateAligned(bytes);
  if (bytes >= kHugePage) return AllocateLasting(bytes);
  TENON_ASSIGN_OR_RETURN(MemoryBudget::Charge charge, MemoryBudget::Take(bytes));
  TENON_ASSIGN_OR_RETURN(std::byte* const memory, Map(bytes, bytes));
  return std::shared_ptr<std::byte>(
      memory, [bytes, charge = std::move(charge)](std::byte* p) { munmap(p, bytes); });
}

absl::StatusOr<std::shared_ptr<std::byte>> AllocateLasting(size_t bytes) {
  if (bytes < kHugePage) return AllocateAligned(bytes);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t size = (bytes + page - 1) / page * page;
  const size_t mapped = size + kHugePage;
  TENON_ASSIGN_OR_RETURN(MemoryBudget::Charge charge, MemoryBudget::Take(bytes));
  TENON_ASSIGN_OR_RETURN(std::byte* const memory, Map(mapped, bytes));
  // The part in front of the first boundary of a huge page, and behind the block, goes back.
  std::byte* first = memory;
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(memory) % kHugePage) % kHugePage;
  if (before > 0) munmap(first, before);
  first += before;
  if (mapped > before + size) munmap(first + size, mapped - before - size);
#ifdef MADV_HUGEPAGE
  static_cast<void>(madvise(first, size, MADV_HUGEPAGE));  // a wish
#endif
  return std::shared_ptr<std::byte>(
      first, [size, charge = std::move(charge)](std::byte* p) { munmap(p, size); });
}

}  // namespace tenon
