// libFuzzer's entry of one target: TENON_FUZZ_CHECK and TENON_FUZZ_SEEDS name its functions. With
// TENON_WRITE_SEEDS=FOLDER in the environment it writes what to begin with into that folder first.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* folder = std::getenv("TENON_WRITE_SEEDS");
  if (folder == nullptr) return 0;
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& seed : tenon::fuzz::TENON_FUZZ_SEEDS()) {
    std::ofstream out(std::filesystem::path(folder) / ("seed_" + std::to_string(number++)),
                      std::ios::binary);
    out << seed;
    if (!out.flush()) {
      std::fprintf(stderr, "no seed can be written into %s\n", folder);
      std::exit(2);
    }
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string problem =
      tenon::fuzz::TENON_FUZZ_CHECK({reinterpret_cast<const char*>(data), size}, nullptr);
  if (problem.empty()) return 0;
  std::fprintf(stderr, "%s\n", problem.c_str());
  std::abort();
}
