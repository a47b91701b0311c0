// Rules that are compiled once for several runs.
#include "transforms/rules/rule_phase.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <system_error>

#include "drr/text/text.h"
#include "fmt/format.h"
#include "ir/core/context/context_identity.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/dialects.h"
#include "pass/pass_manager.h"
#include "patterns/prelude.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr char kSilu[] = R"ir(
func.func() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<4xf32>):
  %0 = ten.sigmoid(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ten.mul(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return(%1) : (tensor<4xf32>) -> ()
}) : () -> ()
)ir";

// Files of this process alone: tests run beside each other. They go when it ends.
class RuleFolder {
 public:
  RuleFolder() : path_(fs::path(::testing::TempDir()) / fmt::format("rule_phase_{}", getpid())) {
    fs::create_directories(path_);
  }
  ~RuleFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string Write(const std::string& name, const std::string& text) const {
    std::string file = path_ / name;
    std::ofstream(file) << text;
    return file;
  }

 private:
  const fs::path path_;
};

std::string WriteRules(const std::string& name, const std::string& text) {
  static const RuleFolder folder;
  return folder.Write(name, text);
}

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
  const std::string file = WriteRules(
      "wrong.drr", "rule wrong {\n  match   nn.gelu(ten.exp(x))\n  replace nn.gelu(y)\n}\n");
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

// Runs the pipeline on kSilu with rules of files, and of a host.
absl::Status RunWith(const std::string& pipeline, const std::vector<std::string>& files,
                     std::string& printed, std::vector<drr::Rule> host = {}) {
  PassRegistry registry;
  EXPECT_TRUE(RegisterTransformPasses(registry, host).ok());
  Context context;
  RegisterAllDialects(context);
  PassManager manager(registry);
  EXPECT_TRUE(manager.AddPipeline(pipeline).ok());
  PassContext services;
  services.rule_files = files;
  absl::StatusOr<OwnedOp> module = ParseModule(context, kSilu);
  EXPECT_TRUE(module.ok()) << module.status();
  const absl::Status status = manager.Run(module->get(), services).status();
  printed = Print(**module);
  return status;
}

// Whoever has read and compiled them hands them over: the file is not there any more.
TEST(GivenRules, ThatAreKnownAreNotReadAgain) {
  PassRegistry registry;
  EXPECT_TRUE(RegisterTransformPasses(registry).ok());
  Context context;
  RegisterAllDialects(context);
  const std::string text = "rule known { match sigmoid(x) replace tanh(x) lowers ops(sigmoid) }\n";
  auto rules = drr::ParseRules(text, "gone.drr", context);
  ASSERT_TRUE(rules.ok()) << rules.status();
  auto compiled = drr::CompiledRules::Create(*std::move(rules), context);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  PassContext services;
  services.rule_files = {"gone.drr"};
  RuleCacheOf(services).PutGiven(nullptr, services.rule_files, *compiled, context);
  PassManager manager(registry);
  ASSERT_TRUE(manager.AddPipeline("final-rules").ok());
  EXPECT_TRUE(FusesTo("ten.tanh", context, manager, services));
  // They are those of one Context and of these files.
  EXPECT_FALSE(RuleCacheOf(services).FindGiven(nullptr, {"others.drr"}, context).ok());
  Context other;
  RegisterAllDialects(other);
  EXPECT_FALSE(RuleCacheOf(services).FindGiven(nullptr, services.rule_files, other).ok());
}

TEST(GivenRules, MayNotHaveTheNameOfABuiltInRule) {
  std::string printed;
  const std::string file =
      WriteRules("silu.drr", "rule silu { match exp(x) replace tanh(x) lowers ops(exp) }\n");
  const absl::Status status = RunWith("fuse", {file}, printed);
  EXPECT_NE(status.message().find(
                "rule 'silu' has the name of the rule in patterns/activations/activation.cc:"),
            std::string::npos)
      << status;
}

// A rule that takes apart what a family makes: both would go on for ever.
TEST(GivenRules, ThatUndoAFamilyAreNamed) {
  const std::string file = WriteRules("undo.drr",
                                      "rule undo { match silu(x) replace mul(x, sigmoid(x)) "
                                      "lowers \"silu\" }\n");
  std::string printed;
  const absl::Status status = RunWith("infer-shapes,canonicalize,fuse", {file}, printed);
  EXPECT_NE(status.message().find("rewriting does not end: after 64 rounds of the family "
                                  "'activation' and the rules that are given beside it these "
                                  "still fire: silu (1 times), undo (1 times)"),
            std::string::npos)
      << status;
  // At the end nothing makes it again.
  const std::string final_file =
      WriteRules("undo_final.drr",
                 "rule undo { stage final match silu(x) replace mul(x, sigmoid(x)) "
                 "lowers \"silu\" }\n");
  EXPECT_TRUE(RunWith("infer-shapes,canonicalize,fuse,final-rules", {final_file}, printed).ok());
  EXPECT_NE(printed.find("ten.sigmoid"), std::string::npos);
}

// One that makes two of each would fill the memory before the last round.
TEST(GivenRules, ThatDoubleWhatAFamilyMakesEnd) {
  const std::string file = WriteRules("doubled.drr",
                                      "rule twice {\n  match silu(x)\n  let y = abs(x)\n  let z = "
                                      "neg(x)\n  replace mul(mul(y, sigmoid(y)), mul(z, "
                                      "sigmoid(z)))\n  lowers \"silu\"\n}\n");
  std::string printed;
  const absl::Status status = RunWith("infer-shapes,canonicalize,fuse", {file}, printed);
  EXPECT_NE(status.message().find("rewriting does not end: after "), std::string::npos) << status;
  EXPECT_EQ(status.message().find("after 64 rounds"), std::string::npos) << status;
}

// One set, whichever file they are in: what one makes the other matches.
TEST(GivenRules, OfFilesAndOfAHostWorkTogether) {
  const std::string first =
      WriteRules("first.drr", "rule one { match abs(x) replace relu(x) lowers \"abs\" }\n");
  const std::string second =
      WriteRules("second.drr", "rule two { match silu(x) replace abs(x) lowers \"silu\" }\n");
  const drr::Val x("x");
  const std::vector<drr::Rule> host = {
      drr::Rule("three").Match(pattern::Relu(x)).Replace(pattern::Tanh(x)).Lowers("relu")};
  std::string printed;
  EXPECT_TRUE(RunWith("infer-shapes,canonicalize,fuse", {first, second}, printed, host).ok());
  EXPECT_NE(printed.find("ten.tanh"), std::string::npos) << printed;
}

TEST(GivenRules, OfOneNameAreRefused) {
  const std::string first =
      WriteRules("first.drr", "rule one { match abs(abs(x)) replace abs(x) }\n");
  const std::string second =
      WriteRules("second.drr", "\nrule one { match neg(neg(x)) replace x }\n");
  std::string printed;
  for (const char* pass : {"fuse", "final-rules"}) {
    const absl::Status status = RunWith(pass, {first, second}, printed);
    EXPECT_NE(status.message().find(second + ":2: rule 'one' has the name of the rule in " + first +
                                    ":1"),
              std::string::npos)
        << status;
  }
  const std::string twice =
      WriteRules("twice.drr", "rule silu { match abs(abs(x)) replace abs(x) }\n");
  EXPECT_NE(RunWith("apply-rules{file=" + twice + "}", {}, printed)
                .message()
                .find("rule 'silu' has the name of the rule in patterns/activations/activation.cc"),
            std::string::npos);
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
