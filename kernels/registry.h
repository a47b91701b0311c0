// All kernels known to a program. Built explicitly; no static registration.
#ifndef TENON_KERNELS_REGISTRY_H_
#define TENON_KERNELS_REGISTRY_H_

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"

namespace tenon::kernels {

// Thread-safe once built (const methods only).
class KernelRegistry {
 public:
  // Kernels of one op stay sorted by descending priority, then by name.
  void Add(const Kernel& kernel);

  // Kernels of an op, best first; empty if the op is unknown.
  std::span<const Kernel> Find(std::string_view op) const;
  // The kernel called `name`, or null.
  const Kernel* FindByName(std::string_view name) const;

  struct Choice {
    const Kernel* kernel = nullptr;    // null: none supports the call
    std::vector<std::string> why_not;  // "name: reason" for each candidate passed over
  };
  // Considers the kernels of one backend; reference_only: reference kernels ("ref.*") alone.
  Choice Choose(std::string_view op, const CallSignature& call, bool reference_only = false,
                Backend backend = Backend::kCpu) const;

  std::vector<std::string> ops() const;  // sorted

 private:
  std::map<std::string, std::vector<Kernel>, std::less<>> by_op_;
};

// Adds the reference kernels and the fast CPU kernels (from kernels.def).
void RegisterCpuKernels(KernelRegistry& registry);

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_REGISTRY_H_
