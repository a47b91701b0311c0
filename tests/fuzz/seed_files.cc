#include "tests/fuzz/seed_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tenon::fuzz {

std::vector<std::string> FilesBelow(std::string_view folder, std::string_view extension,
                                    size_t size) {
  namespace fs = std::filesystem;
  std::vector<fs::path> paths;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(TENON_SOURCE_DIR) / "tests" / folder)) {
    if (entry.path().extension() == extension && entry.file_size() <= size)
      paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> files;
  for (const fs::path& path : paths) {
    std::ifstream in(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return files;
}

}  // namespace tenon::fuzz
