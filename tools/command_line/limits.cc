#include "tools/command_line/limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <string_view>

#include "fmt/format.h"
#include "tools/command_line/program.h"

namespace tenon::tools {
namespace {

// Address and thread sanitizers map their shadow memory as data.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kReservesTerabytes = true;
#else
constexpr bool kReservesTerabytes = false;
#endif

// 0: it does not say.
int64_t MemoryOfMachine() {
  const auto pages = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  int64_t bytes = pages > 0 && page > 0 ? pages * page : 0;
  int64_t of_group = 0;
  std::ifstream group("/sys/fs/cgroup/memory.max");  // a number, or "max"
  if (group >> of_group && of_group > 0) bytes = bytes == 0 ? of_group : std::min(bytes, of_group);
  return bytes;
}

}  // namespace

absl::Status ReadBytes(const Given& given, int64_t& value, int64_t least) {
  constexpr std::string_view kUnits = "KMGT";
  std::string_view text = given.value;
  int shift = 0;
  if (!text.empty()) {
    const size_t unit = kUnits.find(text.back());
    if (unit != std::string_view::npos) {
      shift = 10 * static_cast<int>(unit + 1);
      text.remove_suffix(1);
    }
  }
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end || number < 1 || number > INT64_MAX >> shift) {
    return absl::InvalidArgumentError(
        fmt::format("{} is '{}' (expected a number of bytes, like 4096, 512M or 8G)",
                    WithDashes(given.option), given.value));
  }
  if (number << shift < least) {
    return absl::InvalidArgumentError(fmt::format("{} is '{}' (expected at least {} bytes)",
                                                  WithDashes(given.option), given.value, least));
  }
  value = number << shift;
  return absl::OkStatus();
}

bool IsLaxer(const LimitOptions& options) {
  const LimitOptions usual;
  const int64_t machine = MemoryOfMachine();
  const auto laxer = [](int64_t given, int64_t most) {
    return most != 0 && (given == 0 || given > most);  // 0: no limit
  };
  return (options.memory_bytes != 0 && laxer(options.memory_bytes, machine)) ||
         laxer(options.library.loop_trips, usual.library.loop_trips) ||
         laxer(options.library.stream_bytes, usual.library.stream_bytes) ||
         laxer(options.library.message_bytes, usual.library.message_bytes) ||
         laxer(options.library.nesting, usual.library.nesting);
}

void ApplyLimits(const LimitOptions& options, bool with_gpu) {
  SetLongestMessage(static_cast<size_t>(options.library.message_bytes));
  int64_t bytes = options.memory_bytes;
  if (bytes == 0 && !with_gpu && !kReservesTerabytes) bytes = MemoryOfMachine();
  rlimit limit = {};
  if (bytes == 0 || getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(bytes));
  static_cast<void>(setrlimit(RLIMIT_DATA, &limit));
}

}  // namespace tenon::tools
