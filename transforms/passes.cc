#include "transforms/passes.h"

#include <memory>
#include <string_view>
#include <utility>

namespace tenon {

absl::Status RegisterTransformPasses(PassRegistry& registry, const std::vector<drr::Rule>& rules) {
  const HostRules host =
      rules.empty() ? nullptr : std::make_shared<const std::vector<drr::Rule>>(rules);
  const auto add = [&](PassInfo info, std::string_view name, std::string_view summary) {
    if (name == "fuse") info = FusePassInfo(host);
    if (name == "final-rules") info = FinalRulesPassInfo(host);
    info.name = name;
    info.summary = summary;
    return registry.Register(std::move(info));
  };
#define TENON_PASS(id, name, summary) TENON_RETURN_IF_ERROR(add(id##PassInfo(), name, summary));
#include "transforms/passes.def"
#undef TENON_PASS
  return absl::OkStatus();
}

}  // namespace tenon
