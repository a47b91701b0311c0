#include "ir/base/text_diff.h"

#include <string>
#include <vector>

#include "fmt/format.h"
#include "gtest/gtest.h"

namespace tenon {
namespace {

std::string DiffOf(std::string_view before, std::string_view after, size_t around = 3) {
  return UnifiedDiff(before, after, "a", "b", around);
}

// What `patch` makes of it.
std::string Patched(const std::string& before, const std::string& diff) {
  const auto lines_of = [](std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      lines.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
  };
  const std::vector<std::string> old = lines_of(before);
  std::string result;
  size_t at = 0;
  for (const std::string& line : lines_of(diff)) {
    if (line.starts_with("--- ") || line.starts_with("+++ ")) continue;
    const std::string text = line.substr(1);
    if (line.starts_with("@@ -")) {
      const size_t first = std::stoul(line.substr(4));
      const bool none = line.substr(0, line.find(" +")).ends_with(",0");
      while (at < (none ? first : first - 1)) result += old[at++] + "\n";
    } else if (line[0] == '+') {
      result += text + "\n";
    } else {
      EXPECT_LT(at, old.size());
      EXPECT_EQ(old[at], text);
      if (line[0] == ' ') result += text + "\n";
      ++at;
    }
  }
  while (at < old.size()) result += old[at++] + "\n";
  return result;
}

TEST(TextDiffTest, ShowsLinesWithWhatIsAround) {
  EXPECT_EQ(DiffOf("a\nb\nc\n", "a\nb\nc\n"), "");
  EXPECT_EQ(DiffOf("a\nb\nc\n", "a\nx\nc\n"), "--- a\n+++ b\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
  EXPECT_EQ(DiffOf("", "x\n"), "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n");
  EXPECT_EQ(DiffOf("x\ny\n", ""), "--- a\n+++ b\n@@ -1,2 +0,0 @@\n-x\n-y\n");
  EXPECT_EQ(DiffOf("1\n2\n3\n4\n5\n6\n", "1\n2\n3\nx\n5\n6\n", 1),
            "--- a\n+++ b\n@@ -3,3 +3,3 @@\n 3\n-4\n+x\n 5\n");
}

TEST(TextDiffTest, JoinsDifferencesThatAreNear) {
  std::string before, after, far;
  for (int i = 0; i < 30; ++i) {
    before += fmt::format("{}\n", i);
    after += i == 10 || i == 16 ? "x\n" : fmt::format("{}\n", i);
    far += i == 10 || i == 19 ? "x\n" : fmt::format("{}\n", i);
  }
  const auto heads = [](const std::string& diff) {
    size_t count = 0;
    for (size_t at = 0; (at = diff.find("@@ -", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(heads(DiffOf(before, after)), 1u);
  EXPECT_EQ(heads(DiffOf(before, far)), 2u);
  EXPECT_EQ(Patched(before, DiffOf(before, after)), after);
  EXPECT_EQ(Patched(before, DiffOf(before, far)), far);
}

TEST(TextDiffTest, PatchesToWhatIsBehind) {
  uint32_t state = 1;
  const auto random = [&](uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
  };
  for (int round = 0; round < 400; ++round) {
    std::string before, after;
    const uint32_t words = 1 + random(round < 200 ? 4 : 200), lines = random(40);
    for (uint32_t i = 0; i < lines; ++i) {
      const std::string line = fmt::format("line {}\n", random(words));
      if (random(8) != 0) before += line;
      if (random(8) != 0) after += line;
      if (random(8) == 0) after += fmt::format("line {}\n", random(words));
    }
    for (const size_t around : {0u, 1u, 3u}) {
      const std::string diff = DiffOf(before, after, around);
      ASSERT_EQ(Patched(before, diff), after) << before << "to\n" << after << "by\n" << diff;
    }
  }
}

// More edits than the search for the fewest tries.
TEST(TextDiffTest, LongTextsThatDifferEverywhere) {
  std::string before, after;
  for (int i = 0; i < 20000; ++i) {
    before += fmt::format("%{} = a.b() {}\n", i, i % 5);
    after +=
        i % 4 == 0 ? fmt::format("%{} = a.b() {}\n", i, i % 5) : fmt::format("%{} = a.c()\n", i);
  }
  const std::string diff = DiffOf(before, after);
  EXPECT_EQ(Patched(before, diff), after);
  EXPECT_EQ(Patched(before, DiffOf(before, "x\n")), "x\n");
}

}  // namespace
}  // namespace tenon
