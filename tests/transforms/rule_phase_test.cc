// Rules that are compiled once for several runs.
#include "transforms/rule_phase.h"

#include <gtest/gtest.h>

#include <fstream>
#include <new>
#include <string>

#include "ir/core/context_identity.h"
#include "ir/core/parser.h"
#include "ir/core/printer.h"
#include "ir/dialect/dialects.h"
#include "pass/pass_manager.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

constexpr char kSilu[] = R"ir(
func.func() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<4xf32>):
  %0 = ten.sigmoid(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ten.mul(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return(%1) : (tensor<4xf32>) -> ()
}) : () -> ()
)ir";

// Contexts one after the other at one address, as a variable in a loop is.
template <typename Use>
void ForEachContext(int count, Use use) {
  alignas(Context) std::byte memory[sizeof(Context)];
  for (int i = 0; i < count; ++i) {
    auto* context = new (memory) Context();
    RegisterAllDialects(*context);
    use(*context);
    context->~Context();
  }
}

bool FusesTo(std::string_view op, Context& context, PassManager& manager, PassContext& services) {
  absl::StatusOr<OwnedOp> module = ParseModule(context, kSilu);
  EXPECT_TRUE(module.ok()) << module.status();
  const absl::Status status = manager.Run(module->get(), services).status();
  EXPECT_TRUE(status.ok()) << status;
  return Print(**module).find(op) != std::string::npos;
}

TEST(RulePhase, APassContextServesOneContextAfterTheOther) {
  PassRegistry registry;
  EXPECT_TRUE(RegisterTransformPasses(registry).ok());
  PassContext services;
  ForEachContext(5, [&](Context& context) {
    PassManager manager(registry);
    ASSERT_TRUE(manager.AddPipeline("infer-shapes,canonicalize,fuse").ok());
    EXPECT_TRUE(FusesTo("nn.silu", context, manager, services));
  });
}

TEST(RulePhase, APassManagerServesOneContextAfterTheOther) {
  PassRegistry registry;
  EXPECT_TRUE(RegisterTransformPasses(registry).ok());
  PassManager manager(registry);
  ASSERT_TRUE(manager.AddPipeline("infer-shapes,canonicalize,fuse").ok());
  ForEachContext(5, [&](Context& context) {
    PassContext services;
    EXPECT_TRUE(FusesTo("nn.silu", context, manager, services));
  });
}

// Before anything matches, and where nothing does.
TEST(RulePhase, AWrongRuleOfAFileIsRefusedBeforeItIsNeeded) {
  const std::string file = ::testing::TempDir() + "wrong_rule.drr";
  std::ofstream(file) << "rule wrong {\n  match   nn.gelu(ten.exp(x))\n  replace nn.gelu(y)\n}\n";
  PassRegistry registry;
  EXPECT_TRUE(RegisterTransformPasses(registry).ok());
  Context context;
  RegisterAllDialects(context);
  PassManager manager(registry);
  ASSERT_TRUE(manager.AddPipeline("fuse").ok());
  PassContext services;
  services.rule_files = {file};
  absl::StatusOr<OwnedOp> module = ParseModule(context, kSilu);
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::Status status = manager.Run(module->get(), services).status();
  EXPECT_NE(status.message().find("y"), std::string::npos) << status;
  EXPECT_FALSE(status.ok());
  EXPECT_NE(Print(**module).find("ten.sigmoid"), std::string::npos);
}

TEST(ContextIdentity, TellsContextsAtOneAddressApart) {
  ContextIdentity last;
  ForEachContext(3, [&](Context& context) {
    EXPECT_FALSE(last.IsOf(context));
    last = ContextIdentity(context);
    EXPECT_TRUE(last.IsOf(context));
  });
}

}  // namespace
}  // namespace tenon
