// What names may show, and how much of them.
#include "ir/base/shown_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ir/base/limits.h"

namespace tenon {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

TEST(ShownText, PlainTextStays) {
  for (const char* text : {"", "/layer.0/MatMul_1", "a\nb\tc", "größe", "層", "\xf0\x9f\x98\x80"})
    EXPECT_EQ(ShownText(text), text);
}

TEST(ShownText, WhatChangesATerminalIsEscaped) {
  EXPECT_EQ(ShownText("\x1b[31mx\x07\r\x7f"), "\\1B[31mx\\07\\0D\\7F");
  EXPECT_EQ(ShownText(std::string_view("a\0b", 3)), "a\\00b");
  EXPECT_EQ(ShownText("\xc2\x9b"), "\\C2\\9B");                  // CSI in one character
  EXPECT_EQ(ShownText("\xe2\x80\xae"), "\\E2\\80\\AE");          // right to left
  EXPECT_EQ(ShownText("\xe2\x80\x8b"), "\\E2\\80\\8B");          // no width
  EXPECT_EQ(ShownText("\xef\xbb\xbf"), "\\EF\\BB\\BF");          // byte order mark
  EXPECT_EQ(ShownText("\xff\xc0\x80"), "\\FF\\C0\\80");          // no UTF-8
  EXPECT_EQ(ShownText("\xed\xa0\x80"), "\\ED\\A0\\80");          // a surrogate
  EXPECT_EQ(ShownText("x\xe2\x80"), "x\\E2\\80");                // cut off
  EXPECT_EQ(ShownText("\xf4\x90\x80\x80"), "\\F4\\90\\80\\80");  // beyond Unicode
}

TEST(ShownText, NamesHaveOneLine) {
  EXPECT_EQ(ShownName("a\nPASS\t"), "a\\0APASS\\09");
  const std::string name = ShownName("begin" + std::string(20 << 20, 'x') + "end");
  EXPECT_THAT(name, StartsWith("beginx"));
  EXPECT_THAT(name, EndsWith("xend"));
  EXPECT_LT(name.size(), kLongestShownName + 40);
  EXPECT_EQ(ShownName(std::string(kLongestShownName, 'x')), std::string(kLongestShownName, 'x'));
}

TEST(ShownText, LongNamesAreCutBetweenCharacters) {
  for (size_t shift = 0; shift < 3; ++shift) {
    std::string name(shift, 'x');
    while (name.size() < 2 * kLongestShownName) name += "\xe5\xb1\xa4";
    EXPECT_EQ(ShownName(name).find('\\'), std::string::npos) << shift;
  }
}

TEST(ShownText, EachLineOfAMessageIsShortened) {
  const std::string line(10000, 'x');
  const std::string message = ShownMessage("a\n" + line + "\nb");
  EXPECT_THAT(message, StartsWith("a\nxx"));
  EXPECT_THAT(message, EndsWith("xx\nb"));
  EXPECT_LT(message.size(), kMaxMessage + 50);
}

TEST(ShownText, LongWordsOfAMessageAreShortenedButNoPaths) {
  const std::string name(300, 'x');
  const std::string message = ShownMessage("rule '" + name + "': no");
  EXPECT_THAT(message, StartsWith("rule 'xx"));
  EXPECT_THAT(message, EndsWith("xx': no"));
  EXPECT_LT(message.size(), kLongestShownName + 50);
  const std::string path = "a/" + name + ".mlir:3:8: error: no";
  EXPECT_EQ(ShownMessage(path), path);
}

TEST(ShownText, JsonIsAsciiAndReadsBack) {
  const std::string text = "\"\\\n\x1b\x7f\xc2\x9bö層\xf0\x9f\x98\x80";
  const std::string quoted = JsonQuoted(text);
  for (const char c : quoted) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  EXPECT_EQ(nlohmann::json::parse(quoted).get<std::string>(), text);
  EXPECT_EQ(JsonQuoted("\xff"), "\"\\ufffd\"");
}

}  // namespace
}  // namespace tenon
