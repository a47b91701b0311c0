// print-op-stats: says how many operations of each kind there are.
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/context/diagnostic.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

class PrintOpStats : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    std::map<std::string_view, int64_t> counts;
    op->WalkPreOrder([&](Operation* inner) {
      ++counts[inner->name()];
      return true;
    });
    std::string text = "operations:";
    for (const auto& [name, count] : counts) {
      text += fmt::format("\n  {:>8} {}", count, name);
      context.statistics->Add(name, count);
    }
    EmitRemark(op->context(), op->location(), text);
    return PassResult{false};
  }
};

}  // namespace

PassInfo PrintOpStatsPassInfo() {
  PassInfo info;
  info.anchor = "builtin.module";
  info.statistics = {{"*", "operations of each name"}};
  info.on_any_op = true;
  info.steps = PassSteps::kNone;
  info.create = [](const PassOptionValues&) { return std::make_unique<PrintOpStats>(); };
  return info;
}

}  // namespace tenon
