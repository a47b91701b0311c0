// strip-locations: forgets where operations and block arguments come from.
#include <memory>

#include "ir/core/block.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

class StripLocations : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    int64_t stripped = 0;
    op->WalkPreOrder([&](Operation* inner) {
      if (inner->location() != Location()) {
        inner->set_location(Location());
        ++stripped;
      }
      for (unsigned r = 0; r < inner->num_regions(); ++r) {
        for (Block& block : inner->region(r)) {
          for (unsigned i = 0; i < block.num_arguments(); ++i) {
            auto* const argument = static_cast<BlockArgumentImpl*>(block.argument(i).impl());
            if (argument->location == Location()) continue;
            argument->location = Location();
            ++stripped;
          }
        }
      }
      return true;
    });
    if (stripped > 0) context.statistics->Add("locations-stripped", stripped);
    return PassResult{stripped > 0};
  }
};

}  // namespace

PassInfo StripLocationsPassInfo() {
  PassInfo info;
  info.anchor = "builtin.module";
  info.statistics = {{"locations-stripped", "operations and arguments that lost their place"}};
  info.on_any_op = true;
  info.create = [](const PassOptionValues&) { return std::make_unique<StripLocations>(); };
  return info;
}

}  // namespace tenon
