// A pass of a host: docs/guide/write-a-pass.md explains this file.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tenon/frontends/cpp/passes.h"
#include "tenon/ir/base/check.h"
#include "tenon/ir/core/block.h"
#include "tenon/ir/core/context/context.h"
#include "tenon/ir/core/text/parser.h"
#include "tenon/ir/core/text/printer.h"
#include "tenon/ir/dialect/core_ops.h"
#include "tenon/ir/dialect/dialects.h"
#include "tenon/pass/pass_manager.h"

namespace {

using tenon::Isa;
using tenon::Operation;
using tenon::OpOperand;
namespace core = tenon::core;

// Moves each constant directly before its first user. A rule cannot say where an operation stands.
class SinkConstants : public tenon::Pass {
 public:
  explicit SinkConstants(int64_t max_uses) : max_uses_(max_uses) {}

  absl::StatusOr<tenon::PassResult> Run(Operation* function, tenon::PassContext& context) override {
    std::vector<std::pair<Operation*, Operation*>> moves;  // look first, change afterwards
    function->Walk([&](Operation* op) {
      if (!Isa<core::ConstantOp>(op)) return;
      Operation* user = FirstUser(*op);
      if (user != nullptr && !IsDirectlyBefore(op, user)) moves.emplace_back(op, user);
    });
    for (const auto& [constant, user] : moves) constant->MoveBefore(user);
    if (!moves.empty()) context.statistics->Add("moved", static_cast<int64_t>(moves.size()));
    return tenon::PassResult{.changed = !moves.empty()};
  }

 private:
  // The first user in the block of `op`. Null if there is none, or if a user is in a nested region
  // or in another block, or if there are more users than the option allows.
  Operation* FirstUser(const Operation& op) const {
    Operation* first = nullptr;
    int64_t uses = 0;
    for (const OpOperand& use : op.result().uses()) {
      Operation* user = use.owner();
      if (user->block() != op.block() || ++uses > max_uses_) return nullptr;
      if (first == nullptr || user->IsBeforeInBlock(first)) first = user;
    }
    return first;
  }

  // Other constants may stand between them. Without this exception a second run would swap them.
  static bool IsDirectlyBefore(const Operation* op, const Operation* user) {
    const Operation* next = op->next();
    while (next != user && Isa<core::ConstantOp>(next)) next = next->next();
    return next == user;
  }

  int64_t max_uses_;
};

tenon::PassInfo SinkConstantsInfo() {
  tenon::PassInfo info;
  info.name = "acme-sink-constants";
  info.summary = "Moves each constant directly before its first user";
  info.anchor = "func.func";
  info.options = {{.name = "max-uses",
                   .type = tenon::PassOption::Type::kCount,
                   .default_text = "1000",
                   .help = "constants with more users stay"}};
  info.create = [](const tenon::PassOptionValues& values) {
    return std::make_unique<SinkConstants>(values.GetInt("max-uses"));
  };
  return info;
}

constexpr char kProgram[] = R"(
func.func() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<4xf32>):
  %two = core.constant() <{value = dense<2.0> : tensor<f32>}> : () -> tensor<f32>
  %three = core.constant() <{value = dense<3.0> : tensor<f32>}> : () -> tensor<f32>
  %0 = ten.mul(%x, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = ten.sigmoid(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = ten.add(%1, %three) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return(%2) : (tensor<4xf32>) -> ()
}) : () -> ()
)";

absl::Status Run(const std::string& pipeline) {
  tenon::Context context;
  tenon::RegisterAllDialects(context);
  TENON_ASSIGN_OR_RETURN(const tenon::OwnedOp module, tenon::ParseModule(context, kProgram));

  tenon::PassRegistry registry;
  TENON_RETURN_IF_ERROR(tenon::RegisterAllPasses(registry));
  TENON_RETURN_IF_ERROR(registry.Register(SinkConstantsInfo()));
  TENON_RETURN_IF_ERROR(registry.RegisterPipeline("acme-O1", "O1 with short-lived constants",
                                                  "O1,acme-sink-constants"));

  tenon::PassManager manager(registry);
  TENON_RETURN_IF_ERROR(manager.AddPipeline(pipeline));
  tenon::PassManagerOptions options;
  options.statistics = true;
  options.sink = [](std::string_view text) { std::printf("%s", std::string(text).c_str()); };
  tenon::PassContext services;
  TENON_ASSIGN_OR_RETURN(const tenon::PassResult result,
                         manager.Run(module.get(), services, options));
  std::printf("changed: %s\n%s", result.changed ? "yes" : "no", tenon::Print(*module).c_str());
  return absl::OkStatus();
}

}  // namespace

int main() {
  for (const char* pipeline :
       {"func.func(acme-sink-constants{max-uses=8})", "acme-O1", "acme-sink-constant"}) {
    std::printf("--- %s\n", pipeline);
    const absl::Status status = Run(pipeline);
    if (!status.ok()) std::printf("%s\n", std::string(status.message()).c_str());
  }
  return 0;
}
