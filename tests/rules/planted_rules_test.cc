// The rules of planted/: the check finds the wrong ones and accuses no right one.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "drr/check/check.h"
#include "drr/text/text.h"
#include "executor/evaluator.h"
#include "executor/passes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/dialects.h"
#include "patterns/facts/facts.h"
#include "tests/rules/thoroughness.h"

namespace tenon::drr {
namespace {

// Wrong rules that the check does not find. The test fails for one that it does find: take it out.
const std::set<std::string> kMissed = {};

// Right rules that the check accuses, or cannot check.
const std::set<std::string> kAccused = {};

std::string Folder(const std::string& kind) {
  return std::string(TENON_SOURCE_DIR) + "/tests/rules/planted/" + kind;
}

std::vector<std::string> NamesIn(const std::string& kind) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(Folder(kind)))
    if (entry.path().extension() == ".drr") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

CheckReport Check(const std::string& kind, const std::string& name) {
  std::ifstream file(Folder(kind) + "/" + name + ".drr");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Context context;
  RegisterAllDialects(context);
  const auto rules = ParseRules(text, name + ".drr", context, pattern::Facts());
  EXPECT_TRUE(rules.ok()) << rules.status();
  if (!rules.ok() || rules->size() != 1) return {};
  ReferenceEvaluator evaluator(MakeKernelRegistry());
  return CheckRule((*rules)[0], context, evaluator, TestedThoroughness());
}

class PlantedWrong : public ::testing::TestWithParam<std::string> {};
class PlantedRight : public ::testing::TestWithParam<std::string> {};

TEST_P(PlantedWrong, IsFound) {
  const CheckReport report = Check("wrong", GetParam());
  // A few programs need not show it.
  if (kWholeCheck) {
    EXPECT_EQ(report.wrong(), kMissed.count(GetParam()) == 0) << report.status();
  }
  if (!report.wrong()) return;
  // Whoever looks for the mistake runs the program that is printed.
  const std::string& failure = report.failures[0];
  const size_t begin = failure.find(":\n"), end = failure.find("\nbecomes\n");
  ASSERT_NE(begin, std::string::npos) << failure;
  // It does not end, or its result has another shape.
  if (end == std::string::npos) return;
  Context context;
  RegisterAllDialects(context);
  const absl::StatusOr<OwnedOp> module =
      ParseModule(context, failure.substr(begin + 2, end - begin - 2));
  ASSERT_TRUE(module.ok()) << module.status() << "\n" << failure;
  EXPECT_THAT(failure, ::testing::HasSubstr("// input 0: ["));
}

TEST_P(PlantedRight, IsNotAccused) {
  const CheckReport report = Check("right", GetParam());
  EXPECT_EQ(report.ok(), kAccused.count(GetParam()) == 0) << report.status();
}

INSTANTIATE_TEST_SUITE_P(All, PlantedWrong, ::testing::ValuesIn(NamesIn("wrong")),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(All, PlantedRight, ::testing::ValuesIn(NamesIn("right")),
                         [](const auto& info) { return info.param; });

// Names of rules that there are not would go unnoticed.
TEST(Planted, ListsNameRules) {
  const std::vector<std::string> wrong = NamesIn("wrong"), right = NamesIn("right");
  EXPECT_GE(wrong.size(), 60u);
  EXPECT_GE(right.size(), 30u);
  EXPECT_TRUE(std::includes(wrong.begin(), wrong.end(), kMissed.begin(), kMissed.end()));
  EXPECT_TRUE(std::includes(right.begin(), right.end(), kAccused.begin(), kAccused.end()));
}

}  // namespace
}  // namespace tenon::drr
