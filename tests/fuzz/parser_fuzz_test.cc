// Mutated golden files: thousands of texts that are almost IR. Deterministic.
#include "tests/fuzz/parser_fuzz.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <vector>

namespace tenon::fuzz {
namespace {

// Paragraphs of all golden files.
std::vector<std::string> Corpus() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(TENON_SOURCE_DIR "/tests/golden")) {
    if (entry.path().extension() == ".ir") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> cases;
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file);
    std::string paragraph;
    for (std::string line; std::getline(in, line);) {
      if (!line.empty()) {
        if (line.substr(0, 2) != "//") paragraph += line + "\n";
        continue;
      }
      if (!paragraph.empty() && paragraph.size() < 4000) cases.push_back(paragraph);
      paragraph.clear();
    }
    if (!paragraph.empty() && paragraph.size() < 4000) cases.push_back(paragraph);
  }
  return cases;
}

// Pieces of text at which a parser may trip.
constexpr const char* kPieces[] = {"(",
                                   ")",
                                   "{",
                                   "}",
                                   "<",
                                   ">",
                                   "[",
                                   "]",
                                   ",",
                                   ":",
                                   "=",
                                   "->",
                                   "\"",
                                   "%0",
                                   "%0#1",
                                   "%a:2 = ",
                                   "^bb0",
                                   "^bb1:",
                                   "@f",
                                   "#a",
                                   "!a",
                                   "#core.dims<",
                                   "tensor<",
                                   "tensor<?x2xf32, [\"B\", \"\"]>",
                                   "dense<",
                                   "array<i64: 1>",
                                   "dense_resource<x>",
                                   "loc(",
                                   "unknown",
                                   "fused[",
                                   "{-#",
                                   "#-}",
                                   "0x",
                                   "-",
                                   "1.5e300",
                                   "99999999999999999999",
                                   "i1",
                                   "f32",
                                   "x.a()",
                                   "() -> ()",
                                   "?",
                                   "*x",
                                   "\\",
                                   "\n",
                                   "//",
                                   "<{",
                                   "}>",
                                   "({",
                                   "})",
                                   "operandSegmentSizes = array<i32: 1, 2>",
                                   "\x80",
                                   "\x01",
                                   "::",
                                   "true",
                                   "unit",
                                   "callsite(",
                                   " at "};

class Mutator {
 public:
  Mutator(const std::vector<std::string>& corpus, unsigned seed) : corpus_(corpus), random_(seed) {}

  std::string Next() {
    std::string text = corpus_[Below(corpus_.size())];
    for (size_t n = 1 + Below(3); n > 0; --n) Mutate(text);
    return text;
  }

 private:
  size_t Below(size_t n) { return n == 0 ? 0 : random_() % n; }
  // The begin of a token, mostly.
  size_t Place(const std::string& text) {
    size_t at = Below(text.size() + 1);
    if (Below(4) != 0) {
      while (at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0) ++at;
    }
    return at;
  }
  void Mutate(std::string& text) {
    size_t at = Place(text);
    switch (Below(7)) {
      case 0:
        text.erase(at, 1 + Below(8));
        break;
      case 1:
        text.insert(at, kPieces[Below(std::size(kPieces))]);
        break;
      case 2:
        text.replace(at, std::min<size_t>(1 + Below(4), text.size() - at),
                     kPieces[Below(std::size(kPieces))]);
        break;
      case 3:
        if (!text.empty()) text[Below(text.size())] = static_cast<char>(random_());
        break;
      case 4: {  // a part elsewhere
        size_t from = Place(text);
        text.insert(at, text.substr(from, 1 + Below(60)));
        break;
      }
      case 5: {  // a part of another
        const std::string& other = corpus_[Below(corpus_.size())];
        text.insert(at, other.substr(Place(other), 1 + Below(100)));
        break;
      }
      default: {  // another name or number
        size_t digit = text.find_first_of("0123456789", at);
        if (digit != std::string::npos) text[digit] = static_cast<char>('0' + Below(10));
      }
    }
  }

  const std::vector<std::string>& corpus_;
  std::mt19937 random_;
};

TEST(ParserFuzzTest, MutatedFilesNeverCrash) {
  const std::vector<std::string> corpus = Corpus();
  ASSERT_GT(corpus.size(), 50u);
  // TENON_FUZZ_ROUNDS and TENON_FUZZ_SEED explore further.
  const char* rounds_text = std::getenv("TENON_FUZZ_ROUNDS");
  const char* seed_text = std::getenv("TENON_FUZZ_SEED");
  int rounds = rounds_text != nullptr ? std::atoi(rounds_text) : 3000;
  Mutator mutator(corpus, seed_text != nullptr ? static_cast<unsigned>(std::atoi(seed_text)) : 1);
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
  const std::vector<std::string> corpus = Corpus();
  for (size_t i = 0; i < corpus.size(); i += 7) {
    std::string_view text = corpus[i];
    for (size_t n = 0; n < text.size(); n += 5)
      ASSERT_EQ(CheckText(text.substr(0, n)), "") << text.substr(0, n);
  }
}

}  // namespace
}  // namespace tenon::fuzz
