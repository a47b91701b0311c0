// Texts that are almost what a parser wants.
#ifndef TENON_TESTS_FUZZ_MUTATOR_H_
#define TENON_TESTS_FUZZ_MUTATOR_H_

#include <random>
#include <string>
#include <vector>

namespace tenon::fuzz {

// Paragraphs of the golden files below `folder` of tests/golden, in the same order every time.
std::vector<std::string> GoldenCorpus(const std::string& folder = "");

// How many texts to try, and of which seed: TENON_FUZZ_ROUNDS and TENON_FUZZ_SEED explore further.
int Rounds(int otherwise);
unsigned Seed();

// Changes the texts of a corpus in a few places each; deterministic.
class Mutator {
 public:
  // `pieces`: text at which a parser may trip. Both must outlive the mutator.
  Mutator(const std::vector<std::string>& corpus, const std::vector<std::string>& pieces,
          unsigned seed)
      : corpus_(corpus), pieces_(pieces), random_(seed) {}

  std::string Next();

 private:
  size_t Below(size_t n) { return n == 0 ? 0 : random_() % n; }
  size_t Place(const std::string& text);
  void Mutate(std::string& text);

  const std::vector<std::string>& corpus_;
  const std::vector<std::string>& pieces_;
  std::mt19937 random_;
};

}  // namespace tenon::fuzz

#endif  // TENON_TESTS_FUZZ_MUTATOR_H_
