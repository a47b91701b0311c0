// The most memory that is resident at a time, for tests of what is copied.
#ifndef TENON_TESTS_EXECUTOR_PEAK_MEMORY_H_
#define TENON_TESTS_EXECUTOR_PEAK_MEMORY_H_

#include <cstddef>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {

// Of this process, from the construction on.
class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts anew
    before_ = Status("VmRSS:");
    known_ = Status("VmHWM:") <= before_ + (size_t{4} << 20);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    known_ = false;  // sanitizers have memory of their own
#endif
  }
  // How much more than at the construction it was at a time, and how much more it is.
  // Nullopt: the system does not tell.
  std::optional<size_t> added() const { return Since("VmHWM:"); }
  std::optional<size_t> kept() const { return Since("VmRSS:"); }

 private:
  static size_t Status(std::string_view name) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with(name)) return std::stoul(line.substr(name.size())) * 1024;
    }
    return 0;
  }
  std::optional<size_t> Since(std::string_view name) const {
    if (!known_) return std::nullopt;
    const size_t bytes = Status(name);
    return bytes < before_ ? 0 : bytes - before_;
  }

  size_t before_ = 0;
  bool known_ = false;
};

}  // namespace tenon

#endif  // TENON_TESTS_EXECUTOR_PEAK_MEMORY_H_
