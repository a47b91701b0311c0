// Weights in a mapped file, for tests of who reads them.
#ifndef TENON_TESTS_EXECUTOR_MAPPED_WEIGHTS_H_
#define TENON_TESTS_EXECUTOR_MAPPED_WEIGHTS_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "executor/tensor.h"
#include "ir/base/source_file.h"

namespace tenon {

inline Tensor Weights(float first, int64_t n = 100'000) {
  Tensor t = Tensor::Make(DType::kF32, std::vector<int64_t>{n});
  std::iota(t.as<float>(), t.as<float>() + n, first);
  return t;
}

inline void WriteWeights(const std::filesystem::path& path, float first, int64_t n = 100'000) {
  std::filesystem::create_directories(path.parent_path());
  const Tensor w = Weights(first, n);
  std::ofstream out(path, std::ios::binary);
  out.write(std::string(64, 'h').data(), 64);
  out.write(w.as<char>(), static_cast<std::streamsize>(w.num_bytes()));
}

// A file with weights at offset 64, mapped.
class MappedWeights {
 public:
  explicit MappedWeights(const std::filesystem::path& path) {
    const int fd = open(path.c_str(), O_RDONLY);
    struct stat info = {};
    EXPECT_EQ(fstat(fd, &info), 0);
    size_ = static_cast<size_t>(info.st_size);
    address_ = static_cast<std::byte*>(mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0));
    close(fd);
    source = {.path = path,
              .bytes = {address_, size_},
              .owner = nullptr,
              .device = info.st_dev,
              .inode = info.st_ino,
              .modified_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec,
              .changed_ns = info.st_ctim.tv_sec * 1'000'000'000 + info.st_ctim.tv_nsec};
    const auto n = static_cast<int64_t>((size_ - 64) / sizeof(float));
    weights = Tensor::Borrow(DType::kF32, std::vector<int64_t>{n}, address_ + 64,
                             std::make_shared<int>());
  }
  ~MappedWeights() { munmap(address_, size_); }
  MappedWeights(const MappedWeights&) = delete;
  MappedWeights& operator=(const MappedWeights&) = delete;

  size_t resident_pages() const {
    // Of the mapping, not of the page cache, which mincore tells of.
    std::ifstream smaps("/proc/self/smaps");
    std::string line;
    char begin[32];
    std::snprintf(begin, sizeof(begin), "%lx-", reinterpret_cast<unsigned long>(address_));
    bool here = false;
    while (std::getline(smaps, line)) {
      if (line.rfind(begin, 0) == 0) here = true;
      if (here && line.rfind("Rss:", 0) == 0) return std::stoul(line.substr(4)) / 4;
    }
    return 0;
  }

  SourceFile source;
  Tensor weights;

 private:
  std::byte* address_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tenon

#endif  // TENON_TESTS_EXECUTOR_MAPPED_WEIGHTS_H_
