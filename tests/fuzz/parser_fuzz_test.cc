// Mutated golden files: thousands of texts that are almost IR. Deterministic.
#include <gtest/gtest.h>

#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/ir_pieces.h"
#include "tests/fuzz/mutator.h"
#include "tests/sanitizers.h"

namespace tenon::fuzz {
namespace {

TEST(ParserFuzzTest, MutatedFilesNeverCrash) {
  const std::vector<std::string> corpus = GoldenCorpus();
  ASSERT_GT(corpus.size(), 50u);
  const int rounds = Rounds(3000);
  Mutator mutator(corpus, IrPieces(), Seed());
  int valid = 0;
  for (int i = 0; i < rounds; ++i) {
    std::string text = mutator.Next();
    bool verified = false;
    std::string problem = CheckText(text, &verified);
    ASSERT_EQ(problem, "") << "round " << i << ":\n" << text;
    valid += verified;
  }
  // Mutations that break everything would test little.
  EXPECT_GT(valid, rounds / 100);
}

TEST(ParserFuzzTest, EveryPrefixIsAnError) {
  const std::vector<std::string> corpus = GoldenCorpus();
  const size_t step = kUnderSanitizers ? 37 : 5;
  for (size_t i = 0; i < corpus.size(); i += 7) {
    std::string_view text = corpus[i];
    for (size_t n = 0; n < text.size(); n += step)
      ASSERT_EQ(CheckText(text.substr(0, n), nullptr), "") << text.substr(0, n);
  }
}

}  // namespace
}  // namespace tenon::fuzz
