// Matcher, rewriter and driver on small IR, written as text.
#include <map>
#include <string>

#include "drr/match/matcher.h"
#include "drr/rewrite/driver.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/dialects.h"
#include "pass/rule_log.h"
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() { RegisterAllDialects(context_); }

  // Parses the body of a function @f, applies the rules, verifies, prints the body.
  std::string Apply(RuleSet rules, const std::string& text) {
    auto compiled = CompiledRules::Create(std::move(rules), context_);
    if (!compiled.ok()) return std::string(compiled.status().message());
    auto module = ParseModule(context_, text);
    if (!module.ok()) return std::string(module.status().message());
    PassContext pass_context;
    Statistics statistics;
    pass_context.statistics = &statistics;
    counts_.clear();
    pass_context.rule_counts = &counts_;
    auto result = ApplyRules(*compiled, module->get(), pass_context);
    if (!result.ok()) return std::string(result.status().message());
    absl::Status verified = Verify(module->get());
    if (!verified.ok()) return std::string(verified.message());
    auto again = ApplyRules(*compiled, module->get(), pass_context);
    if (!again.ok() || again->changed) return "a second run changes the result";
    return Print(**module);
  }

  std::string WhyNot(const RuleSet& rules, const std::string& text) {
    auto compiled = CompiledRules::Create(rules, context_);
    if (!compiled.ok()) return std::string(compiled.status().message());
    auto module = ParseModule(context_, text);
    if (!module.ok()) return std::string(module.status().message());
    RuleLog log;
    log.wanted = [&](std::string_view rule) { return rule == rules[0].name(); };
    EXPECT_TRUE(FindMisses(*compiled, module->get(), PassContext(), log).ok());
    return ExplainText(log, rules[0].name());
  }

  Context context_;
  std::map<std::string, int64_t, std::less<>> counts_;
};

Rule SiluRule() {
  Val x("x");
  return Rule("silu").Match(Mul(x, Sigmoid(x))).Replace(Silu(x));
}

std::string Wrap(const std::string& args, const std::string& types, const std::string& body) {
  return "\"func.func\"() <{function_type = (" + types +
         ") -> tensor<2x3xf32>, sym_name = \"f\"}> ({\n^bb0(" + args + "):\n" + body +
         "}) : () -> ()\n";
}

constexpr char kT[] = "tensor<2x3xf32>";

std::string Unary(const std::string& result, const std::string& op, const std::string& x) {
  return "  " + result + " = \"" + op + "\"(" + x + ") : (" + kT + ") -> " + kT + "\n";
}
std::string Binary(const std::string& result, const std::string& op, const std::string& a,
                   const std::string& b, const std::string& tb = kT) {
  return "  " + result + " = \"" + op + "\"(" + a + ", " + b + ") : (" + kT + ", " + tb + ") -> " +
         kT + "\n";
}
std::string Return(const std::string& x) {
  return "  \"func.return\"(" + x + ") : (" + kT + ") -> ()\n";
}
std::string One(const std::string& body) { return Wrap("%x: " + std::string(kT), kT, body); }

TEST_F(EngineTest, MatchesEitherOrderOfACommutativeOp) {
  for (const char* order : {"%x %s", "%s %x"}) {
    std::string a(order, 2), b(order + 3, 2);
    std::string out = Apply({SiluRule()}, One(Unary("%s", "ten.sigmoid", "%x") +
                                              Binary("%m", "ten.mul", a, b) + Return("%m")));
    EXPECT_THAT(out, HasSubstr("nn.silu")) << out;
    EXPECT_THAT(out, ::testing::Not(HasSubstr("ten.sigmoid"))) << out;
    EXPECT_EQ(counts_["silu"], 1);
  }
}

TEST_F(EngineTest, InnerUseOutsideRejects) {
  std::string text = One(Unary("%s", "ten.sigmoid", "%x") + Binary("%m", "ten.mul", "%x", "%s") +
                         Binary("%a", "ten.add", "%m", "%s") + Return("%a"));
  EXPECT_THAT(Apply({SiluRule()}, text), HasSubstr("ten.sigmoid"));
  EXPECT_EQ(counts_["silu"], 0);
  EXPECT_THAT(WhyNot({SiluRule()}, text),
              HasSubstr("matched 1 of 2 ops; stopped at <input>:3:8: its result is also used by "
                        "ten.add at <input>:5:8 outside the match"));
}

// The sigmoid would stay for the operand, and the fused op would compute it once more.
TEST_F(EngineTest, AVariableIsNoResultOfWhatGoes) {
  Val x("x"), y("y");
  const Val inner = Sigmoid(y);
  const Rule rule =
      Rule("gate").Match(Mul(x, inner)).Replace(fused::Gated(y, x, {.activation = "sigmoid"}));
  const std::string square =
      One(Unary("%s", "ten.sigmoid", "%x") + Binary("%m", "ten.mul", "%s", "%s") + Return("%m"));
  EXPECT_THAT(Apply({rule}, square), HasSubstr("ten.mul"));
  EXPECT_EQ(counts_["gate"], 0);
  EXPECT_THAT(
      WhyNot({rule}, square),
      HasSubstr("stopped at <input>:3:8: its result is also 'x', so that it would stay, and "
                "the rule would compute it once more"));
  // Of a product of two sigmoids one is a value like any other.
  const std::string two = One(Unary("%s", "ten.sigmoid", "%x") + Unary("%t", "ten.sigmoid", "%s") +
                              Binary("%m", "ten.mul", "%s", "%t") + Return("%m"));
  const Rule other = Rule("other").Match(Mul(x, Exp(y))).Replace(Sub(y, x));
  EXPECT_THAT(Apply({other}, One(Unary("%e", "ten.exp", "%x") + Unary("%f", "ten.exp", "%e") +
                                 Binary("%m", "ten.mul", "%e", "%f") + Return("%m"))),
              HasSubstr("ten.sub"));
  EXPECT_EQ(counts_["other"], 1);
  // Nor does an item of a list have what goes.
  const Val rest = Each("rest");
  const Rule list = Rule("list")
                        .Match(Concat({Relu(y), rest}, {.axis = 0}))
                        .Replace(Concat({Exp(y), rest}, {.axis = 0}))
                        .Lowers(OpsOf({"ten.relu"}));
  const std::string concat = Wrap(
      "%x: tensor<2x3xf32>", "tensor<2x3xf32>",
      Unary("%s", "ten.relu", "%x") +
          "  %c = \"ten.concat\"(%s, %s) <{axis = 0 : i64}> : (tensor<2x3xf32>, tensor<2x3xf32>) "
          "-> tensor<4x3xf32>\n"
          "  %r = \"ten.slice\"(%c) <{axes = array<i64: 0>, starts = #core.dims<0>, ends = "
          "#core.dims<2>, steps = array<i64: 1>}> : (tensor<4x3xf32>) -> tensor<2x3xf32>\n" +
          Return("%r"));
  EXPECT_THAT(Apply({list}, concat), HasSubstr("ten.relu"));
  EXPECT_EQ(counts_["list"], 0);
  // A rule that keeps the value may read it.
  const Rule kept = Rule("kept")
                        .Match(Mul(x, inner))
                        .Keep(inner)
                        .Replace(fused::Gated(y, x, {.activation = "sigmoid"}));
  EXPECT_THAT(Apply({kept}, square), HasSubstr("fused.gated"));
}

TEST_F(EngineTest, KeepAllowsOutsideUses) {
  Val x("x");
  Val s = Sigmoid(x);
  Rule rule = Rule("silu").Match(Mul(x, s)).Keep(s).Replace(Silu(x));
  std::string out =
      Apply({rule}, One(Unary("%s", "ten.sigmoid", "%x") + Binary("%m", "ten.mul", "%x", "%s") +
                        Binary("%a", "ten.add", "%m", "%s") + Return("%a")));
  EXPECT_THAT(out, HasSubstr("nn.silu"));
  EXPECT_THAT(out, HasSubstr("ten.sigmoid"));
}

TEST_F(EngineTest, SplatMatchesScalarsOfAnyRankWithTolerance) {
  Val x("x");
  Rule rule = Rule("r").Match(Mul(x, Splat(0.70710677))).Replace(Relu(x)).Lowers("products");
  for (const char* constant :
       {"dense<0.707106769> : tensor<f32>", "dense<0.70710> : tensor<1xf32>",
        "dense<0.70710678> : tensor<1x1xf32>", "dense<0.70710678> : tensor<2x3xf32>"}) {
    std::string type = std::string(constant).substr(std::string(constant).find("tensor"));
    std::string body = "  %c = \"core.constant\"() <{value = " + std::string(constant) +
                       "}> : () -> " + type + "\n" + Binary("%m", "ten.mul", "%x", "%c", type) +
                       Return("%m");
    EXPECT_THAT(Apply({rule}, One(body)), HasSubstr("ten.relu")) << constant;
  }
  std::string other =
      "  %c = \"core.constant\"() <{value = dense<0.708> : tensor<f32>}> : () -> tensor<f32>\n" +
      Binary("%m", "ten.mul", "%x", "%c", "tensor<f32>") + Return("%m");
  EXPECT_THAT(Apply({rule}, One(other)), HasSubstr("ten.mul"));
}

TEST_F(EngineTest, AVectorIsNoNumber) {
  Val x("x");
  Attr<float> factor("factor");
  Rule rule = Rule("r")
                  .Match(Mul(Relu(x), Splat(factor)))
                  .Replace(Mul(x, Splat(Compute([](double f) { return f; }, factor))));
  const std::string body =
      Unary("%r", "ten.relu", "%x") +
      "  %c = \"core.constant\"() <{value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>}> : () -> "
      "tensor<3xf32>\n" +
      Binary("%m", "ten.mul", "%r", "%c", "tensor<3xf32>") + Return("%m");
  EXPECT_THAT(WhyNot({rule}, One(body)),
              HasSubstr("is a constant of type tensor<3xf32>, the rule wants a constant number as "
                        "its factor"));
}

TEST_F(EngineTest, AlternativesBacktrack) {
  // The first alternative binds y to the wrong operand; the match must come back for the second
  // one.
  Val x("x"), y("y");
  Rule rule = Rule("r")
                  .Match(Sub(AnyOf(Add(Relu(x), y), Add(x, Tanh(y))), x))
                  .Replace(Neg(y))
                  .Lowers("subtractions");
  std::string out =
      Apply({rule}, One(Unary("%r", "ten.relu", "%x") + Unary("%t", "ten.tanh", "%x") +
                        Binary("%a", "ten.add", "%t", "%x") + Binary("%s", "ten.sub", "%a", "%x") +
                        Return("%s")));
  EXPECT_THAT(out, HasSubstr("ten.neg"));
}

TEST_F(EngineTest, SeveralResultsAreReplaced) {
  std::string args = "%x: tensor<2x3xf32>, %y: tensor<2x3xf32>";
  std::string text = Wrap(args, "tensor<2x3xf32>, tensor<2x3xf32>",
                          Binary("%s", "ten.add", "%x", "%y") + Unary("%early", "ten.relu", "%s") +
                              "  %n = \"nn.layer_norm\"(%s) <{axis = 1 : i64, operandSegmentSizes "
                              "= array<i32: 1, 0, 0>}> : "
                              "(tensor<2x3xf32>) -> tensor<2x3xf32>\n" +
                              Binary("%a", "ten.add", "%n", "%early") +
                              Binary("%b", "ten.mul", "%a", "%s") + Return("%b"));
  const Family* skip = FindFamily("skip");
  std::string out = Apply(RulesOf(*skip), text);
  EXPECT_THAT(out, HasSubstr("fused.skip_layer_norm")) << out;
  EXPECT_EQ(counts_["skip-layer-norm"], 1);
}

TEST_F(EngineTest, ResultsThatAnOpDoesNotHaveAreLeftOut) {
  Val x("x");
  Attr<Dims> sizes("sizes");
  Val from = Split(Relu(x), {.axis = 1, .sizes = sizes});
  Val to = Split(x, {.axis = 1, .sizes = sizes});
  const Rule rule = Rule("r")
                        .Match({from, from.result(1), from.result(2)})
                        .Replace({to, to.result(1), to.result(2)});
  const auto split = [](const std::string& parts, const std::string& extents,
                        const std::string& values, const std::string& types) {
    return One(Unary("%r", "ten.relu", "%x") + "  %s:" + parts +
               " = \"ten.split\"(%r) <{axis = 1 : i64, sizes = #core.dims<" + extents + ">}> : (" +
               kT + ") -> (" + types + ")\n  %c = \"ten.concat\"(" + values +
               ") <{axis = 1 : i64}> : (" + types + ") -> " + kT + "\n" + Return("%c"));
  };
  const std::string one = "tensor<2x1xf32>", rest = "tensor<2x2xf32>";
  EXPECT_THAT(Apply({rule}, split("2", "1, 2", "%s#0, %s#1", one + ", " + rest)),
              HasSubstr(":2 = ten.split(%x)"));
  EXPECT_EQ(counts_["r"], 1);
  EXPECT_THAT(
      Apply({rule}, split("3", "1, 1, 1", "%s#2, %s#1, %s#0", one + ", " + one + ", " + one)),
      AllOf(HasSubstr(":3 = ten.split(%x)"), HasSubstr("ten.concat(%s#2, %s#1, %s#0)")));
  EXPECT_EQ(counts_["r"], 1);
}

TEST_F(EngineTest, DimensionsUnifyAndAreSolved) {
  Val x("x");
  Dim B("B"), H("H"), D("D");
  Rule rule = Rule("r")
                  .Match(Reshape(Reshape(x, {.shape = {B, H, D}}), {.shape = {B, H * D}}))
                  .Replace(Reshape(x, {.shape = {B * H, D}}))
                  .Lowers("reshapes");
  auto text = [](const std::string& to) {
    return "\"func.func\"() <{function_type = (tensor<24xf32>) -> tensor<" + to +
           "xf32>, sym_name = \"f\"}> ({\n^bb0(%x: tensor<24xf32>):\n"
           "  %a = \"ten.reshape\"(%x) <{shape = #core.dims<2, 3, 4>}> : (tensor<24xf32>) -> "
           "tensor<2x3x4xf32>\n"
           "  %b = \"ten.reshape\"(%a) <{shape = #core.dims<" +
           (to == "2x12" ? "2, 12" : "4, 6") + ">}> : (tensor<2x3x4xf32>) -> tensor<" + to +
           "xf32>\n  \"func.return\"(%b) : (tensor<" + to + "xf32>) -> ()\n}) : () -> ()\n";
  };
  // The dimensions agree; it is the result that does not fit.
  EXPECT_THAT(WhyNot({rule}, text("2x12")),
              HasSubstr("the result would be tensor<6x4xf32> instead of tensor<2x12xf32>"));
  EXPECT_THAT(WhyNot({rule}, text("4x6")), HasSubstr("a dimension is 2, the rule wants 4"));
}

// An extent is not negative.
TEST_F(EngineTest, DimensionsAreNotSolvedByNegativeNumbers) {
  Val x("x");
  Dim H("H"), D("D");
  Rule rule = Rule("r")
                  .Match(Relu(x))
                  .Where(ShapeIs(x, {H + 5, D}))
                  .Replace(Reshape(Reshape(x, {.shape = {D, H + 5}}), {.shape = {H + 5, D}}))
                  .Lowers("forms");
  auto text = [](int rows) {
    return fmt::format(
        "\"func.func\"() <{{function_type = (tensor<{0}x4xf32>) -> tensor<{0}x4xf32>, "
        "sym_name = \"f\"}}> ({{\n^bb0(%x: tensor<{0}x4xf32>):\n"
        "  %a = \"ten.relu\"(%x) : (tensor<{0}x4xf32>) -> tensor<{0}x4xf32>\n"
        "  \"func.return\"(%a) : (tensor<{0}x4xf32>) -> ()\n}}) : () -> ()\n",
        rows);
  };
  Apply({rule}, text(5));
  EXPECT_EQ(counts_["r"], 1);
  counts_.clear();
  Apply({rule}, text(3));
  EXPECT_EQ(counts_["r"], 0);
}

// A target that runs everything but SiLU.
class NoSilu : public TargetQuery {
 public:
  std::string WhyNoKernel(const Operation& op) const override {
    return op.name() == "nn.silu" ? "cpu.silu: wants another machine" : "";
  }
};

TEST_F(EngineTest, WithoutAKernelARuleDoesNotFire) {
  Val x("x");
  Rule rule = Rule("silu").Match(Mul(x, Sigmoid(x))).Replace(Silu(x)).RequireKernel();
  auto compiled = CompiledRules::Create({rule}, context_);
  ASSERT_TRUE(compiled.ok());
  auto module = ParseModule(context_, One(Unary("%s", "ten.sigmoid", "%x") +
                                          Binary("%m", "ten.mul", "%x", "%s") + Return("%m")));
  ASSERT_TRUE(module.ok()) << module.status();
  const std::string before = Print(**module);
  NoSilu target;
  PassContext pass_context;
  pass_context.target = &target;
  auto result = ApplyRules(*compiled, module->get(), pass_context);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->changed);
  EXPECT_EQ(Print(**module), before);
  RuleLog log;
  log.wanted = [](std::string_view) { return true; };
  EXPECT_TRUE(FindMisses(*compiled, module->get(), pass_context, log).ok());
  EXPECT_THAT(ExplainText(log, "silu"),
              HasSubstr("the target has no kernel for nn.silu: cpu.silu: wants another machine"));
  pass_context.target = nullptr;
  EXPECT_TRUE(ApplyRules(*compiled, module->get(), pass_context)->changed);
}

TEST_F(EngineTest, CyclesAreReported) {
  Val x("x"), y("y");
  Rule one = Rule("one").Match(Relu(x)).Replace(Tanh(x)).Lowers("nothing");
  Rule two = Rule("two").Match(Tanh(y)).Where(Rank(y, 2)).Replace(Relu(y)).Lowers("nothing");
  std::string out = Apply({one, two}, One(Unary("%r", "ten.relu", "%x") + Return("%r")));
  EXPECT_THAT(out, HasSubstr("rewriting does not end"));
  EXPECT_THAT(out, HasSubstr("one ("));
  EXPECT_THAT(out, HasSubstr("two ("));
}

TEST_F(EngineTest, LocationsOfMatchedOpsAreKept) {
  std::string text =
      "\"func.func\"() <{function_type = (tensor<2x3xf32>) -> tensor<2x3xf32>, sym_name = \"f\"}> "
      "({\n"
      "^bb0(%x: tensor<2x3xf32>):\n"
      "  %s = \"ten.sigmoid\"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32> loc(\"a\")\n"
      "  %m = \"ten.mul\"(%x, %s) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> "
      "loc(\"b\")\n"
      "  \"func.return\"(%m) : (tensor<2x3xf32>) -> ()\n}) : () -> ()\n";
  auto compiled = CompiledRules::Create({SiluRule()}, context_);
  ASSERT_TRUE(compiled.ok());
  auto module = ParseModule(context_, text);
  ASSERT_TRUE(module.ok()) << module.status();
  PassContext pass_context;
  ASSERT_TRUE(ApplyRules(*compiled, module->get(), pass_context).ok());
  EXPECT_THAT(Print(**module, {.locations = true}), HasSubstr("fused[\"a\", \"b\"]"));
}

TEST_F(EngineTest, RegistrationRefusesBadRules) {
  Val x("x"), y("y"), unused("unused");
  Attr<int64_t> axis("axis");
  auto why = [&](Rule rule) {
    auto set = CompiledRules::Create({std::move(rule)}, context_);
    return set.ok() ? std::string("accepted") : std::string(set.status().message());
  };
  EXPECT_THAT(why(Rule("a").Match(Relu(Relu(x))).Replace(Relu(y))),
              HasSubstr("y in the result is not bound"));
  EXPECT_THAT(why(Rule("b").Match(Add(Relu(x), unused)).Replace(Relu(x))),
              HasSubstr("'unused' is not used"));
  EXPECT_THAT(why(Rule("c").Match(Softmax(Relu(x))).Replace(Relu(x))),
              HasSubstr("nn.softmax: attribute 'axis' has no default and must be mentioned"));
  EXPECT_THAT(why(Rule("d").Match(Softmax(Relu(x), {.axis = axis})).Replace(Relu(x))),
              HasSubstr("attribute variable 'axis' is not used"));
  EXPECT_THAT(why(Rule("e").Match(Relu(x)).Replace(Tanh(x))), HasSubstr("say with Lowers() what"));
  EXPECT_THAT(why(Rule("f").Match(AnyOf(Add(Relu(x), y), Relu(x))).Replace(Add(x, y)).Lowers("x")),
              HasSubstr("bound in some alternatives only"));
  EXPECT_THAT(why(Rule("g").Match(x).Replace(x)), HasSubstr("not an operation"));
  EXPECT_THAT(why(Rule("h").Match(Relu(Relu(x)))),
              HasSubstr("1 values are matched and 0 replaced"));
  EXPECT_THAT(why(Rule("i").Match(Relu(Relu(x))).Replace(Relu(x))), ::testing::StrEq("accepted"));
  EXPECT_THAT(why(Rule("j").Match(Relu(Relu(x))).Replace(nn::Gelu(x, {.approximate = kAny}))),
              HasSubstr("kAny"));
  EXPECT_THAT(why(Rule("k").Match(Relu(nn::Gelu(x, {.approximate = "tan"}))).Replace(Relu(x))),
              HasSubstr("nn.gelu: attribute 'approximate' must be"));
  Dim d("D");
  EXPECT_THAT(
      why(Rule("l").Match(Relu(Relu(x))).Where(Rank(x, 2) || ShapeIs(x, {d})).Replace(Relu(x))),
      HasSubstr("asks for a shape inside of || or !"));
  EXPECT_THAT(why(Rule("m").Match(Relu(Relu(x))).Where(!ShapeIs(x, {d})).Replace(Relu(x))),
              HasSubstr("asks for a shape inside of || or !"));
  EXPECT_THAT(why(Rule("").Match(Relu(Relu(x))).Replace(x)), HasSubstr("it has no name"));
}

// What the functions of the ops cannot say.
TEST_F(EngineTest, RegistrationRefusesBadOperands) {
  Val x("x"), y("y");
  auto why = [&](std::string_view op, std::vector<OperandPattern> operands,
                 const std::vector<std::pair<std::string, AttrRef>>& attrs) {
    auto set = CompiledRules::Create(
        {Rule("a").Match(MakeOp(op, {std::move(operands)}, attrs)).Replace(x)}, context_);
    return set.ok() ? std::string("accepted") : std::string(set.status().message());
  };
  EXPECT_EQ(why("ten.relu", {{x.ref(), false}}, {}), "accepted");
  EXPECT_THAT(why("ten.relu", {{x.ref(), false}, {y.ref(), false}}, {}),
              HasSubstr("ten.relu: operand 'x' is one value, got 2"));
  EXPECT_THAT(why("ten.relu", {{x.ref(), true}}, {}),
              HasSubstr("ten.relu: Maybe at operand 'x', which is not optional"));
  EXPECT_THAT(why("ten.relu", {{x.ref(), false}}, {{"axis", MakeLiteral(int64_t{1})}}),
              HasSubstr("ten.relu has no attribute 'axis'"));
  const std::pair<std::string, AttrRef> axis = {"axis", MakeLiteral(int64_t{0})};
  EXPECT_THAT(why("nn.softmax", {{x.ref(), false}}, {axis, axis}),
              HasSubstr("nn.softmax: attribute 'axis' is given twice"));
}

TEST_F(EngineTest, RegistrationSeesRulesThatShadowOrUndoEachOther) {
  Val x("x"), y("y"), z("z");
  auto why = [&](RuleSet rules) {
    auto set = CompiledRules::Create(std::move(rules), context_);
    return set.ok() ? std::string("accepted") : std::string(set.status().message());
  };
  Rule general = Rule("general").Match(Relu(Add(x, y))).Replace(Add(x, y));
  Rule special = Rule("special").Match(Relu(Add(Tanh(z), z))).Replace(Tanh(z));
  EXPECT_THAT(why({general, special}), HasSubstr("'special'"));
  EXPECT_THAT(why({general, special}), HasSubstr("is never reached"));
  EXPECT_EQ(why({special, general}), "accepted");
  Rule there = Rule("there").Match(Neg(Relu(x))).Replace(Relu(Neg(x))).Lowers("a");
  Rule back = Rule("back").Match(Relu(Neg(y))).Replace(Neg(Relu(y))).Lowers("b");
  EXPECT_THAT(why({there, back}), HasSubstr("undo each other"));
  EXPECT_THAT(why({Rule("swap").Match(Add(x, y)).Replace(Add(y, x)).Lowers("a")}),
              HasSubstr("matches what it makes, and would never end"));
  EXPECT_THAT(why({Rule("grow").Match(Relu(x)).Replace(Relu(Relu(x))).Lowers("a")}),
              HasSubstr("matches what it makes, and would never end"));
  EXPECT_THAT(why({general, Rule("general").Match(Neg(Neg(x))).Replace(x)}),
              HasSubstr("has the name of the rule in"));
}

TEST_F(EngineTest, VariadicOperands) {
  Val x = Each("x"), y = Each("y"), z = Each("z");
  Attr<int64_t> axis("axis");
  Rule rule = Rule("concat-of-concat")
                  .Match(Concat({x, Concat({y}, {.axis = axis}), z}, {.axis = axis}))
                  .Replace(Concat({x, y, z}, {.axis = axis}));
  std::string text =
      "\"func.func\"() <{function_type = (tensor<1xf32>) -> tensor<4xf32>, sym_name = \"f\"}> "
      "({\n^bb0(%x: tensor<1xf32>):\n"
      "  %a = \"ten.concat\"(%x, %x) <{axis = 0 : i64}> : (tensor<1xf32>, tensor<1xf32>) -> "
      "tensor<2xf32>\n"
      "  %b = \"ten.concat\"(%x, %a, %x) <{axis = 0 : i64}> : (tensor<1xf32>, tensor<2xf32>, "
      "tensor<1xf32>) -> "
      "tensor<4xf32>\n  \"func.return\"(%b) : (tensor<4xf32>) -> ()\n}) : () -> ()\n";
  EXPECT_THAT(Apply({rule}, text), HasSubstr("ten.concat(%x, %x, %x, %x)"));
}

// A list takes what the operands behind it leave, so that the miss is at the operand.
TEST_F(EngineTest, ListsBeforeAnOperandNearlyMatch) {
  Val xs = Each("xs"), y("y");
  Rule rule = Rule("my-each")
                  .Match(Sin(Cos(Neg(Concat({xs, Relu(y)}, {.axis = 0})))))
                  .Replace(Sin(Cos(Neg(Concat({xs, y}, {.axis = 0})))));
  const std::string types = "tensor<4xf32>, tensor<4xf32>, tensor<4xf32>";
  const auto join = [&](const std::string& operands) {
    return "\"func.func\"() <{function_type = (tensor<4xf32>) -> tensor<12xf32>, sym_name = "
           "\"f\"}> ({\n^bb0(%x: tensor<4xf32>):\n"
           "  %r = \"ten.relu\"(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
           "  %c = \"ten.concat\"(" +
           operands + ") <{axis = 0 : i64}> : (" + types +
           ") -> tensor<12xf32>\n"
           "  %n = \"ten.neg\"(%c) : (tensor<12xf32>) -> tensor<12xf32>\n"
           "  %p = \"ten.cos\"(%n) : (tensor<12xf32>) -> tensor<12xf32>\n"
           "  %q = \"ten.sin\"(%p) : (tensor<12xf32>) -> tensor<12xf32>\n"
           "  \"func.return\"(%q) : (tensor<12xf32>) -> ()\n}) : () -> ()\n";
  };
  Apply({rule}, join("%x, %x, %r"));
  EXPECT_EQ(counts_["my-each"], 1);
  const std::string miss = WhyNot({rule}, join("%r, %x, %x"));
  EXPECT_THAT(miss, HasSubstr("operand 2 is an argument"));
  EXPECT_THAT(miss, HasSubstr("the rule wants ten.relu"));
}

TEST_F(EngineTest, RootsBesideEachOther) {
  // Two products of one x: the second root is found through the uses of x.
  Val x("x"), a("a"), b("b");
  Val shared = Relu(x);
  Val first = Mul(shared, a), second = Sub(shared, b);
  Rule rule = Rule("pair").Match({first, second}).Replace({Add(x, a), Add(x, b)});
  std::string args = "%x: tensor<2x3xf32>, %a: tensor<2x3xf32>";
  std::string out =
      Apply({rule}, Wrap(args, "tensor<2x3xf32>, tensor<2x3xf32>",
                         Unary("%r", "ten.relu", "%x") + Binary("%m", "ten.mul", "%r", "%a") +
                             Binary("%s", "ten.sub", "%r", "%x") +
                             Binary("%d", "ten.div", "%m", "%s") + Return("%d")));
  EXPECT_EQ(counts_["pair"], 1) << out;
  EXPECT_THAT(out, ::testing::Not(HasSubstr("ten.relu")));
}

TEST_F(EngineTest, TheResultReadsNothingThatItReplaces) {
  const std::string args = "%x: tensor<2x3xf32>, %a: tensor<2x3xf32>";
  const std::string types = "tensor<2x3xf32>, tensor<2x3xf32>";
  Val x("x"), a("a"), b("b");
  Rule rule =
      Rule("pair").Match({Mul(x, a), Sub(x, b)}).Replace({Relu(a), Div(b, x)}).Lowers("both");
  // The difference is to the product.
  const std::string text = Wrap(
      args, types,
      Binary("%m", "ten.mul", "%x", "%a") + Binary("%n", "ten.sub", "%x", "%m") + Return("%n"));
  const std::string out = Apply({rule}, text);
  EXPECT_EQ(counts_["pair"], 0) << out;
  EXPECT_THAT(WhyNot({rule}, text), HasSubstr("a value that the result needs is replaced"));

  // One of several operands is.
  Val rest = Each("rest");
  Rule each = Rule("each")
                  .Match({Relu(x), Concat({x, rest}, {.axis = 0})})
                  .Replace({Neg(x), Concat({Neg(x), rest}, {.axis = 0})})
                  .Lowers("relu");
  const auto join = [&](const std::string& second) {
    return "\"func.func\"() <{function_type = (" + types +
           ") -> (tensor<4x3xf32>, tensor<2x3xf32>), sym_name = \"f\"}> ({\n^bb0(" + args + "):\n" +
           Unary("%r", "ten.relu", "%x") + "  %c = \"ten.concat\"(%x, " + second +
           ") <{axis = 0 : i64}> : (" + types +
           ") -> tensor<4x3xf32>\n  \"func.return\"(%c, %r) : (tensor<4x3xf32>, tensor<2x3xf32>) "
           "-> ()\n}) : () -> ()\n";
  };
  EXPECT_THAT(Apply({each}, join("%a")), HasSubstr("ten.neg"));
  EXPECT_EQ(counts_["each"], 1);
  EXPECT_THAT(Apply({each}, join("%r")), HasSubstr("ten.relu"));
  EXPECT_EQ(counts_["each"], 0);
}

TEST_F(EngineTest, WhatTheResultReadsStaysBehindWhatItReads) {
  // The sine reads what the cosine replaces, and is read by the result.
  Val x("x"), e = Exp(x), s = Sin(e);
  Rule rule = Rule("kept").Match({e, Mul(s, s)}).Replace({Cos(x), Relu(s)}).Lowers("exp");
  const std::string text =
      One(Unary("%e", "ten.exp", "%x") + Unary("%s", "ten.sin", "%e") +
          Binary("%m", "ten.mul", "%s", "%s") + Binary("%d", "ten.sub", "%e", "%m") + Return("%d"));
  EXPECT_THAT(Apply({rule}, text), HasSubstr("ten.exp"));
  EXPECT_THAT(WhyNot({rule}, text),
              HasSubstr("a value that the result needs is computed too late"));
}

TEST_F(EngineTest, WhatIsComputedTooLateMoves) {
  Val x("x"), b("b"), e = Exp(x);
  const auto chain = [](int length) {
    std::string ops = Unary("%c0", "ten.sin", "%x");
    for (int i = 1; i < length; ++i) {
      ops += Unary("%c" + std::to_string(i), "ten.sin", "%c" + std::to_string(i - 1));
    }
    return One(Unary("%e", "ten.exp", "%x") + Unary("%u", "ten.abs", "%e") + ops +
               Binary("%s", "ten.sub", "%e", "%c" + std::to_string(length - 1)) +
               Binary("%d", "ten.div", "%u", "%s") + Return("%d"));
  };
  Rule made = Rule("made").Match({e, Sub(e, b)}).Replace({Cos(x), Add(x, b)}).Lowers("exp");
  Val f = Exp(Val("_x"));
  Rule existing = Rule("existing").Match({f, Sub(f, b)}).Replace({b, b}).Lowers("exp");
  for (const Rule& rule : {made, existing}) {
    EXPECT_THAT(Apply({rule}, chain(2)),
                AllOf(HasSubstr("func.return"), ::testing::Not(HasSubstr("ten.exp"))));
    EXPECT_EQ(counts_[rule.name()], 1);
    // Not without a bound, by which the memory of the stack is bounded as well.
    EXPECT_THAT(Apply({rule}, chain(70)), HasSubstr("ten.exp"));
    EXPECT_EQ(counts_[rule.name()], 0);
    EXPECT_THAT(WhyNot({rule}, chain(70)),
                HasSubstr("a value that the result needs is computed too late"));
  }
}

TEST_F(EngineTest, ResultsOfOtherSymbolsAreRefused) {
  Val x("_x"), y("y");
  Rule rule = Rule("sum").Match(Relu(Add(x, y))).Replace(Relu(y)).Lowers("a sum");
  const auto text = [](const std::string& symbol) {
    const std::string s = "tensor<?xf32, [\"S\"]>", t = "tensor<?xf32, [\"" + symbol + "\"]>";
    return "\"func.func\"() <{function_type = (" + s + ", " + t + ") -> " + s +
           ", sym_name = \"f\"}> ({\n^bb0(%x: " + s + ", %y: " + t +
           "):\n  %a = \"ten.add\"(%x, %y) : (" + s + ", " + t + ") -> " + s +
           "\n  %r = \"ten.relu\"(%a) : (" + s + ") -> " + s + "\n  \"func.return\"(%r) : (" + s +
           ") -> ()\n}) : () -> ()\n";
  };
  Apply({rule}, text("S"));
  EXPECT_EQ(counts_["sum"], 1);
  Apply({rule}, text("T"));
  EXPECT_EQ(counts_["sum"], 0);
  EXPECT_THAT(WhyNot({rule}, text("T")), HasSubstr("the result would be"));
  // Nor is twice an extent the extent. What is made of other symbols may be.
  Apply({rule}, text("2 * S"));
  EXPECT_EQ(counts_["sum"], 0);
  Apply({rule}, text("past + new"));
  EXPECT_EQ(counts_["sum"], 1);
}

TEST_F(EngineTest, WhatOneOfSeveralOperandsReadsStays) {
  // The tangent is matched, and read by the result as one of `rest`: it would stay, and read the
  // sine.
  Val x("x"), rest = Each("rest"), s = Sin(x), t = Tan(s);
  Rule rule = Rule("each")
                  .Match({s, Concat({t, rest}, {.axis = 0})})
                  .Replace({Neg(x), Concat({Neg(x), rest}, {.axis = 0})})
                  .Lowers("sines");
  const std::string type = "tensor<2x3xf32>";
  const std::string text =
      "\"func.func\"() <{function_type = (" + type +
      ") -> tensor<4x3xf32>, sym_name = \"f\"}> ({\n^bb0(%x: " + type + "):\n" +
      Unary("%s", "ten.sin", "%x") + Unary("%t", "ten.tan", "%s") +
      "  %c = \"ten.concat\"(%t, %t) <{axis = 0 : i64}> : (" + type + ", " + type +
      ") -> tensor<4x3xf32>\n  \"func.return\"(%c) : (tensor<4x3xf32>) -> ()\n}) : () -> ()\n";
  EXPECT_THAT(Apply({rule}, text), HasSubstr("ten.sin"));
  EXPECT_EQ(counts_["each"], 0);
  EXPECT_THAT(WhyNot({rule}, text), HasSubstr("its result is also 'rest', so that it would stay"));
}

TEST_F(EngineTest, AllRulesRegister) {
  for (const Family& family : Families()) {
    auto set = CompiledRules::Create(RulesOf(family), context_);
    EXPECT_TRUE(set.ok()) << set.status();
  }
}

TEST_F(EngineTest, RulesPrint) {
  EXPECT_EQ(ToString(SiluRule()),
            "rule silu {\n  match   ten.mul(x, ten.sigmoid(x))\n  replace nn.silu(x)\n}\n");
  Val x("x");
  const Rule all = Rule("all")
                       .Summary("every \"clause\"")
                       .Stage(RuleStage::kFinal)
                       .Benefit(2)
                       .Match(Relu(x))
                       .Replace(Abs(x))
                       .Lowers("relus")
                       .RequireKernel();
  EXPECT_EQ(ToString(all),
            "rule all {\n  summary \"every 'clause'\"\n  stage   final\n  benefit 2\n"
            "  match   ten.relu(x)\n  replace ten.abs(x)\n  lowers  \"relus\"\n"
            "  requires kernel\n}\n");
}

}  // namespace
}  // namespace tenon::pattern
