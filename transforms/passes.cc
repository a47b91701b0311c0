#include "transforms/passes.h"

#include <utility>

namespace tenon {

void RegisterTransformPasses(PassRegistry& registry) {
  const auto add = [&](PassInfo info, const char* name, const char* summary) {
    info.name = name;
    info.summary = summary;
    registry.Register(std::move(info));
  };
#define TENON_PASS(id, name, summary) add(id##PassInfo(), name, summary);
#include "transforms/passes.def"
#undef TENON_PASS
}

}  // namespace tenon
