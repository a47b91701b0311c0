#include "executor/gpu/cuda_plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "executor/gpu/own_path.h"
#include "fmt/format.h"
#include "kernels/gpu/queue.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
constexpr char kLibrary[] = "libtenon_cuda.so";

// A relative name from the environment is the user's choice. Every other candidate is absolute, so
// that the working directory decides nothing.
std::vector<std::string> Candidates() {
  if (const char* named = std::getenv("TENON_CUDA_PLUGIN"); named != nullptr && *named != '\0') {
    // With a slash, because the loader searches its folders for a name without one.
    const fs::path path(named);
    return {path.has_parent_path() ? path.string() : (fs::path(".") / path).string()};
  }
  std::vector<fs::path> paths;
  // Any function of this library names its file.
  const std::string own = FileOfCode(reinterpret_cast<const void*>(&OpenCudaDevice));
  if (!own.empty()) {
    const fs::path folder = fs::path(own).parent_path();
    paths = {folder / kLibrary, folder / ".." / "lib" / kLibrary};
  }
  const LoaderFolders loader = FoldersOfLoader();
  for (const std::string& folder : loader.absolute) paths.push_back(fs::path(folder) / kLibrary);
  std::vector<std::string> found;
  for (const fs::path& path : paths) {
    std::error_code error;
    if (fs::exists(path, error)) found.push_back(path.string());
  }
  // The loader's cache has more folders. With a relative entry in LD_LIBRARY_PATH the loader would
  // look in the working directory first.
  if (!loader.has_relative) found.emplace_back(kLibrary);
  return found;
}

}  // namespace

absl::StatusOr<std::shared_ptr<kernels::gpu::Device>> OpenCudaDevice(int ordinal) {
  std::string why = "there is no such file";
  bool tried = false;
  for (const std::string& path : Candidates()) {
    // Stays open: code of the plugin may run as long as the process does.
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const error = dlerror();
      std::error_code ignored;
      if (fs::exists(path, ignored)) {
        return absl::UnavailableError(fmt::format("the CUDA kernels cannot be loaded: {}", error));
      }
      if (!tried) why = error;
      tried = true;
      continue;
    }
    auto open =
        reinterpret_cast<kernels::gpu::OpenDeviceFn>(dlsym(library, kernels::gpu::kPluginSymbol));
    if (open == nullptr) {
      why = fmt::format("{} is not Tenon's CUDA plugin", path);
      tried = true;
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
