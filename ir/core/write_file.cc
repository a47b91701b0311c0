#include "frontends/api/write_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "fmt/format.h"

namespace tenon {

absl::Status WriteFile(const std::string& path, std::string_view text) {
  const std::string temporary = fmt::format("{}.tmp{}", path, getpid());
  auto fail = [&] {
    const int error = errno;
    std::remove(temporary.c_str());
    return absl::InvalidArgumentError(fmt::format("{}: {}", path, std::strerror(error)));
  };
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return fail();
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written) return fail();
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return fail();
  return absl::OkStatus();
}

}  // namespace tenon
