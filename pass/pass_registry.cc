#include "pass/pass.h"

namespace tenon {

void PassRegistry::Register(PassInfo info) {
  TENON_CHECK_MSG(info.create != nullptr, info.name);
  TENON_CHECK_MSG(pipelines_.find(info.name) == pipelines_.end(), info.name);
  std::string name = info.name;
  const bool inserted = passes_.emplace(std::move(name), std::move(info)).second;
  TENON_CHECK_MSG(inserted, "two passes have one name");
}

void PassRegistry::RegisterPipeline(std::string name, std::string summary, std::string text) {
  TENON_CHECK_MSG(passes_.find(name) == passes_.end(), name);
  const bool inserted =
      pipelines_.emplace(std::move(name), Pipeline{std::move(summary), std::move(text)}).second;
  TENON_CHECK_MSG(inserted, "two pipelines have one name");
}

const PassInfo* PassRegistry::Find(std::string_view name) const {
  const auto found = passes_.find(name);
  return found == passes_.end() ? nullptr : &found->second;
}

}  // namespace tenon
