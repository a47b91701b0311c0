// A failing match allocates nothing.
// Not under AddressSanitizer, which owns operator new.
#if !defined(__SANITIZE_ADDRESS__)
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "drr/automaton/automaton.h"
#include "drr/automaton/labels.h"
#include "drr/match/matcher.h"
#include "gtest/gtest.h"
#include "ir/core/block.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/dialects.h"
#include "patterns/prelude.h"

namespace {
std::atomic<int64_t> allocations{0};
}  // namespace

// Not inlined: GCC would see free() on what new returned, and warn.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  std::abort();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace tenon::pattern {
namespace {

TEST(MatcherTest, FailingMatchesAllocateNothing) {
  Context context;
  RegisterAllDialects(context);
  std::vector<CompiledRules> all;
  for (const Family& family : Families()) {
    auto rules = CompiledRules::Create(RulesOf(family), context);
    ASSERT_TRUE(rules.ok()) << rules.status();
    all.push_back(*std::move(rules));
  }
  // Almost a GELU (another constant), almost a layer norm (the variance of something else), almost
  // an attention.
  auto module = ParseModule(context, R"(
"func.func"() <{function_type = (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>, sym_name = "f"}> ({
^bb0(%x: tensor<2x4x8xf32>):
  %s = "core.constant"() <{value = dense<1.5> : tensor<f32>}> : () -> tensor<f32>
  %one = "core.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %half = "core.constant"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
  %a = "ten.div"(%x, %s) : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
  %e = "ten.erf"(%a) : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %p = "ten.add"(%e, %one) : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
  %m = "ten.mul"(%x, %p) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %g = "ten.mul"(%m, %half) : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
  %v = "ten.reduce_mean"(%g) <{axes = array<i64: 2>}> : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
  %d = "ten.sub"(%x, %v) : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
  %q = "ten.matmul"(%d, %g) <{transpose_b = true}> : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %w = "nn.softmax"(%q) <{axis = 2 : i64}> : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %o = "ten.matmul"(%w, %d) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  "func.return"(%o) : (tensor<2x4x8xf32>) -> ()
}) : () -> ()
)");
  ASSERT_TRUE(module.ok()) << module.status();
  Matcher matcher(context);
  Automaton::Scratch scratch;
  std::vector<std::unique_ptr<drr::Labels>> labels;
  for (const CompiledRules& rules : all) {
    auto table = std::make_shared<drr::PatternTable>();
    for (uint16_t i = 0; i < rules.list().rules().size(); ++i) table->Add(i, **rules.Get(i));
    table->Finish();
    labels.push_back(std::make_unique<drr::Labels>(std::move(table)));
  }
  auto attempt = [&] {
    int failures = 0;
    (*module)->Walk([&](Operation* op) {
      for (const auto& one : labels) one->Find(op);
      for (const CompiledRules& rules : all) {
        for (uint16_t index : rules.list().RulesAt(op->id()))
          failures += matcher.Match(**rules.Get(index), op) ? 0 : 1;
        if (const Automaton* automaton = rules.AutomatonAt(op->id())) automaton->Find(op, scratch);
      }
    });
    return failures;
  };
  EXPECT_GT(attempt(), 20);  // warms the matcher's memory up
  int64_t before = allocations;
  int failures = attempt();
  // The walk itself may allocate a little, whatever the number of rules.
  EXPECT_LT(allocations - before, 8) << failures << " failing matches";
}

}  // namespace
}  // namespace tenon::pattern

#else
#include <gtest/gtest.h>

TEST(MatcherAllocation, IsCounted) {
  GTEST_SKIP() << "sanitizers own the allocator, whose calls are counted";
}

#endif  // __SANITIZE_ADDRESS__
