// Fragments, traces, reduction and bisection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "frontends/cpp/extension.h"
#include "frontends/cpp/files/strings.h"
#include "frontends/cpp/rules/rule_names.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/bisect.h"
#include "frontends/debug/fragment.h"
#include "frontends/debug/reduce/reduce.h"
#include "frontends/debug/trace.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Two results; tanh is in the middle of the first.
constexpr char kChain[] = R"ir(
func.func() <{arg_attrs = [{core.name = "a"}, {core.name = "b"}], function_type = (tensor<?x16xf32, ["N", ""]>, tensor<16xf32>) -> (tensor<?x16xf32, ["N", ""]>, tensor<16xf32>), sym_name = "main"}> ({
^bb0(%a: tensor<?x16xf32, ["N", ""]>, %b: tensor<16xf32>):
  %c = core.constant() <{value = dense<2.0> : tensor<16xf32>}> : () -> tensor<16xf32>
  %0 = ten.mul(%b, %c) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %1 = ten.add(%a, %0) : (tensor<?x16xf32, ["N", ""]>, tensor<16xf32>) -> tensor<?x16xf32, ["N", ""]>
  %2 = ten.tanh(%1) : (tensor<?x16xf32, ["N", ""]>) -> tensor<?x16xf32, ["N", ""]>
  %3 = ten.exp(%2) : (tensor<?x16xf32, ["N", ""]>) -> tensor<?x16xf32, ["N", ""]>
  %4 = ten.neg(%0) : (tensor<16xf32>) -> tensor<16xf32>
  func.return(%3, %4) : (tensor<?x16xf32, ["N", ""]>, tensor<16xf32>) -> ()
}) : () -> ()
)ir";

bool HasOp(const Operation& module, std::string_view name) {
  bool found = false;
  const_cast<Operation&>(module).Walk([&](Operation* op) { found |= op->name() == name; });
  return found;
}

std::vector<std::string> OpNames(const Operation& module) {
  std::vector<std::string> names;
  const_cast<Operation&>(module).Walk([&](Operation* op) {
    if (op->name() != "builtin.module" && op->name() != "func.func") names.emplace_back(op->name());
  });
  return names;
}

Model Loaded(std::string_view text, std::shared_ptr<const Extension> extension = nullptr) {
  absl::StatusOr<Model> model =
      LoadFromBytes(text, "test.mlir", {.extension = std::move(extension)});
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

TEST(FragmentTest, TakesConstantsAndMakesArguments) {
  const Model model = Loaded(kChain);
  std::vector<Operation*> ops;
  model.module()->Walk([&](Operation* op) { ops.push_back(op); });
  const auto find = [&](std::string_view name) {
    return *std::find_if(ops.begin(), ops.end(), [&](Operation* op) { return op->name() == name; });
  };
  Operation* const mul = find("ten.mul");
  Operation* const add = find("ten.add");
  std::vector<Value> inputs;
  const OwnedOp fragment = MakeFragment(
      {{add->result()}}, [&](const Operation* op) { return op == add || op == mul; }, inputs);
  EXPECT_TRUE(Verify(fragment.get()).ok());
  EXPECT_THAT(OpNames(*fragment),
              ElementsAre("core.constant", "ten.mul", "ten.add", "func.return"));
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0], add->operand(0));  // in the order in which they are needed
}

TEST(ReduceTest, OneOpIsLeft) {
  const Model model = Loaded(kChain);
  ReduceReport report;
  const absl::StatusOr<OwnedOp> small = Reduce(
      *model.module(), [](const Operation& m) { return HasOp(m, "ten.tanh"); }, {}, &report);
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_THAT(OpNames(**small), ElementsAre("ten.tanh", "func.return"));
  EXPECT_EQ(report.ops_before, 6);
  EXPECT_EQ(report.ops_after, 1);
  EXPECT_LT(report.tries, 100);
  EXPECT_THAT(Print(**small), HasSubstr(") : (tensor<1x1xf32>) -> tensor<1x1xf32>"));
}

TEST(ReduceTest, SizesStayIfAsked) {
  const Model model = Loaded(kChain);
  const absl::StatusOr<OwnedOp> small =
      Reduce(*model.module(), [](const Operation& m) { return HasOp(m, "ten.tanh"); },
             {.shrink_dims = false});
  ASSERT_TRUE(small.ok());
  EXPECT_THAT(Print(**small), HasSubstr(R"(tensor<?x16xf32, ["N", ""]>)"));
}

TEST(ReduceTest, ConstantsShrinkWithTheirDimension) {
  const Model model = Loaded(kChain);
  const absl::StatusOr<OwnedOp> small = Reduce(*model.module(), [](const Operation& m) {
    return HasOp(m, "core.constant") && HasOp(m, "ten.mul") && HasOp(m, "ten.neg");
  });
  ASSERT_TRUE(small.ok());
  EXPECT_THAT(OpNames(**small), ElementsAre("core.constant", "ten.mul", "ten.neg", "func.return"));
  EXPECT_THAT(Print(**small), HasSubstr("dense<2.000000e+00> : tensor<1xf32>"));
  EXPECT_TRUE(Verify(small->get()).ok());
}

TEST(ReduceTest, ChainOfEqualTypesIsBypassed) {
  const Model model = Loaded(kChain);
  // Both are needed, what is between them is not.
  const absl::StatusOr<OwnedOp> small = Reduce(*model.module(), [](const Operation& m) {
    bool found = false;
    const_cast<Operation&>(m).Walk([&](Operation* op) {
      found |= op->name() == "ten.exp" && op->operand(0).defining_op() != nullptr;
    });
    return found && HasOp(m, "ten.add");
  });
  ASSERT_TRUE(small.ok());
  EXPECT_THAT(OpNames(**small), ElementsAre("ten.add", "ten.exp", "func.return"));
}

TEST(ReduceTest, TriesAreLimited) {
  const Model model = Loaded(kChain);
  int64_t calls = 0;
  const absl::StatusOr<OwnedOp> small = Reduce(*model.module(),
                                               [&](const Operation& m) {
                                                 ++calls;
                                                 return HasOp(m, "ten.tanh");
                                               },
                                               {.most_tries = 3});
  ASSERT_TRUE(small.ok());
  EXPECT_LE(calls, 4);
}

TEST(ReduceTest, WhatCannotBeReduced) {
  const Model model = Loaded(kChain);
  EXPECT_THAT(
      std::string(
          Reduce(*model.module(), [](const Operation&) { return false; }).status().message()),
      HasSubstr("the program does not show what is looked for"));
  const Model empty = Loaded("// nothing\n");
  const absl::StatusOr<OwnedOp> same =
      Reduce(*empty.module(), [](const Operation&) { return true; });
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_THAT(OpNames(**same), ElementsAre());
}

// A pass that puts a subtraction in place of each addition.
class Spoil : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext&) override {
    std::vector<Operation*> sums;
    op->Walk([&](Operation* inner) {
      if (inner->name() == "ten.add") sums.push_back(inner);
    });
    for (Operation* sum : sums) {
      OpBuilder builder = OpBuilder::Before(sum);
      const auto made =
          ten::SubOp::Create(builder, sum->location(), sum->operand(0), sum->operand(1));
      if (!made.ok()) return made.status();
      sum->result().ReplaceAllUsesWith(made->op()->result());
      sum->Erase();
    }
    return PassResult{!sums.empty()};
  }
};

std::shared_ptr<const Extension> SpoilingExtension() {
  auto extension = std::make_shared<Extension>();
  PassInfo info;
  info.name = "spoil";
  info.summary = "Is wrong";
  info.anchor = "func.func";
  info.create = [](const PassOptionValues&) { return std::make_unique<Spoil>(); };
  extension->passes = {info};
  return extension;
}

BisectCase ChainCase() {
  BisectCase one;
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{3, 16}, {16}}) {
    Tensor tensor = Tensor::Make(DType::kF32, std::span<const int64_t>(shape));
    for (int64_t i = 0; i < tensor.numel(); ++i)
      tensor.as<float>()[i] = 0.1F * static_cast<float>(i % 7) + 0.1F;
    one.inputs.push_back(std::move(tensor));
  }
  return one;
}

TEST(BisectTest, FindsAPassOfTheHost) {
  const Model model = Loaded(kChain, SpoilingExtension());
  BisectOptions options;
  options.optimize.pipeline = "infer-shapes,canonicalize,cse,spoil,dce,fuse,cse";
  options.cases = {ChainCase()};
  const absl::StatusOr<BisectResult> result = Bisect(model, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outcome, BisectResult::Outcome::kStep);
  EXPECT_EQ(result->kind, "pass");
  EXPECT_EQ(result->name, "spoil");
  EXPECT_EQ(result->function, "main");
  EXPECT_EQ(result->op, "");
  EXPECT_TRUE(result->reduced);
  EXPECT_LE(result->runs, std::ceil(std::log2(result->steps)) + 1);
  EXPECT_THAT(result->before, HasSubstr("ten.add"));
  EXPECT_THAT(result->after, HasSubstr("ten.sub"));
  EXPECT_EQ(result->ops, 1);
  EXPECT_THAT(result->difference, HasSubstr("output 'result0'"));
}

TEST(BisectTest, NothingToFind) {
  const Model model = Loaded(kChain, SpoilingExtension());
  BisectOptions options;
  options.cases = {ChainCase()};
  const auto outcome = [&] {
    const absl::StatusOr<BisectResult> result = Bisect(model, options);
    EXPECT_TRUE(result.ok()) << result.status();
    return result->outcome;
  };
  EXPECT_EQ(outcome(), BisectResult::Outcome::kNoDifference);
  // Wrong expectations are not the fault of a step.
  Tensor wrong = Tensor::Make(DType::kF32, {3, 16});
  std::fill_n(wrong.as<float>(), wrong.numel(), 9.0F);
  options.cases[0].expected = {wrong, Tensor()};
  EXPECT_EQ(outcome(), BisectResult::Outcome::kWrongBefore);
  options.optimize.pipeline = "plan-memory";
  options.cases = {ChainCase()};
  EXPECT_TRUE(absl::IsFailedPrecondition(Bisect(model, options).status()));
}

// Equal strings may lie at other places of their text.
TEST(BisectTest, OutputsOfStringsAreComparedAsStrings) {
  const Model model = Loaded(R"ir(
func.func() <{arg_attrs = [{core.name = "x#spans"}, {core.name = "x#text"}], function_type = (tensor<2xi64>, tensor<?xui8>) -> (tensor<2xi64>, tensor<?xui8>), res_attrs = [{core.name = "y#spans"}, {core.name = "y#text"}], sym_name = "main"}> ({
^bb0(%s: tensor<2xi64>, %t: tensor<?xui8>):
  func.return(%s, %t) : (tensor<2xi64>, tensor<?xui8>) -> ()
}) : () -> ()
)ir");
  const auto packed = [](const std::vector<std::string>& words) {
    return *PackStrings({{static_cast<int64_t>(words.size())}, words});
  };
  BisectOptions options;
  options.cases = {{packed({"a", "bc"}), packed({"bc", "a"})}};
  auto* const spans = options.cases[0].expected[0].as<int64_t>();
  std::swap(spans[0], spans[1]);
  absl::StatusOr<BisectResult> result = Bisect(model, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outcome, BisectResult::Outcome::kNoDifference) << result->difference;
  std::swap(spans[0], spans[1]);
  result = Bisect(model, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outcome, BisectResult::Outcome::kWrongBefore);
  EXPECT_EQ(result->difference,
            "output 'y': 2 of 2 elements differ; element 0 is 'a', expected 'bc'");
}

TEST(RuleNamesTest, Patterns) {
  EXPECT_TRUE(MatchesGlob("pack-*", "pack-qkv"));
  EXPECT_TRUE(MatchesGlob("*-e?f", "gelu-erf"));
  EXPECT_TRUE(MatchesGlob("**", ""));
  EXPECT_FALSE(MatchesGlob("pack-*", "unpack-qkv"));
  EXPECT_FALSE(MatchesGlob("?", ""));
  // No time that grows with the power of the stars.
  EXPECT_FALSE(MatchesGlob("*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(2000, 'a')));
}

TEST(RuleNamesTest, PlacesOfHostsAreShort) {
  const auto place = [](const char* file) { return drr::Rule("r", file, 7).place(); };
  EXPECT_EQ(place("/home/me/project/src/rules.cc"), "src/rules.cc:7");
  EXPECT_EQ(place("rules.cc"), "rules.cc:7");
  EXPECT_EQ(place("/rules.cc"), "/rules.cc:7");
  EXPECT_EQ(place("/src/tenon/patterns/layers/norm.cc"), "patterns/layers/norm.cc:7");
}

TEST(DisabledRulesTest, OfTheFacade) {
  constexpr char kSilu[] = R"ir(
func.func() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<4xf32>):
  %0 = ten.sigmoid(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ten.mul(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return(%1) : (tensor<4xf32>) -> ()
}) : () -> ()
)ir";
  const auto fused = [&](std::vector<std::string> disabled) {
    Model model = Loaded(kSilu);
    OptimizeOptions options;
    options.disabled_rules = std::move(disabled);
    EXPECT_TRUE(Optimize(model, options).ok());
    return HasOp(*model.module(), "nn.silu");
  };
  EXPECT_TRUE(fused({}));
  EXPECT_TRUE(fused({"gelu-erf"}));
  EXPECT_FALSE(fused({"silu"}));
  EXPECT_FALSE(fused({"activation"}));  // its family
  EXPECT_FALSE(fused({"gelu-erf", "s?lu*"}));
  Model model = Loaded(kSilu);
  OptimizeOptions options;
  options.disabled_rules = {"silo"};
  const absl::Status status = Optimize(model, options);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("there is no rule 'silo'; did you mean 'silu'?"));
}

}  // namespace
}  // namespace tenon
