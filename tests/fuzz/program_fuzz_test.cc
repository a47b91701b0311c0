// Mutated golden files that are valid IR still: passes and compiler take them, or say why not.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "frontends/cpp/tenon.h"
#include "ir/core/text/parser.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/dialects.h"
#include "tests/fuzz/ir_pieces.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/near_miss.h"
#include "tests/fuzz/sample_run.h"

namespace tenon::fuzz {
namespace {

// What is wrong with how the program `text`, rewired, is optimised and compiled; empty if nothing
// is. Sets `valid` if it is a program at all.
std::string CheckProgram(const std::string& text, std::mt19937& random, bool& valid) {
  auto context = std::make_shared<Context>();
  RegisterAllDialects(*context);
  absl::StatusOr<OwnedOp> module = ParseModule(*context, text, ParseOptions());
  valid = module.ok();
  if (!valid) return {};
  Rewire(module->get(), random);
  valid = Verify(module->get()).ok();
  if (!valid) return {};
  Model model(context, *std::move(module));
  const absl::StatusOr<Program> plain = Compile(model, BoundedCompile());
  if (!plain.ok() && plain.status().message().empty()) return "an error without a message";
  const bool runs = plain.ok() && RunOnSample(model, *plain).has_value();
  const absl::Status optimized = Optimize(model);
  if (!optimized.ok()) {
    // What fails at run time in any case may be refused when it is optimised.
    if (runs) return "cannot be optimised: " + std::string(optimized.message());
    return optimized.message().empty() ? "an error without a message" : "";
  }
  if (const absl::Status status = Verify(model.module()); !status.ok()) {
    return "what passes made does not verify: " + std::string(status.message());
  }
  const absl::StatusOr<Program> program = Compile(model, BoundedCompile());
  if (program.ok() || !plain.ok()) return {};
  return "compiles no more once optimised: " + std::string(program.status().message());
}

class ProgramFuzzTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ProgramFuzzTest, ValidProgramsNeverCrashPasses) {
  const std::vector<std::string> corpus = GoldenCorpus(GetParam());
  ASSERT_GT(corpus.size(), 10u);
  const int rounds = Rounds(150);
  Mutator mutator(corpus, IrPieces(), Seed());
  std::mt19937 random(Seed());
  int programs = 0;
  for (int i = 0; i < rounds; ++i) {
    // Half of the texts stay as they are: few others verify.
    const std::string text = i % 2 == 0 ? mutator.Next() : corpus[random() % corpus.size()];
    bool valid = false;
    ASSERT_EQ(CheckProgram(text, random, valid), "") << "round " << i << ":\n" << text;
    programs += valid;
  }
  // Mutations that break everything would test little.
  EXPECT_GT(programs, rounds / 10);
}

INSTANTIATE_TEST_SUITE_P(Golden, ProgramFuzzTest,
                         ::testing::Values("exec", "patterns", "transforms"));

}  // namespace
}  // namespace tenon::fuzz
