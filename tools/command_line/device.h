// The GPU for --device=cuda.
#ifndef TENON_TOOLS_COMMAND_LINE_DEVICE_H_
#define TENON_TOOLS_COMMAND_LINE_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "frontends/cpp/tenon.h"

namespace tenon::tools {

// Opens the first GPU. Unavailable, with the missing part, if it cannot be used.
absl::StatusOr<std::shared_ptr<kernels::gpu::Device>> OpenDevice();

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_DEVICE_H_
