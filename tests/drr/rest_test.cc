// The rest of the results of an operation, `parts#1...`, and attributes that ask whether an operand
// is there.
#include <string>

#include "drr/check/check.h"
#include "drr/rewrite/driver.h"
#include "drr/text/text.h"
#include "executor/evaluator.h"
#include "executor/passes.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/dialects.h"
#include "patterns/prelude.h"
#include "tests/drr/why_refused.h"

namespace tenon::pattern {
namespace {

using ::testing::HasSubstr;

class RestTest : public ::testing::Test {
 protected:
  RestTest() { RegisterAllDialects(context_); }

  std::vector<Rule> Read(const std::string& text) {
    auto rules = ParseRules(text, "x.drr", context_, Facts());
    if (!rules.ok()) ADD_FAILURE() << rules.status();
    return rules.ok() ? *std::move(rules) : std::vector<Rule>();
  }
  std::string Why(const std::string& text) { return drr::WhyRefused(text, context_, Facts()); }
  // The body of a function of one 2x6 matrix %x after the rules. It returns `results`, 2x2 matrices
  // with commas between them.
  std::string After(const std::string& rules, const std::string& body, const std::string& results) {
    auto compiled = CompiledRules::Create(Read(rules), context_);
    if (!compiled.ok()) return std::string(compiled.status().message());
    std::string types = "tensor<2x2xf32>";
    for (const char c : results) types += c == ',' ? ", tensor<2x2xf32>" : "";
    auto module = ParseModule(
        context_,
        fmt::format("func.func() <{{function_type = (tensor<2x6xf32>) -> ({0}), sym_name = "
                    "\"f\"}}> ({{\n^bb0(%x: tensor<2x6xf32>):\n{1}  func.return({2}) : ({0}) -> "
                    "()\n}}) : () -> ()\n",
                    types, body, results));
    if (!module.ok()) return std::string(module.status().message());
    PassContext pass;
    const auto applied = ApplyRules(*compiled, module->get(), pass);
    if (!applied.ok()) return std::string(applied.status().message());
    if (const absl::Status ok = Verify(module->get()); !ok.ok()) return std::string(ok.message());
    const std::string text = Print(**module);
    const size_t begin = text.find("):\n") + 3;
    return text.substr(begin, text.find("\n})") - begin);
  }
  std::string Check(const std::string& text) {
    ReferenceEvaluator evaluator(MakeKernelRegistry());
    std::string all;
    for (const Rule& rule : Read(text)) {
      const CheckReport report = CheckRule(rule, context_, evaluator);
      for (const std::string& failure : report.failures) all += failure + "\n";
      if (!report.ok() && report.failures.empty()) all += "no verdict\n";
    }
    return all;
  }

  Context context_;
};

constexpr char kNeg[] = "  %n = ten.neg(%x) : (tensor<2x6xf32>) -> tensor<2x6xf32>\n";
constexpr char kSplit[] =
    "  %a, %b, %c = ten.split({}) <{{axis = 1, sizes = #core.dims<2, 2, 2>}}> : (tensor<2x6xf32>) "
    "-> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>)\n";
constexpr char kUnneg[] =
    "rule unneg { let parts = split(neg(neg(x))) {axis = a, sizes = s}\n"
    "match parts, parts#1...\nlet made = split(x) {axis = a, sizes = s}\n"
    "replace made, made#1... }";

TEST_F(RestTest, StandsForAllResultsThatAreLeft) {
  const std::string body = std::string(kNeg) +
                           "  %m = ten.neg(%n) : (tensor<2x6xf32>) -> tensor<2x6xf32>\n" +
                           fmt::format(kSplit, "%m");
  const std::string after = After(kUnneg, body, "%c, %a, %b");
  EXPECT_THAT(after, HasSubstr("%a, %b, %c = ten.split(%x)"));
  EXPECT_THAT(after, HasSubstr("func.return(%c, %a, %b)"));
  EXPECT_EQ(after.find("ten.neg"), std::string::npos);
  EXPECT_EQ(Check(kUnneg), "");
}

// Two operations of which the results are one list: the second takes up where the first ends.
TEST_F(RestTest, OneListForTwoOperations) {
  const char* rule =
      "rule join { let one = split(x) {axis = 1, sizes = s}\nlet two = split(neg(x)) {axis = 1, "
      "sizes = s}\nmatch two, one#0..., two#1...\n"
      "let made = split(concat(neg(x), x) {axis = 1}) {axis = 1, sizes = {s..., s...}}\n"
      "replace made, made#1..., made#1... lowers ops(split) }";
  // Wrong: the results of `one` lie behind all of `two`.
  EXPECT_NE(Check(rule), "");
  const char* right =
      "rule join { let one = split(x) {axis = 1, sizes = s}\nlet two = split(neg(x)) {axis = 1, "
      "sizes = s}\nmatch one, one#1..., two#0...\n"
      "let made = split(concat(x, neg(x)) {axis = 1}) {axis = 1, sizes = {s..., s...}}\n"
      "replace made, made#1..., made#1... lowers ops(split) }";
  EXPECT_EQ(Check(right), "");
  std::string other = fmt::format(kSplit, "%n");
  for (const char* name : {"%a", "%b", "%c"})
    other.replace(other.find(name), 2, "%d" + std::string(name + 1));
  const std::string after = After(right, kNeg + fmt::format(kSplit, "%x") + other, "%b, %dc, %da");
  EXPECT_THAT(after, HasSubstr("func.return(%b, %dc, %da)"));
}

TEST_F(RestTest, AUseOfAResultThatIsNotReplacedKeepsTheMatchAway) {
  const std::string body = std::string(kNeg) + fmt::format(kSplit, "%n");
  const char* first_only =
      "rule r { match split(neg(x)) {axis = a, sizes = s}\n"
      "replace split(x) {axis = a, sizes = s} }";
  EXPECT_THAT(After(first_only, body, "%a, %c"), HasSubstr("ten.neg"));
}

TEST_F(RestTest, Mistakes) {
  EXPECT_THAT(Why("rule r { match split(neg(x)) {axis = a, sizes = s}#0...\nreplace split(x) {axis "
                  "= a, sizes = s}#0... }"),
              HasSubstr("the first value stands for several results"));
  EXPECT_THAT(Why("rule r { let p = split(neg(x)) {axis = a, sizes = s}\nmatch p, p#1...\n"
                  "let q = split(x) {axis = a, sizes = s}\nreplace q, q#1 }"),
              HasSubstr("expected the rest of results for both, or for none"));
  EXPECT_THAT(Why("rule r { let p = split(neg(x)) {axis = a, sizes = s}\nmatch p, p#1..., p#2\n"
                  "let q = split(x) {axis = a, sizes = s}\nreplace q, q#1..., q#2 }"),
              HasSubstr("is matched twice"));
  EXPECT_THAT(
      Why("rule r { let p = relu(neg(x))\nmatch p, relu(p)#0...\nreplace x, relu(x)#0... }"),
      HasSubstr("x.drr:2:18: ten.relu(ten.relu(ten.neg(x)))#0... stands for a list of results, and "
                "ten.relu has "
                "exactly 1 (expected one of them, such as '#0')"));
  EXPECT_THAT(
      Why("rule r { match relu(split(x) {axis = any, sizes = any}#0...)\nreplace x }"),
      HasSubstr("x.drr:1:21: ten.split(x) {axis = any, sizes = any}#0... stands for several "
                "results, and operand 'x' of ten.relu is one value"));
  EXPECT_THAT(Why("rule r { match concat(relu(x)#1, x) {axis = 0}\nreplace x }"),
              HasSubstr("x.drr:1:31: ten.relu has 1 result (expected a number below 1)"));
  EXPECT_THAT(
      Why("rule r { let p = relu(x)\nmatch concat(each p) {axis = 0}\nreplace x }"),
      HasSubstr(
          "x.drr:2:19: ten.relu(x)#0... stands for a list of results, and ten.relu has exactly 1"));
}

// ---- results as operands -----------------------------------------------------------------------

constexpr char kJoin[] =
    "rule join { let parts = split(x) {axis = a, sizes = any}\n"
    "match concat(parts, parts#1...) {axis = a}\nreplace x }";
constexpr char kJoinEach[] =
    "rule join { let parts = split(x) {axis = a, sizes = any}\n"
    "match concat(each parts) {axis = a}\nreplace x }";

TEST_F(RestTest, AllResultsAreOperands) {
  for (const char* rule : {kJoin, kJoinEach}) {
    const std::string body =
        fmt::format(kSplit, "%x") +
        "  %y = ten.concat(%a, %b, %c) <{axis = 1}> : (tensor<2x2xf32>, tensor<2x2xf32>, "
        "tensor<2x2xf32>) -> tensor<2x6xf32>\n"
        "  %n = ten.neg(%y) : (tensor<2x6xf32>) -> tensor<2x6xf32>\n";
    // The function returns a part of the result, so that its type is that of other tests.
    std::string part = fmt::format(kSplit, "%n");
    for (const char* name : {"%a", "%b", "%c"})
      part.replace(part.find(name), 2, "%d" + std::string(name + 1));
    const std::string after = After(rule, body + part, "%da");
    EXPECT_EQ(after.find("ten.concat"), std::string::npos) << after;
    EXPECT_THAT(after, HasSubstr("ten.neg(%x)"));
    EXPECT_EQ(Check(rule), "");
  }
}

TEST_F(RestTest, OnlyAllResultsInTheirOrderAreOperands) {
  for (const char* operands : {"%a, %c, %b", "%a, %b, %b", "%x2, %b, %c", "%b, %c, %a"}) {
    const std::string body =
        fmt::format(kSplit, "%x") + "  %x2 = ten.neg(%a) : (tensor<2x2xf32>) -> tensor<2x2xf32>\n" +
        fmt::format(
            "  %y = ten.concat({}) <{{axis = 1}}> : (tensor<2x2xf32>, tensor<2x2xf32>, "
            "tensor<2x2xf32>) -> tensor<2x6xf32>\n",
            operands);
    std::string part = fmt::format(kSplit, "%y");
    for (const char* name : {"%a", "%b", "%c"})
      part.replace(part.find(name), 2, "%d" + std::string(name + 1));
    for (const char* rule : {kJoin, kJoinEach})
      EXPECT_THAT(After(rule, body + part, "%da"), HasSubstr("ten.concat")) << operands;
  }
}

// Results of what the rule makes, and single results in another order.
TEST_F(RestTest, ResultsOfMadeOperations) {
  const char* all =
      "rule r { let parts = split(neg(x)) {axis = a, sizes = s}\n"
      "match concat(each parts) {axis = a}\nlet made = split(x) {axis = a, sizes = s}\n"
      "replace neg(concat(made#0...) {axis = a}) lowers before(neg, split) }";
  EXPECT_EQ(Check(all), "");
  const char* two =
      "rule r { let parts = split(neg(x)) {axis = a, sizes = {M, N}}\n"
      "match concat(parts#1, parts) {axis = a}\nlet made = split(x) {axis = a, sizes = {M, N}}\n"
      "replace neg(concat(made#1, made) {axis = a}) lowers before(neg, split) }";
  EXPECT_EQ(Check(two), "");
  const char* wrong =
      "rule r { let parts = split(neg(x)) {axis = a, sizes = any}\n"
      "match concat(parts#1, parts) {axis = a}\nreplace neg(x) }";
  EXPECT_NE(Check(wrong), "");
  for (const char* rule : {all, two, kJoin, kJoinEach}) {
    const std::string text = ToString(Read(rule)[0]);
    EXPECT_EQ(ToString(Read(text)[0]), text) << text;
  }
}

TEST_F(RestTest, PositionsOfTheLargest) {
  const char* rule =
      "rule r { let t = topk(neg(x)) {k = k, axis = a, largest = true}\n"
      "match t#1, t\nlet made = topk(x) {k = k, axis = a, largest = false}\n"
      "replace made#1, neg(made) lowers before(neg, topk) }";
  const std::string text = ToString(Read(rule)[0]);
  EXPECT_EQ(ToString(Read(text)[0]), text);
}

// Two lists, one in the middle of others, one beside `each xs`, and one that occurs twice. The
// check makes programs of each, and the text of each is the same rule.
TEST_F(RestTest, ListsOfResultsAmongOthers) {
  for (const std::string body :
       {"match concat(neg(y), p, p#1..., neg(z)) {axis = a}\n"
        "replace concat(neg(y), x, neg(z)) {axis = a} }",
        "match concat(each p, each p) {axis = a}\nreplace concat(x, x) {axis = a} }",
        "let q = split(y) {axis = a, sizes = any}\n"
        "match concat(each p, each q) {axis = a}\nreplace concat(x, y) {axis = a} }",
        "match concat(each ys, each p) {axis = a}\nreplace concat(each ys, x) {axis = a} }",
        "match concat(each p, each neg(ys)) {axis = a}\n"
        "replace concat(x, each neg(ys)) {axis = a} lowers ops(split) }",
        "match concat(neg(y), p#2..., p, p#1) {axis = a}\nreplace concat(neg(y), p#2..., "
        "slice(x) {axes = {a}, starts = {0}, ends = {s[0] + s[1]}, steps = {1}}) {axis = a} lowers "
        "ops(operands(concat)) }",
        "match concat(neg(p), neg(p#1), p#2...) {axis = a}\n"
        "let n = split(neg(x)) {axis = a, sizes = s}\n"
        "replace concat(n, n#1, p#2...) {axis = a} lowers ops(neg) }",
        "match neg(p), concat(each p) {axis = a}\nreplace neg(p), x }",
        "match softmax(matmul(concat(each p) {axis = a}, w)) {axis = -1}\n"
        "replace softmax(matmul(x, w)) {axis = -1} }"}) {
    const bool sized =
        body.find("sizes = s}") != std::string::npos || body.find("s[0]") != std::string::npos;
    const std::string rule = fmt::format("rule r {{ let p = split(x) {{axis = a, sizes = {}}}\n{}",
                                         sized ? "s" : "any", body);
    EXPECT_EQ(Check(rule), "") << rule;
    const std::string text = ToString(Read(rule).at(0));
    EXPECT_EQ(ToString(Read(text).at(0)), text) << text;
    EXPECT_EQ(Check(text), "") << text;
  }
}

// A list before the first result: it may be empty, and the check makes splits of one part, too.
TEST_F(RestTest, EmptyListsOfResults) {
  const std::string turned =
      fmt::format(kSplit, "%x") +
      "  %y = ten.concat(%b, %c, %a) <{axis = 1}> : (tensor<2x2xf32>, tensor<2x2xf32>, "
      "tensor<2x2xf32>) -> tensor<2x6xf32>\n";
  std::string part = fmt::format(kSplit, "%y");
  for (const char* name : {"%a", "%b", "%c"})
    part.replace(part.find(name), 2, "%d" + std::string(name + 1));
  for (const std::string operands : {"p, p#1...", "p#1..., p", "each p"}) {
    const std::string rule = fmt::format(
        "rule r {{ let p = split(x) {{axis = a, sizes = any}}\nmatch concat({}) {{axis = a}}\n"
        "replace relu(x) lowers ops(split) }}",
        operands);
    EXPECT_THAT(After(rule, turned + part, "%da"),
                HasSubstr(operands == "p#1..., p" ? "ten.relu(%x)" : "ten.concat"))
        << operands;
  }
}

// Only some positions take a list.
TEST_F(RestTest, MistakesOfLists) {
  const auto why = [&](const std::string& rest) {
    return Why("rule r { let p = split(x) {axis = a, sizes = any}\n" + rest + " }");
  };
  EXPECT_THAT(why("match concat(maybe(p#1...)) {axis = a}\nreplace x"),
              HasSubstr("x.drr:2:19: ten.split(x) {axis = a, sizes = any}#1... may be empty "
                        "(expected it without 'maybe')"));
  EXPECT_THAT(why("match concat(each relu(p#1...)) {axis = a}\nreplace x"),
              HasSubstr("x.drr:2:24: ten.split(x) {axis = a, sizes = any}#1... stands for several "
                        "results, and operand 'x' of "
                        "ten.relu is one value"));
  EXPECT_THAT(why("match concat(any(p#1... | x)) {axis = a}\nreplace x"),
              HasSubstr("stands for several results"));
  EXPECT_THAT(why("match concat(x#0...) {axis = a}\nreplace x"),
              HasSubstr("x#0... stands for a list of results, and x is one value"));
  EXPECT_THAT(why("match concat(p#1... p) {axis = a}\nreplace x"),
              HasSubstr("x.drr:2:21: expected ',' or ')'"));
  EXPECT_THAT(why("match concat(each p) {axis = a}\nwhere rank(p#1...) == 2\nreplace x"),
              HasSubstr("x.drr:3:12: "));
  EXPECT_THAT(why("match concat(p#99999...) {axis = a}\nreplace x"), HasSubstr("x.drr:2:16: "));
  EXPECT_THAT(
      why("match concat(each p) {axis = a}\nlet q = split(x) {axis = a, sizes = s}\n"
          "replace neg(q#0...)"),
      HasSubstr("x.drr:4:13: ten.split(x) {axis = a, sizes = s}#0... stands for several results"));
}

// The same in C++.
TEST_F(RestTest, ResultsAsOperandsInCpp) {
  Val x("x");
  Attr<int64_t> axis("a");
  Val parts = Split(x, {.axis = axis, .sizes = kAny});
  const Rule rule = Rule("join").Match(Concat({parts.Rest(0)}, {.axis = axis})).Replace(x);
  ReferenceEvaluator evaluator(MakeKernelRegistry());
  EXPECT_TRUE(CheckRule(rule, context_, evaluator).ok());
  EXPECT_THAT(ToString(rule), HasSubstr("#0..."));
}

TEST_F(RestTest, PrintsAsItIsRead) {
  const std::vector<Rule> rules = Read(kUnneg);
  ASSERT_EQ(rules.size(), 1u);
  const std::string text = ToString(rules[0]);
  EXPECT_THAT(text, HasSubstr("match   parts, parts#1..."));
  EXPECT_EQ(ToString(Read(text)[0]), text);
}

TEST_F(RestTest, TheNegativeZeroStaysNegative) {
  const char* rule = "rule r { match relu(x)\nreplace max(x, splat(-0.0)) lowers ops(relu) }";
  const std::string text = ToString(Read(rule)[0]);
  EXPECT_THAT(text, HasSubstr("splat(-0.0)"));
  EXPECT_EQ(ToString(Read(text)[0]), text);
}

// `{if(exists(b), 1, 0)}` in a result has a value whether b is there or not.
TEST_F(RestTest, AttributesAskForOperands) {
  const char* rule =
      "rule r { match neg(fused.linear(x, w, maybe(b)) {transpose_w = t})\n"
      "replace reshape(fused.linear(x, neg(w), none) {transpose_w = t}) {shape = {dim(x, 0), "
      "dim(w, 1), if(exists(b), 2, 1)}} lowers ops(neg) }";
  const std::string text = ToString(Read(rule)[0]);
  EXPECT_EQ(ToString(Read(text)[0]), text);
}

}  // namespace
}  // namespace tenon::pattern
