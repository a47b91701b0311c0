// compose-movement on programs too long to write down; tests/golden/transforms has the short ones.
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/dialects.h"
#include "ir/dialect/ten_ops.h"
#include "pass/pass_manager.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

class ComposeMovementTest : public ::testing::Test {
 protected:
  ComposeMovementTest() {
    RegisterAllDialects(context_);
    EXPECT_TRUE(RegisterTransformPasses(registry_).ok());
  }

  // Runs the pass on a function of `type` with this body; true if it changed something.
  bool Run(std::string_view type, std::string_view body) {
    const std::string text = fmt::format(
        "func.func() <{{function_type = ({0}) -> {0}, sym_name = \"main\"}}> ({{\n^bb0(%x0: "
        "{0}):\n{1}}}) : () -> ()\n",
        type, body);
    absl::StatusOr<OwnedOp> module = ParseModule(context_, text);
    EXPECT_TRUE(module.ok()) << module.status();
    PassManager manager(registry_);
    EXPECT_TRUE(manager.AddPipeline("compose-movement").ok());
    PassContext services;
    absl::StatusOr<PassResult> result = manager.Run(module->get(), services);
    EXPECT_TRUE(result.ok()) << result.status();
    gathers_ = transposes_ = 0;
    (*module)->Walk([&](Operation* op) {
      gathers_ += Isa<ten::GatherOp>(op);
      transposes_ += Isa<ten::TransposeOp>(op);
    });
    return result.ok() && result->changed;
  }

  Context context_;
  PassRegistry registry_;
  int gathers_ = 0, transposes_ = 0;
};

std::string Transposes(std::string_view type, std::string_view perm, int count) {
  std::string body;
  for (int i = 0; i < count; ++i) {
    body +=
        fmt::format("%x{1} = ten.transpose(%x{0}) <{{perm = array<i64: {2}>}}> : ({3}) -> {3}\n", i,
                    i + 1, perm, type);
  }
  return body + fmt::format("func.return(%x{}) : ({}) -> ()\n", count, type);
}

// Neither time nor stack grows with what comes before an op: a pass that looked at all of it for
// each op would take minutes.
TEST_F(ComposeMovementTest, LongChainsOfShortPieces) {
  const std::string_view type = "tensor<8x8xf32>";
  EXPECT_FALSE(Run(type, Transposes(type, "1, 0", 50000)));
  EXPECT_EQ(transposes_, 50000);
}

TEST_F(ComposeMovementTest, LongChainsOfLongPieces) {
  const std::string_view type = "tensor<2x2x64xf32>";
  EXPECT_TRUE(Run(type, Transposes(type, "1, 0, 2", 20001)));
  EXPECT_EQ(gathers_, 1);
  EXPECT_EQ(transposes_, 0);
}

}  // namespace
}  // namespace tenon
