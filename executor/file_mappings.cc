#include "executor/file_mappings.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace tenon {

FileMappings::FileMappings() {
  std::FILE* file = std::fopen("/proc/self/maps", "re");
  if (file == nullptr) return;
  char line[4096];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    uintptr_t begin = 0, end = 0;
    unsigned long inode = 0;
    char rights[5] = "";
    const int fields = std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu", &begin, &end,
                                   rights, &inode);
    if (fields != 4 || inode == 0 || std::strncmp(rights, "r--", 3) != 0) continue;
    if (!mappings_.empty() && mappings_.back().end == begin && mappings_.back().inode == inode) {
      mappings_.back().end = end;
    } else {
      mappings_.push_back({begin, end, inode});
    }
  }
  std::fclose(file);
}

std::span<const std::byte> FileMappings::Find(std::span<const std::byte> bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const auto after =
      std::upper_bound(mappings_.begin(), mappings_.end(), begin,
                       [](uintptr_t at, const Mapping& mapping) { return at < mapping.begin; });
  if (after == mappings_.begin()) return {};
  const Mapping& mapping = *std::prev(after);
  if (begin + bytes.size() > mapping.end) return {};
  return {reinterpret_cast<const std::byte*>(mapping.begin), mapping.end - mapping.begin};
}

void DropPages(std::span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t first = begin / page * page, last = begin + bytes.size();
  madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace tenon
