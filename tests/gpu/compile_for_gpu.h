// Programs for tests of the executor on a GPU.
#ifndef TENON_TESTS_GPU_COMPILE_FOR_GPU_H_
#define TENON_TESTS_GPU_COMPILE_FOR_GPU_H_

#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "frontends/cpp/tenon.h"
#include "kernels/gpu/queue.h"

namespace tenon {

// A module's text, lowered for a GPU and compiled for `device`; null: for the CPU.
inline absl::StatusOr<Program> CompileForGpu(std::string_view text,
                                             std::shared_ptr<kernels::gpu::Device> device) {
  absl::StatusOr<Model> model = LoadFromBytes(text, "test");
  if (!model.ok()) return model.status();
  CompileOptions options;
  options.threads = 1;
  options.gpu = std::move(device);
  return Compile(*model, options);
}

}  // namespace tenon

#endif  // TENON_TESTS_GPU_COMPILE_FOR_GPU_H_
