#include "executor/gpu/cuda_plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "kernels/gpu/queue.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
constexpr char kLibrary[] = "libtenon_cuda.so";

// The folder of the program or library that holds this code.
fs::path OwnFolder() {
  Dl_info info;
  std::error_code error;
  if (dladdr(reinterpret_cast<const void*>(&OpenCudaDevice), &info) == 0 ||
      info.dli_fname == nullptr) {
    return {};
  }
  const fs::path path = fs::canonical(info.dli_fname, error);
  // The main program may be named as it was called.
  return error ? fs::read_symlink("/proc/self/exe", error).parent_path() : path.parent_path();
}

std::vector<std::string> Candidates() {
  if (const char* named = std::getenv("TENON_CUDA_PLUGIN"); named != nullptr && *named != '\0') {
    return {named};
  }
  const fs::path folder = OwnFolder();
  std::vector<std::string> found;
  for (const fs::path& path : {folder / kLibrary, folder / ".." / "lib" / kLibrary}) {
    std::error_code error;
    if (fs::exists(path, error)) found.push_back(path.string());
  }
  found.emplace_back(kLibrary);
  return found;
}

}  // namespace

absl::StatusOr<std::shared_ptr<kernels::gpu::Device>> OpenCudaDevice(int ordinal) {
  std::string why;
  for (const std::string& path : Candidates()) {
    // Stays open: code of the plugin may run as long as the process does.
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const error = dlerror();
      std::error_code ignored;
      if (fs::exists(path, ignored)) {
        return absl::UnavailableError(fmt::format("the CUDA kernels cannot be loaded: {}", error));
      }
      if (why.empty()) why = error;
      continue;
    }
    auto open =
        reinterpret_cast<kernels::gpu::OpenDeviceFn>(dlsym(library, kernels::gpu::kPluginSymbol));
    if (open == nullptr) {
      why = fmt::format("{} is not Tenon's CUDA plugin", path);
      continue;
    }
    kernels::KernelStatus status;
    std::shared_ptr<kernels::gpu::Device> device;
    open(kernels::gpu::kPluginInterface, ordinal, &status, &device);
    if (status.ok() && device != nullptr) return device;
    return absl::UnavailableError(std::string(status.message()));
  }
  return absl::UnavailableError(
      fmt::format("CUDA kernels are not installed (expected {}, which a build with "
                  "-DTENON_ENABLE_CUDA=ON makes): {}",
                  kLibrary, why));
}

}  // namespace tenon
