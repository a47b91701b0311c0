#include "executor/gpu/own_path.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string_view>

namespace tenon {

std::string FileOfCode(const void* code) {
  const auto wanted = reinterpret_cast<uintptr_t>(code);
  std::ifstream maps("/proc/self/maps");
  // begin-end permissions offset device inode path
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    fields >> std::hex >> begin >> dash >> end;
    if (!fields || wanted < begin || wanted >= end) continue;
    std::string skipped, path;
    for (int i = 0; i < 4; ++i) fields >> skipped;
    std::getline(fields >> std::ws, path);
    constexpr std::string_view kDeleted = " (deleted)";
    return path.empty() || path[0] != '/' || path.ends_with(kDeleted) ? std::string() : path;
  }
  return {};
}

LoaderFolders FoldersOfLoader() {
  LoaderFolders folders;
  void* const program = dlopen(nullptr, RTLD_NOW);
  if (program == nullptr) return folders;
  Dl_serinfo size = {};
  if (dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0) {
    std::vector<std::max_align_t> memory(size.dls_size / sizeof(std::max_align_t) + 1);
    auto* const info = reinterpret_cast<Dl_serinfo*>(memory.data());
    if (dlinfo(program, RTLD_DI_SERINFOSIZE, info) == 0 &&
        dlinfo(program, RTLD_DI_SERINFO, info) == 0) {
      const Dl_serpath* const paths = &info->dls_serpath[0];
      for (unsigned i = 0; i < info->dls_cnt; ++i) {
        const std::string folder = paths[i].dls_name;
        if (folder.starts_with('/')) {
          folders.absolute.push_back(folder);
        } else {
          folders.has_relative = true;
        }
      }
    }
  }
  dlclose(program);
  return folders;
}

}  // namespace tenon
