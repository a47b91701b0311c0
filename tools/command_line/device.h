// The GPU of the programs' --device.
#ifndef TENON_TOOLS_COMMAND_LINE_DEVICE_H_
#define TENON_TOOLS_COMMAND_LINE_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "frontends/api/tenon.h"

namespace tenon::tools {

// The first one. Unavailable, with what is missing, if it cannot be used.
absl::StatusOr<std::shared_ptr<kernels::gpu::Device>> OpenDevice();

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_DEVICE_H_
