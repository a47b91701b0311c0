#include "kernels/registry.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/isa.h"
#include "kernels/kernel_list.h"

namespace tenon::kernels {

void KernelRegistry::Add(const Kernel& kernel) {
  std::vector<Kernel>& kernels = by_op_[kernel.op];
  auto better = [](const Kernel& a, const Kernel& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    return std::strcmp(a.name, b.name) < 0;
  };
  kernels.insert(std::upper_bound(kernels.begin(), kernels.end(), kernel, better), kernel);
}

std::span<const Kernel> KernelRegistry::Find(std::string_view op) const {
  auto it = by_op_.find(op);
  if (it == by_op_.end()) return {};
  return it->second;
}

const Kernel* KernelRegistry::FindByName(std::string_view name) const {
  for (const auto& [op, kernels] : by_op_) {
    for (const Kernel& kernel : kernels) {
      if (name == kernel.name) return &kernel;
    }
  }
  return nullptr;
}

KernelRegistry::Choice KernelRegistry::Choose(std::string_view op, const CallSignature& call,
                                              bool reference_only, Backend backend) const {
  Choice choice;
  for (const Kernel& kernel : Find(op)) {
    if (kernel.backend != backend) continue;
    if (reference_only && !std::string_view(kernel.name).starts_with("ref.")) continue;
    CallSignature own = call;
    own.data = kernel.data.get();
    std::string reason = kernel.supports == nullptr ? std::string() : kernel.supports(own);
    if (reason.empty()) {
      choice.kernel = &kernel;
      return choice;
    }
    choice.why_not.push_back(std::string(kernel.name) + ": " + reason);
  }
  return choice;
}

std::vector<std::string> KernelRegistry::ops() const {
  std::vector<std::string> names;
  names.reserve(by_op_.size());
  for (const auto& entry : by_op_) names.push_back(entry.first);
  return names;
}

void RegisterCpuKernels(KernelRegistry& registry) {
  cpu::ActiveIsa();  // before a kernel asks oneDNN or Highway what they can do
#define TENON_KERNEL(name) registry.Add(name());
#include "kernels/kernels.def"
#undef TENON_KERNEL
}

}  // namespace tenon::kernels
