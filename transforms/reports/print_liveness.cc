// print-liveness: says for each block of a function which values enter and leave it.
#include <memory>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/text/numbering.h"
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
    const Numbering names(*function, /*generic=*/false);
    std::string text = "liveness:";
    const auto list = [&](const char* what, const std::vector<Value>& values) {
      text += fmt::format(" {}", what);
      for (const Value value : values) {
        text += ' ';
        names.AppendUse(text, value);
      }
      if (values.empty()) text += " nothing";
    };
    for (Block& block : region) {
      text += "\n  ";
      names.AppendBlock(text, &block);
      text += ':';
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
