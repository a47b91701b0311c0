// Passes on functions of several blocks: the order in which the blocks are printed changes nothing,
// and a second run finds nothing to do.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/context/context.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/calls_and_jumps.h"
#include "ir/dialect/dialects.h"
#include "pass/pass_manager.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

constexpr std::string_view kT = R"(tensor<?x4xf32, ["n", ""]>)";

// A ladder of branches that meet again, with a jump back from its end: the block of each rung
// dominates what comes after it. Blocks read values of rungs far above.
class Ladder {
 public:
  explicit Ladder(unsigned seed) : random_(seed) {}

  std::string Text(int rungs) {
    text_ = fmt::format(
        "func.func() <{{function_type = ({0}, tensor<i1>) -> {0}, sym_name = \"f\"}}> ({{\n"
        "^bb0(%x: {0}, %c: tensor<i1>):\n"
        "  %yes = core.constant() <{{value = dense<true> : tensor<i1>}}> : () -> tensor<i1>\n"
        "  %zero = core.constant() <{{value = dense<0> : tensor<i64>}}> : () -> tensor<i64>\n"
        "  %one = core.constant() <{{value = dense<1.0> : tensor<f32>}}> : () -> tensor<f32>\n",
        kT);
    values_ = {"%x"};
    Ops();
    text_ += fmt::format("  cf.br({})[^h1] : ({}) -> ()\n", Pick(), kT);
    for (int k = 1; k <= rungs; ++k) {
      text_ += fmt::format("^h{}(%h{}: {}):\n", k, k, kT);
      values_.push_back(fmt::format("%h{}", k));
      Ops();
      text_ += fmt::format(
          "  cf.cond_br(%c)[^a{0}, ^b{0}] <{{operandSegmentSizes = array<i32: 1, 0, 0>}}> : "
          "(tensor<i1>) -> ()\n",
          k);
      for (const char* side : {"a", "b"}) {
        text_ += fmt::format("^{}{}:\n", side, k);
        const size_t outside = values_.size();
        Ops();
        const std::string next = k < rungs ? fmt::format("h{}", k + 1) : "end";
        text_ += fmt::format("  cf.br({})[^{}] : ({}) -> ()\n", Pick(), next, kT);
        values_.resize(outside);
      }
    }
    text_ += fmt::format("^end(%e: {}):\n", kT);
    values_.push_back("%e");
    Ops();
    text_ += fmt::format(
        "  cf.cond_br(%c, {0})[^h1, ^out] <{{operandSegmentSizes = array<i32: 1, 1, 0>}}> : "
        "(tensor<i1>, {1}) -> ()\n^out:\n  func.return({2}) : ({1}) -> ()\n}}) : () -> ()\n",
        Pick(), kT, Pick());
    return text_;
  }

 private:
  size_t Below(size_t n) { return random_() % n; }
  // Late values most often.
  std::string Pick() {
    return values_[values_.size() - 1 - Below(std::min<size_t>(values_.size(), Below(6) + 1))];
  }
  std::string Define() { return fmt::format("%v{}", ++count_); }

  void Ops() {
    for (size_t n = Below(5); n > 0; --n) Op();
  }

  void Op() {
    const std::string v = Define(), a = Pick(), b = Pick();
    switch (Below(7)) {
      case 0:
        text_ += fmt::format("  {} = ten.exp({}) : ({}) -> {}\n", v, a, kT, kT);
        break;
      case 1:
        text_ += fmt::format("  {} = ten.add({}, {}) : ({}, {}) -> {}\n", v, a, b, kT, kT, kT);
        break;
      case 2:
        text_ += fmt::format(
            "  {0} = ten.expand(%one) <{{shape = #core.dims<\"n\", 4>}}> : (tensor<f32>) -> {1}\n",
            v, kT);
        break;
      case 3:  // by run-time values that infer-shapes knows, without naming the extents
        text_ += fmt::format(
            "  {0}s = ten.shape({1}) <{{end = 2 : i64, start = 0 : i64}}> : ({2}) -> "
            "tensor<2xi64>\n"
            "  {0} = ten.dynamic_reshape({1}, {0}s) : ({2}, tensor<2xi64>) -> {2}\n",
            v, a, kT);
        break;
      case 4:  // dead, and may fail
        text_ += fmt::format(
            "  {} = ten.div(%zero, %zero) : (tensor<i64>, tensor<i64>) -> "
            "tensor<i64>\n",
            v);
        return;
      default: {
        const char* condition = Below(2) == 0 ? "%yes" : "%c";
        text_ += fmt::format(
            "  {0}:2 = ctl.if({1}) ({{\n"
            "    {0}a = ten.exp({2}) : ({4}) -> {4}\n"
            "    ctl.yield({0}a, {3}) : ({4}, {4}) -> ()\n"
            "  }}, {{\n"
            "    ctl.yield({2}, {3}) : ({4}, {4}) -> ()\n"
            "  }}) : (tensor<i1>) -> ({4}, {4})\n",
            v, condition, a, b, kT);
        values_.push_back(v + (Below(2) == 0 ? "#0" : "#1"));
        return;
      }
    }
    values_.push_back(v);
  }

  std::mt19937 random_;
  std::string text_;
  std::vector<std::string> values_;
  int count_ = 0;
};

// Puts all blocks but the entry in another order.
void Shuffle(Region& region, std::mt19937& random) {
  std::vector<Block*> blocks;
  for (Block& block : region) blocks.push_back(&block);
  for (size_t i = blocks.size(); i > 2; --i)
    std::swap(blocks[i - 1], blocks[1 + random() % (i - 1)]);
  for (size_t i = 1; i < blocks.size(); ++i) region.Insert(region.Remove(blocks[i]), nullptr);
}

void Sort(Region& region) {
  for (Block* const block : BlocksInDominanceOrder(region)) {
    if (block != &region.front()) region.Insert(region.Remove(block), nullptr);
  }
}

class BlockOrder : public ::testing::TestWithParam<const char*> {
 protected:
  BlockOrder() {
    RegisterAllDialects(context_);
    EXPECT_TRUE(RegisterTransformPasses(registry_).ok());
  }

  // Whether the pass changed something.
  bool Run(Operation* module) {
    PassManager manager(registry_);
    EXPECT_TRUE(manager.AddPipeline(GetParam()).ok());
    PassContext context;
    const absl::StatusOr<PassResult> result = manager.Run(module, context);
    EXPECT_TRUE(result.ok()) << result.status() << "\n" << Print(*module);
    return result.ok() && result->changed;
  }

  Context context_;
  PassRegistry registry_;
};

TEST_P(BlockOrder, ChangesNothing) {
  for (unsigned seed = 1; seed <= 25; ++seed) {
    const std::string text = Ladder(seed).Text(4);
    std::string expected;
    std::mt19937 random(seed);
    for (int order = 0; order < 4; ++order) {
      absl::StatusOr<OwnedOp> module = ParseModule(context_, text);
      ASSERT_TRUE(module.ok()) << module.status() << "\n" << text;
      Region& region = (*module)->region().front().front()->region();
      if (order > 0) Shuffle(region, random);
      const std::string before = Print(**module);
      Run(module->get());
      const std::string once = Print(**module);
      Run(module->get());
      ASSERT_EQ(once, Print(**module)) << "the second run on seed " << seed << ":\n" << before;
      Sort(region);
      const std::string sorted = Print(**module);
      if (order == 0) expected = sorted;
      ASSERT_EQ(expected, sorted) << "seed " << seed << ":\n" << before;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Passes, BlockOrder,
                         ::testing::Values("infer-shapes", "sink-expands", "simplify-control",
                                           "sink", "constant-fold", "cse", "dce", "sccp", "licm",
                                           "canonicalize", "simplify-cfg"),
                         [](const ::testing::TestParamInfo<const char*>& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace tenon
