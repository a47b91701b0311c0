// print-liveness: says for each block of a function which values enter and leave it.
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/context/diagnostic.h"
#include "transforms/passes.h"
#include "transforms/reports/liveness.h"

namespace tenon {
namespace {

class PrintLiveness : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* function, PassContext& /*context*/) override {
    Region& region = function->region();
    if (region.empty()) return PassResult{};
    const Liveness liveness(region);
    // As the printer counts: the entry has %arg0, %arg1, …, all other values %0, %1, ….
    absl::flat_hash_map<ValueImpl*, std::string> names;
    unsigned values = 0, number = 0;
    for (Block& block : region) {
      const bool entry = &block == &region.front();
      for (unsigned i = 0; i < block.num_arguments(); ++i) {
        names[block.argument(i).impl()] =
            entry ? fmt::format("%arg{}", i) : fmt::format("%{}", values++);
      }
      for (Operation& op : block) {
        for (unsigned i = 0; i < op.num_results(); ++i) {
          names[op.result(i).impl()] =
              op.num_results() == 1 ? fmt::format("%{}", values) : fmt::format("%{}#{}", values, i);
        }
        values += op.num_results() > 0 ? 1 : 0;
      }
    }
    std::string text = "liveness:";
    const auto list = [&](const char* what, const std::vector<Value>& values) {
      text += fmt::format(" {}", what);
      for (const Value value : values) text += ' ' + names.at(value.impl());
      if (values.empty()) text += " nothing";
    };
    for (Block& block : region) {
      text += fmt::format("\n  ^bb{}:", number++);
      list("in", liveness.LiveIn(block));
      text += ',';
      list("out", liveness.LiveOut(block));
    }
    EmitRemark(function->context(), function->location(), text);
    return PassResult{};
  }
};

}  // namespace

PassInfo PrintLivenessPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.steps = PassSteps::kNone;
  info.create = [](const PassOptionValues&) { return std::make_unique<PrintLiveness>(); };
  return info;
}

}  // namespace tenon
