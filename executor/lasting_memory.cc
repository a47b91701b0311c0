#include "executor/lasting_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "executor/tensor.h"
#include "fmt/format.h"

namespace tenon {

absl::StatusOr<std::shared_ptr<std::byte>> AllocateLasting(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  if (bytes < kHugePage) return AllocateAligned(bytes);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t size = (bytes + page - 1) / page * page;
  const size_t mapped = size + kHugePage;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        fmt::format("{} bytes of memory are needed, more than there are", bytes));
  }
  // The part in front of the first boundary of a huge page, and behind the block, goes back.
  auto* first = static_cast<std::byte*>(memory);
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(memory) % kHugePage) % kHugePage;
  if (before > 0) munmap(first, before);
  first += before;
  if (mapped > before + size) munmap(first + size, mapped - before - size);
#ifdef MADV_HUGEPAGE
  static_cast<void>(madvise(first, size, MADV_HUGEPAGE));  // a wish
#endif
  return std::shared_ptr<std::byte>(first, [size](std::byte* p) { munmap(p, size); });
}

}  // namespace tenon
