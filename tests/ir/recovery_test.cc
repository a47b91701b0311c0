// Several errors of one reading, with their lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/source_line.h"
#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using test::TestIr;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> MessagesOf(std::string_view text) {
  TestIr ir;
  EXPECT_FALSE(ParseModule(ir.context, text, {.file_name = "f.ir"}).ok());
  return ir.messages;
}

TEST(RecoveryTest, EachBrokenOpIsTold) {
  EXPECT_THAT(MessagesOf("%0 = t.source() : () -> f32\n"
                         "%1 = t.binary(%0, %0) : (f32) -> f32\n"
                         "  %2 = t.sourse() : () -> f32\n"
                         "%3 = t.binary(%1, %2) : (f32, f64) -> f32\n"
                         "%4 = t.source() : () ->\n"
                         "%5 = t.binary(%0, %9) : (f32, f32) -> f32\n"),
              ElementsAre("f.ir:2:25: error: 2 operands, but 1 operand types\n"
                          "%1 = t.binary(%0, %0) : (f32) -> f32\n"
                          "                        ^",
                          "f.ir:3:8: error: unknown op 't.sourse' in dialect 't'; did you mean "
                          "'t.source'?\n"
                          "  %2 = t.sourse() : () -> f32\n"
                          "       ^",
                          "f.ir:5:24: error: expected a type, got '%5'\n"
                          "%4 = t.source() : () ->\n"
                          "                       ^",
                          "f.ir:6:19: error: value '%9' is not defined\n"
                          "%5 = t.binary(%0, %9) : (f32, f32) -> f32\n"
                          "                  ^"));
}

TEST(RecoveryTest, RegionsAndBlocksGoOn) {
  EXPECT_THAT(MessagesOf("t.region() ({\n"
                         "^a(%x: f32, %y f32):\n"
                         "  t.branch(%x, %y)[^b] : (f32, f32) -> ()\n"
                         "^c:\n"
                         "  %0 = t.source() : () -> f32 f32\n"
                         "  t.end(%0) : (f32) -> ()\n"
                         "}) : () -> ()\n"
                         "t.region() {x = #nothing} : () -> ()\n"
                         "t.region() {x = #nothing} : () -> ()\n"
                         "t.source() : () -> !none\n"),
              ElementsAre(HasSubstr("f.ir:2:16: error: expected ':' and the type of a block"),
                          HasSubstr("f.ir:5:31: error: expected '(' after op name 'f32'"),
                          HasSubstr("f.ir:3:20: error: block '^b' is not defined"),
                          HasSubstr("f.ir:8:17: error: undefined attribute alias '#nothing'"),
                          HasSubstr("f.ir:10:20: error: undefined type alias '!none'")));
}

TEST(RecoveryTest, ABrokenAliasIsToldOnce) {
  EXPECT_THAT(MessagesOf("!t = tensor<2xq32>\n"
                         "%0 = t.source() : () -> !t\n"
                         "%1 = t.binary(%0, %0) : (!t, !t) -> !t\n"
                         "%2 = t.source() : () -> f33\n"),
              ElementsAre(HasSubstr("f.ir:1:"), HasSubstr("f.ir:4:25: ")));
}

TEST(RecoveryTest, AMissingBraceEndsTheReading) {
  EXPECT_THAT(MessagesOf("t.region() ({\n  t.region() ({\n    t.source() : () -> f32\n"),
              ElementsAre(HasSubstr("expected '}' after a region, got the end of the text")));
}

TEST(RecoveryTest, TheFirstErrorsAreTold) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += fmt::format("t.unknown{}() : () -> ()\n", i);
  const std::vector<std::string> messages = MessagesOf(text);
  ASSERT_EQ(messages.size(), 21u);
  EXPECT_THAT(messages.back(), HasSubstr("remark: reading ends here, after 20 errors"));
}

TEST(RecoveryTest, TheVerifierShowsLinesToo) {
  EXPECT_THAT(MessagesOf("\n  t.binary() : () -> ()\n"),
              testing::Contains(HasSubstr("\n  t.binary() : () -> ()\n  ^")));
}

TEST(SourceLineTest, LongLinesAndOddCharacters) {
  EXPECT_EQ(SourceLine("ab", 1), "ab\n ^");
  EXPECT_EQ(SourceLine("ab", 9), "ab\n  ^");
  EXPECT_EQ(SourceLine("\té\x1bx", 4), " é\\1Bx\n     ^");
  const std::string line = std::string(500, 'a') + "!" + std::string(500, 'b');
  EXPECT_EQ(SourceLine(line, 500), "..." + std::string(80, 'a') + "!" + std::string(79, 'b') +
                                       "...\n" + std::string(83, ' ') + "^");
}

}  // namespace
}  // namespace tenon
