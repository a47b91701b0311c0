// Mutated rules: a rule set, or an error that names the place. Deterministic.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "drr/compile/compiled.h"
#include "drr/text/text.h"
#include "ir/dialect/dialects.h"
#include "patterns/prelude.h"
#include "tests/fuzz/mutator.h"

namespace tenon::fuzz {
namespace {

// The built-in rules that have a notation as text.
std::vector<std::string> RuleCorpus(Context& context) {
  std::vector<std::string> corpus;
  for (const drr::Rule& rule : pattern::AllRules()) {
    std::string text = drr::ToString(rule);
    if (drr::ParseRules(text, "rules", context, pattern::Facts()).ok())
      corpus.push_back(std::move(text));
  }
  return corpus;
}

const std::vector<std::string>& RulePieces() {
  static const std::vector<std::string> pieces = {"(",
                                                  ")",
                                                  "{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  ",",
                                                  "=",
                                                  "==",
                                                  "&&",
                                                  "||",
                                                  "!",
                                                  "|",
                                                  "any(",
                                                  "const ",
                                                  "each ",
                                                  "let n =",
                                                  "none",
                                                  "rule a ",
                                                  "match ",
                                                  "where ",
                                                  "replace",
                                                  "keep ",
                                                  "lowers ",
                                                  "requires",
                                                  "summary",
                                                  "benefit",
                                                  "x",
                                                  "rank(",
                                                  "if(",
                                                  "dim(x, 0)",
                                                  "[0]",
                                                  "{1..., ",
                                                  " - a",
                                                  " / ",
                                                  " % 0",
                                                  " in {",
                                                  " on constants",
                                                  "pattern p(x) = ",
                                                  "repeat(p, x, 0, 3)",
                                                  "\"",
                                                  "-1",
                                                  "1e400",
                                                  "99999999999999999999",
                                                  "0.5",
                                                  "relu(",
                                                  "softmax(",
                                                  "fused.linear(",
                                                  "/",
                                                  "* ",
                                                  "#",
                                                  "\x80",
                                                  "\x01",
                                                  "\n",
                                                  "shape = {",
                                                  "axis = "};
  return pieces;
}

TEST(RulesFuzzTest, MutatedRulesNeverCrash) {
  Context context;
  RegisterAllDialects(context);
  const std::vector<std::string> corpus = RuleCorpus(context);
  ASSERT_GE(corpus.size(), 20u);
  const int rounds = Rounds(3000);
  Mutator mutator(corpus, RulePieces(), Seed());
  int accepted = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::string text = mutator.Next();
    absl::StatusOr<std::vector<drr::Rule>> rules =
        drr::ParseRules(text, "rules.drr", context, pattern::Facts());
    if (!rules.ok()) {
      ASSERT_EQ(rules.status().message().substr(0, 10), "rules.drr:") << rules.status() << text;
      continue;
    }
    const auto set = drr::CompiledRules::Create(*std::move(rules), context);
    ASSERT_TRUE(set.ok() || !set.status().message().empty()) << text;
    accepted += set.ok();
  }
  EXPECT_GT(accepted, rounds / 100);
}

}  // namespace
}  // namespace tenon::fuzz
