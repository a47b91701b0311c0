// Mutated golden files: thousands of texts that are almost IR. Deterministic.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "ir/core/context/context.h"
#include "ir/dialect/dialects.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/ir_pieces.h"
#include "tests/fuzz/mutator.h"
#include "tests/sanitizers.h"

namespace tenon::fuzz {
namespace {

// Checks texts in one Context after the other, each for a number of texts.
class TextChecker {
 public:
  std::string Check(std::string_view text, bool* accepted) {
    constexpr int kTexts = 50;
    if (checked_++ % kTexts == 0) RegisterAllDialects(context_.emplace());
    return CheckTextIn(*context_, text, accepted);
  }

 private:
  std::optional<Context> context_;
  int checked_ = 0;
};

TEST(ParserFuzzTest, MutatedFilesNeverCrash) {
  const std::vector<std::string> corpus = GoldenCorpus();
  ASSERT_GT(corpus.size(), 50u);
  const int rounds = Rounds(3000);
  Mutator mutator(corpus, IrPieces(), Seed());
  TextChecker checker;
  int valid = 0;
  for (int i = 0; i < rounds; ++i) {
    std::string text = mutator.Next();
    bool verified = false;
    std::string problem = checker.Check(text, &verified);
    ASSERT_EQ(problem, "") << "round " << i << ":\n" << text;
    valid += verified;
  }
  // Mutations that break everything would test little.
  EXPECT_GT(valid, rounds / 100);
}

constexpr size_t kStep = 5;  // characters from one prefix to the next
constexpr size_t kTakenStep = kUnderSanitizers ? 37 : kStep;

TEST(ParserFuzzTest, AllPrefixesAreRead) {
  if (kTakenStep > kStep)
    GTEST_SKIP() << "a prefix for each " << kTakenStep << " characters instead of " << kStep
                 << ": builds without sanitizers read the others, which are like them";
}

TEST(ParserFuzzTest, EveryPrefixIsAnError) {
  const std::vector<std::string> corpus = GoldenCorpus();
  TextChecker checker;
  for (size_t i = 0; i < corpus.size(); i += 7) {
    std::string_view text = corpus[i];
    for (size_t n = 0; n < text.size(); n += kTakenStep)
      ASSERT_EQ(checker.Check(text.substr(0, n), nullptr), "") << text.substr(0, n);
  }
}

}  // namespace
}  // namespace tenon::fuzz
