// One spelling of a computation, and what must become of it.
#ifndef TENON_TESTS_SPELLINGS_SPELLING_H_
#define TENON_TESTS_SPELLINGS_SPELLING_H_

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/spellings/graph.h"

namespace tenon::spellings {

struct Spelling {
  const char* name;
  // What -O2 leaves, sorted, without constants: "nn.gelu ten.add". After a "!", what must not be
  // there: a near miss.
  const char* ops;
  std::function<void(Graph&)> build;
  int min_opset = 11;
  bool f16 = true;         // also spelled in f16
  const char* rules = "";  // families on request that are applied behind -O2
};

// Builds the spelling in every style, and compares -O2 with -O0 and with the reference kernels.
void Check(const Spelling& spelling);

inline void PrintTo(const Spelling& spelling, std::ostream* out) { *out << spelling.name; }

class SpellingTest : public ::testing::TestWithParam<Spelling> {};

inline std::string SpellingName(const ::testing::TestParamInfo<Spelling>& info) {
  return info.param.name;
}

}  // namespace tenon::spellings

// The spellings of a family, each as a test.
#define TENON_SPELLINGS(Family, ...)                               \
  using Family = ::tenon::spellings::SpellingTest;                 \
  TEST_P(Family, Fuses) { ::tenon::spellings::Check(GetParam()); } \
  INSTANTIATE_TEST_SUITE_P(All, Family, ::testing::ValuesIn(__VA_ARGS__), SpellingName)

#endif  // TENON_TESTS_SPELLINGS_SPELLING_H_
