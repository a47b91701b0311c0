// Writing a result to a file.
#ifndef TENON_FRONTENDS_API_WRITE_FILE_H_
#define TENON_FRONTENDS_API_WRITE_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tenon {

// Under a temporary name beside `path` first, so that `path` never holds half a result.
// InvalidArgument if it cannot be written.
absl::Status WriteFile(const std::string& path, std::string_view text);

}  // namespace tenon

#endif  // TENON_FRONTENDS_API_WRITE_FILE_H_
