#include "tools/command_line/device.h"

#include "fmt/format.h"

namespace tenon::tools {

absl::StatusOr<std::shared_ptr<kernels::gpu::Device>> OpenDevice() {
  absl::StatusOr<std::shared_ptr<kernels::gpu::Device>> opened = OpenCudaDevice();
  if (opened.ok()) return opened;
  return absl::UnavailableError(
      fmt::format("--device cuda: {}", std::string(opened.status().message())));
}

}  // namespace tenon::tools
