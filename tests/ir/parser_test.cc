#include "ir/core/text/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "fmt/format.h"
#include "ir/base/suggest.h"
#include "ir/core/block.h"
#include "ir/core/text/lexer.h"
#include "ir/core/text/printer.h"
#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using test::TestIr;
using testing::HasSubstr;

std::string ErrorOf(TestIr& ir, std::string_view text) {
  absl::StatusOr<OwnedOp> module =
      ParseModule(ir.context, text, {.file_name = "f.ir", .verify = false});
  return module.ok() ? "" : std::string(module.status().message());
}

TEST(LexerTest, Tokens) {
  Lexer lexer(
      "a.b$c %0#1 ^bb1 @f @\"a b\" !x.y #z 12 0x1F 1.5e-3 -> :: : // comment\n\"s\\\"t\" {-# #-} "
      "0x 1.e");
  std::vector<std::string_view> texts;
  std::vector<TokenKind> kinds;
  for (Token t = lexer.Next(); t.kind != TokenKind::kEof; t = lexer.Next()) {
    texts.push_back(t.text);
    kinds.push_back(t.kind);
  }
  EXPECT_THAT(texts, testing::ElementsAre("a.b$c", "%0", "#1", "^bb1", "@f", "@\"a b\"", "!x.y",
                                          "#z", "12", "0x1F", "1.5e-3", "->", "::", ":",
                                          "\"s\\\"t\"", "{-#", "#-}", "0", "x", "1.", "e"));
  EXPECT_EQ(kinds[0], TokenKind::kBareId);
  EXPECT_EQ(kinds[2], TokenKind::kHashId);
  EXPECT_EQ(kinds[9], TokenKind::kInteger);
  EXPECT_EQ(kinds[10], TokenKind::kFloat);
}

TEST(LexerTest, EndsAtTheEnd) {
  for (std::string_view text :
       {"", " ", "\"", "\"\\", "\"\\0", "@", "@\"", "%", "#", "{-", "//", "0x", "-"}) {
    Lexer lexer(text);
    int tokens = 0;
    while (lexer.Next().kind != TokenKind::kEof) ASSERT_LT(++tokens, 10) << text;
  }
}

TEST(LexerTest, Unescape) {
  EXPECT_EQ(Unescape("\"a\\n\\t\\\\\\\"\\41\""), "a\n\t\\\"A");
  EXPECT_FALSE(Unescape("\"\\4\"").has_value());
  EXPECT_TRUE(IsBareIdentifier("a.b_$1"));
  EXPECT_FALSE(IsBareIdentifier("1a"));
  EXPECT_FALSE(IsBareIdentifier(""));
}

TEST(SuggestTest, NearestName) {
  std::vector<std::string> names = {"canonicalize", "cse", "dce"};
  EXPECT_EQ(Nearest("cannonicalize", names), "canonicalize");
  EXPECT_EQ(Nearest("ces", names), "cse");
  EXPECT_EQ(Nearest("something", names), "");
  EXPECT_EQ(DidYouMean("dec", names), "; did you mean 'dce'?");
  EXPECT_EQ(DidYouMean("x", {}), "");
}

TEST(SuggestTest, TheSameOpOfAnotherDialectIsNearest) {
  const std::vector<std::string> ops = {"nn.gelu", "ten.relu", "relux"};
  EXPECT_EQ(DidYouMeanOp("nn.relu", ops), "; did you mean 'ten.relu'?");
  EXPECT_EQ(DidYouMeanOp("nn.gelo", ops), "; did you mean 'nn.gelu'?");
  EXPECT_EQ(DidYouMeanOp("nn.something", ops), "");
}

TEST(ParserTest, OneModuleIsTheModule) {
  TestIr ir;
  absl::StatusOr<OwnedOp> module =
      ParseModule(ir.context, "builtin.module() <{sym_name = \"m\"}> ({\n}) : () -> ()");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->attr("sym_name"), Attribute::Str(ir.context, "m"));
  module = ParseModule(ir.context, "%0 = \"t.source\"() : () -> f32");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->name(), "builtin.module");
  EXPECT_EQ((*module)->region().front().front()->name(), "t.source");
  module = ParseModule(ir.context, "");
  ASSERT_TRUE(module.ok());
  EXPECT_TRUE((*module)->region().front().empty());
}

TEST(ParserTest, PositionsBecomeLocations) {
  TestIr ir;
  absl::StatusOr<OwnedOp> module =
      ParseModule(ir.context, "\n  %0 = t.source() : () -> f32\nt.source() : () -> f32 loc(\"n\")",
                  {.file_name = "f.ir"});
  ASSERT_TRUE(module.ok());
  Operation* op = (*module)->region().front().front();
  EXPECT_EQ(DescribeLocation(ir.context, op->location()), "f.ir:2:8");
  EXPECT_EQ(DescribeLocation(ir.context, op->next()->location()), "n");
  module = ParseModule(ir.context, "t.source() : () -> f32", {.locate_by_text = false});
  EXPECT_TRUE((*module)->region().front().front()->location().is_unknown());
}

TEST(ParserTest, MissingSlotsTakeDefaults) {
  TestIr ir;
  absl::StatusOr<OwnedOp> module = ParseModule(ir.context, "t.tagged() <{axis = 1}> : () -> ()");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(
      Print(*(*module)->region().front().front(), {.generic = true}),
      "\"t.tagged\"() <{axis = 1 : i64, kind = \"a\", scale = 1.000000e+00 : f32}> : () -> ()");
}

TEST(ParserTest, AContextWithoutDialectsIsNamed) {
  Context context;
  EXPECT_THAT(std::string(ParseModule(context, "ten.add() : () -> ()").status().message()),
              HasSubstr("the Context has no dialects (RegisterAllDialects)"));
}

TEST(ParserTest, UnknownDialectsNeedPermission) {
  TestIr ir;
  EXPECT_THAT(ErrorOf(ir, "x.a() : () -> ()"),
              HasSubstr("f.ir:1:1: unknown dialect 'x' of op 'x.a'"));
  EXPECT_THAT(ErrorOf(ir, "t.source() : () -> !x.a"), HasSubstr("unknown dialect 'x'"));
  ir.context.AllowUnregisteredDialect("x");
  EXPECT_EQ(ErrorOf(ir, "x.a() {a = #x.b<1>} : () -> !x.a"), "");
  EXPECT_THAT(ErrorOf(ir, "y.a() : () -> ()"), HasSubstr("unknown dialect 'y'"));
  ir.context.set_allow_unregistered_dialects(true);
  EXPECT_EQ(ErrorOf(ir, "y.a() : () -> ()"), "");
  EXPECT_THAT(ErrorOf(ir, "t.soruce() : () -> ()"),
              HasSubstr("unknown op 't.soruce' in dialect 't'; did you mean 't.source'?"));
}

TEST(ParserTest, LimitsAreErrors) {
  TestIr ir;
  ir.context.set_allow_unregistered_dialects(true);
  std::string deep, arrays = "x.a() {a = ", types = "x.a() : () -> ";
  for (int i = 0; i < 300; ++i) deep += "x.a() ({\n", arrays += "[", types += "tuple<";
  EXPECT_THAT(ErrorOf(ir, deep), HasSubstr("nested deeper than 256 levels"));
  EXPECT_THAT(ErrorOf(ir, arrays), HasSubstr("nested deeper than 256 levels"));
  EXPECT_THAT(ErrorOf(ir, types), HasSubstr("nested deeper than 256 levels"));
  std::string lists = "x.a() {a = dense<" + std::string(100000, '[');
  EXPECT_THAT(ErrorOf(ir, lists), HasSubstr("nested deeper than 256 levels"));
  std::string locations = "x.a() : () -> () loc(";
  for (int i = 0; i < 1000; ++i) locations += "\"n\"(";
  EXPECT_THAT(ErrorOf(ir, locations), HasSubstr("nested deeper than 256 levels"));
  std::string regions = "x.a() ({\n}";
  for (int i = 0; i < 20; ++i) regions += ", {\n}";
  EXPECT_THAT(ErrorOf(ir, regions + ") : () -> ()"), HasSubstr("an op has at most 15 regions"));
  EXPECT_THAT(
      ErrorOf(ir, "x.a() ({\n^a:\nx.b()[^a, ^a, ^a, ^a, ^a, ^a, ^a, ^a] : () -> ()\n}) : () -> ()"),
      HasSubstr("an op has at most 7 successors"));
  EXPECT_THAT(ErrorOf(ir, "%0:99999 = x.a() : () -> ()"),
              HasSubstr("expected the number of results"));
  std::string dims = "x.a() : () -> tensor<";
  for (int i = 0; i < 300; ++i) dims += "1x";
  EXPECT_THAT(ErrorOf(ir, dims + "f32>"), HasSubstr("at most 256 dimensions"));
}

TEST(ParserTest, AnErrorLeavesNothingBehind) {
  TestIr ir;
  ir.context.set_allow_unregistered_dialects(true);
  size_t before = ir.context.op_bytes_in_use();
  EXPECT_NE(ErrorOf(ir,
                    "x.a() ({\n x.b(%later) : (f32) -> ()\n}, {\n %later = x.c() : () -> f32\n "
                    "x.d()[^nowhere] : () -> ()"
                    "\n}) : () -> ()\n%0 = x.e(%0, %1) : (f32, f32) -> f32\n!"),
            "");
  EXPECT_EQ(ir.context.op_bytes_in_use(), before);
}

TEST(ParserTest, ForwardUsesAreReplaced) {
  TestIr ir;
  ir.context.set_allow_unregistered_dialects(true);
  absl::StatusOr<OwnedOp> module =
      ParseModule(ir.context,
                  "x.g() ({\n x.use(%0#1, %0#0, %0#1) : (f32, i1, f32) -> ()\n %0:2 = x.a() : () "
                  "-> (i1, f32)\n}) : () -> ()");
  ASSERT_TRUE(module.ok()) << module.status();
  Operation* use = (*module)->region().front().front()->region().front().front();
  EXPECT_EQ(use->operand(0), use->next()->result(1));
  EXPECT_EQ(use->operand(1), use->next()->result(0));
  EXPECT_EQ(use->next()->result(1).num_uses(), 2u);
}

TEST(ParserTest, NamesEndWithTheirRegion) {
  TestIr ir;
  ir.context.set_allow_unregistered_dialects(true);
  EXPECT_EQ(ErrorOf(ir,
                    "x.a() ({\n %v = x.b() : () -> f32\n}, {\n %v = x.b() : () -> f32\n}) : () -> "
                    "()\n%v = x.b() : () -> f32"),
            "");
  EXPECT_THAT(
      ErrorOf(ir, "%v = x.b() : () -> f32\nx.a() ({\n %v = x.b() : () -> f32\n}) : () -> ()"),
      HasSubstr("f.ir:3:2: value '%v' is defined twice"));
  EXPECT_EQ(ir.messages.back(),
            "f.ir:3:2: error: value '%v' is defined twice\n %v = x.b() : () -> f32\n ^\n"
            "f.ir:1:1: note: the first definition is here\n%v = x.b() : () -> f32\n^");
}

TEST(ParserTest, TypesAndAttributesStandAlone) {
  Context context;
  EXPECT_FALSE(ParseType(context, "tensor<2xf32> x").ok());
  EXPECT_FALSE(ParseType(context, "").ok());
  EXPECT_FALSE(ParseAttribute(context, "1 2").ok());
  EXPECT_EQ(ParseAttribute(context, " 1 : i32 ")->text(), "1 : i32");
}

TEST(ParserTest, IntegersKeepTheirBits) {
  Context context;
  EXPECT_EQ(ParseAttribute(context, "255 : i8")->text(), "-1 : i8");
  EXPECT_EQ(ParseAttribute(context, "0xFF : i16")->text(), "255 : i16");
  EXPECT_EQ(ParseAttribute(context, "18446744073709551615 : i64")->text(), "-1 : i64");
  EXPECT_EQ(ParseAttribute(context, "-9223372036854775808")->text(), "-9223372036854775808 : i64");
  EXPECT_FALSE(ParseAttribute(context, "-9223372036854775809").ok());
  EXPECT_FALSE(ParseAttribute(context, "256 : i8").ok());
  EXPECT_FALSE(ParseAttribute(context, "-129 : i8").ok());
  EXPECT_EQ(ParseAttribute(context, "1 : i1")->text(), "true");
}

// Twice the text takes about twice the time, in every direction in which text can grow.
TEST(ParserTest, TimeIsLinear) {
  auto seconds = [](const std::string& text) {
    Context context;
    test::RegisterTestDialect(context);
    context.set_allow_unregistered_dialects(true);
    std::clock_t begin = std::clock();  // of the processor: other load does not count
    absl::StatusOr<OwnedOp> module = ParseModule(context, text, {.verify = false});
    EXPECT_TRUE(module.ok()) << module.status();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  auto straight = [](int n, const char* newline) {
    std::string text;
    for (int i = 0; i < n; ++i) text += fmt::format("%{} = t.source() : () -> f32{}", i, newline);
    return text;
  };
  auto backwards = [](int n) {
    std::string text = "x.g() ({\n";
    for (int i = n; i-- > 0;) text += fmt::format("%{} = x.a(%{}) : (f32) -> f32\n", i + 1, i);
    return text + "%0 = t.source() : () -> f32\n}) : () -> ()";
  };
  auto blocks = [](int n) {
    std::string text = "x.g() ({\n";
    for (int i = 0; i < n; ++i)
      text += fmt::format("^bb{}:\n x.br()[^bb{}] : () -> ()\n", i, (i + 1) % n);
    return text + "}) : () -> ()";
  };
  constexpr int kSize = 10000;
  for (auto make : std::vector<std::function<std::string(int)>>{
           [&](int n) { return straight(n, "\n"); }, [&](int n) { return straight(n, " "); },
           backwards, blocks}) {
    double small = seconds(make(kSize));
    double large = seconds(make(8 * kSize));
    EXPECT_LT(large, 8 * small * 5 + 0.05);  // quadratic would be 64 times
  }
}

TEST(ParserTest, AnAttributeThatTheOpDoesNotHaveIsWarnedOf) {
  for (const std::string_view name : {"t.tagged", "\"t.tagged\""}) {
    TestIr ir;
    EXPECT_EQ(ErrorOf(ir, fmt::format("{}() {{axs = 1}} : () -> ()\n"
                                      "{}() {{axis = 1,\n zzzzzz}} : () -> ()\n"
                                      "{}() {{axs = 2, x.axs = 1, t.axs = 2}} : () -> ()\n",
                                      name, name, name)),
              "");
    ASSERT_EQ(ir.messages.size(), 2u);
    EXPECT_THAT(ir.messages[0], HasSubstr("warning: op 't.tagged' has no attribute 'axs'"));
    EXPECT_THAT(ir.messages[0], HasSubstr("did you mean 'axis'?"));
    EXPECT_THAT(ir.messages[1], HasSubstr("f.ir:3:2: warning"));
    EXPECT_THAT(ir.messages[1], HasSubstr("has no attribute 'zzzzzz'"));
    EXPECT_THAT(ir.messages[1], testing::Not(HasSubstr("did you mean")));
    // Among the properties it is an error.
    EXPECT_EQ(ErrorOf(ir, fmt::format("{}() <{{axis = 1, axs = 1}}> : () -> ()", name)),
              "f.ir:1:" + std::to_string(name.size() + 16) +
                  ": op 't.tagged' has no attribute 'axs'; did you mean 'axis'?");
  }
}

TEST(ParserTest, UnknownAttributesAreWarnedOfAFewTimes) {
  TestIr ir;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += fmt::format("t.source() {{u{}}} : () -> ()\n", i);
  EXPECT_EQ(ErrorOf(ir, text), "");
  EXPECT_EQ(ir.messages.size(), 21u);
  EXPECT_THAT(ir.messages.back(), HasSubstr("are not listed"));
}

}  // namespace
}  // namespace tenon
