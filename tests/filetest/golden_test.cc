// Every file below tests/golden is a test. See README.md there for the format.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "tests/filetest/golden_file.h"
#include "tests/filetest/runner.h"

namespace tenon::filetest {
namespace {

std::string GoldenRoot() { return TENON_SOURCE_DIR "/tests/golden"; }

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, Matches) { RunGoldenFile(GoldenRoot(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(ListGoldenFiles(GoldenRoot())),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return TestName(info.param);
                         });

TEST(GoldenFileTest, SplitsIntoCases) {
  constexpr const char* kText =
      "// test: opt cse,dce\n// options: generic once\n\n// Why.\na.b() : () -> ()\n// x\n//   "
      "y\n//\n\nc.d()  // error: no\n";
  absl::StatusOr<GoldenFile> file = ParseGoldenFile(kText);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->kind, "opt");
  EXPECT_EQ(file->argument, "cse,dce");
  EXPECT_TRUE(file->Has("once"));
  EXPECT_FALSE(file->Has("locations"));
  ASSERT_EQ(file->cases.size(), 2u);
  EXPECT_EQ(file->cases[0].first_line, 5u);
  EXPECT_EQ(file->cases[0].expected, (std::vector<std::string>{"x", "  y", ""}));
  std::vector<ExpectedError> errors = ExpectedErrors(file->cases[1]);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].line, 10u);
  EXPECT_EQ(errors[0].text, "no");
  EXPECT_EQ(WriteGoldenFile(*file), kText);
}

TEST(GoldenFileTest, RefusesAFileWithoutATest) {
  EXPECT_FALSE(ParseGoldenFile("a.b() : () -> ()\n").ok());
}

TEST(GoldenFileTest, DiffShowsWhatChanged) {
  std::string diff = UnifiedDiff({"a", "b", "c"}, {"a", "x", "c"});
  EXPECT_EQ(diff, "--- expected\n+++ actual\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
}

}  // namespace
}  // namespace tenon::filetest

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* bless = std::getenv("TENON_BLESS");
  bool on = bless != nullptr && std::strcmp(bless, "1") == 0;
  for (int i = 1; i < argc; ++i) on |= std::strcmp(argv[i], "--bless") == 0;
  tenon::filetest::set_bless(on);
  return RUN_ALL_TESTS();
}
