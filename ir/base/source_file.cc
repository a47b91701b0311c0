#include "ir/base/source_file.h"

#include <sys/mman.h>
#include <unistd.h>

namespace tenon {

void DropPages(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t first = begin / page * page;
  // Advice: where the system does not take it, the pages stay.
  static_cast<void>(
      madvise(reinterpret_cast<void*>(first), begin + bytes.size() - first, MADV_DONTNEED));
}

}  // namespace tenon
