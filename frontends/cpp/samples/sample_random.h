// Random numbers for sample inputs, and words in input names that tell their use.
#ifndef TENON_FRONTENDS_CPP_SAMPLES_SAMPLE_RANDOM_H_
#define TENON_FRONTENDS_CPP_SAMPLES_SAMPLE_RANDOM_H_

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string_view>

namespace tenon {

// A generator with the same numbers on every machine (splitmix64). Not thread-safe.
class SampleRandom {
 public:
  explicit SampleRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // In [0, 1).
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  // In [0, n); n must be positive.
  int64_t Below(int64_t n) { return static_cast<int64_t>(Next() % static_cast<uint64_t>(n)); }

 private:
  uint64_t state_;
};

// True if `text`, in any case, contains `part`, which must be in lower case.
inline bool ContainsIgnoringCase(std::string_view text, std::string_view part) {
  auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_SAMPLES_SAMPLE_RANDOM_H_
