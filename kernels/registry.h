// The kernels that a program can use. The host or the executor fills a registry; nothing is
// registered statically.
#ifndef TENON_KERNELS_REGISTRY_H_
#define TENON_KERNELS_REGISTRY_H_

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"

namespace tenon::kernels {

// Kernels by op. Const functions are thread-safe; Add is not.
class KernelRegistry {
 public:
  // Adds a copy of `kernel`. Pointers to kernels become invalid.
  void Add(const Kernel& kernel);

  // Returns the kernels of an op, best first: by descending priority, then by name. Empty if there
  // are none.
  std::span<const Kernel> Find(std::string_view op) const;
  // Returns the kernel of that name; null if there is none.
  const Kernel* FindByName(std::string_view name) const;

  // The result of Choose.
  struct Choice {
    const Kernel* kernel = nullptr;    // null: no kernel supports the call
    std::vector<std::string> why_not;  // "name: reason" for each kernel that was rejected
  };
  // Chooses the best kernel of one backend that supports the call. With `reference_only`, considers
  // only reference kernels ("ref.*").
  Choice Choose(std::string_view op, const CallSignature& call, bool reference_only = false,
                Backend backend = Backend::kCpu) const;

  // The ops that have kernels, sorted.
  std::vector<std::string> ops() const;

 private:
  std::map<std::string, std::vector<Kernel>, std::less<>> by_op_;
};

// Adds the reference kernels and the CPU kernels of kernels.def.
void RegisterCpuKernels(KernelRegistry& registry);

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_REGISTRY_H_
