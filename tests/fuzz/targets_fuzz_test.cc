// What libFuzzer runs, on its seeds and on seeds with a few changes. Deterministic.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/mutator.h"

namespace tenon::fuzz {
namespace {

struct Target {
  const char* name;
  Check check;
  std::vector<std::string> (*seeds)();
  int percent;  // of the seeds that are accepted: those of golden files show errors too
};

constexpr Target kTargets[] = {
    {"Onnx", CheckOnnx, OnnxSeeds, 100},
    {"Text", CheckText, TextSeeds, 70},
    {"Rules", CheckRules, RulesSeeds, 100},
    {"Npy", CheckNpy, NpySeeds, 100},
    {"Tensor", CheckTensor, TensorSeeds, 100},
    {"Safetensors", CheckSafetensors, SafetensorsSeeds, 100},
    {"Adapter", CheckAdapter, AdapterSeeds, 100},
    {"Ops", CheckOps, OpsSeeds, 100},
    {"Binary", CheckBinary, BinarySeeds, 100},
    {"Saved", CheckSaved, SavedSeeds, 100},
};

const std::vector<std::string>& BytePieces() {
  static const std::vector<std::string> pieces = {"\xff",
                                                  std::string(1, '\0'),
                                                  "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
                                                  "\x01",
                                                  "'",
                                                  "(",
                                                  ")",
                                                  "-1",
                                                  "9223372036854775807",
                                                  ",",
                                                  "\x12\x7f",
                                                  "99999999999999999999"};
  return pieces;
}

class TargetsFuzzTest : public ::testing::TestWithParam<Target> {};

TEST_P(TargetsFuzzTest, SeedsAreAccepted) {
  const std::vector<std::string> seeds = GetParam().seeds();
  ASSERT_GE(seeds.size(), 4u);
  int count = 0;
  for (size_t i = 0; i < seeds.size(); ++i) {
    bool accepted = false;
    EXPECT_EQ(GetParam().check(seeds[i], &accepted), "") << "seed " << i;
    count += accepted;
    if (!accepted && GetParam().percent == 100) ADD_FAILURE() << "refused:\n" << seeds[i];
  }
  EXPECT_GE(count * 100, static_cast<int>(seeds.size()) * GetParam().percent);
}

TEST_P(TargetsFuzzTest, ChangedSeedsNeverCrash) {
  const std::vector<std::string> seeds = GetParam().seeds();
  Mutator mutator(seeds, BytePieces(), Seed());
  const int rounds = Rounds(600);
  int refused = 0;
  for (int i = 0; i < rounds; ++i) {
    bool accepted = false;
    ASSERT_EQ(GetParam().check(mutator.Next(), &accepted), "") << "round " << i;
    refused += !accepted;
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, rounds);
}

INSTANTIATE_TEST_SUITE_P(All, TargetsFuzzTest, ::testing::ValuesIn(kTargets),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tenon::fuzz
