// Matching 1 to 1000 rules, over a program in which none matches: time per op of the driver, and
// the time to read and compile the rules. BM_Match/KIND/RULES/1 is on a program with many ops.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>

#include "drr/rewrite/driver.h"
#include "drr/text/text.h"
#include "ir/base/check.h"
#include "ir/dialect/dialects.h"
#include "tests/bench/measure.h"
#include "tests/bench/scaling_rules.h"

namespace tenon {
namespace {

using namespace bench_rules;  // NOLINT(google-build-using-namespace)

drr::CompiledRules Rules(Context& context, Kind kind, int count) {
  auto rules = drr::ParseRules(RuleTexts(kind, count), "bench", context);
  TENON_CHECK_MSG(rules.ok(), std::string(rules.status().message()));
  auto compiled = drr::CompiledRules::Create(*std::move(rules), context);
  TENON_CHECK_MSG(compiled.ok(), std::string(compiled.status().message()));
  return *std::move(compiled);
}

void BM_Match(benchmark::State& state) {
  const auto kind = static_cast<Kind>(state.range(0));
  const auto count = static_cast<int>(state.range(1));
  Context context;
  RegisterAllDialects(context);
  const OwnedOp module = MakeProgram(context, bench::kOps, state.range(2) != 0);
  const drr::CompiledRules rules = Rules(context, kind, count);
  PassContext pass_context;
  for (auto _ : state) {
    auto result = drr::ApplyRules(rules, module.get(), pass_context, {.fold = false});
    TENON_CHECK(result.ok() && !result->changed);
  }
  bench::SetPerOp(state, bench::kOps);
  state.SetLabel(kNames[kind]);
}
BENCHMARK(BM_Match)
    ->ArgsProduct({benchmark::CreateDenseRange(0, kAll, 1), {0, 1, 10, 100, 1000}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

void BM_Load(benchmark::State& state) {
  const auto kind = static_cast<Kind>(state.range(0));
  const std::string text = RuleTexts(kind, static_cast<int>(state.range(1)));
  Context context;
  RegisterAllDialects(context);
  for (auto _ : state) {
    auto rules = drr::ParseRules(text, "bench", context);
    TENON_CHECK(rules.ok());
    benchmark::DoNotOptimize(rules);
  }
  state.SetLabel(kNames[kind]);
}
BENCHMARK(BM_Load)
    ->ArgsProduct({benchmark::CreateDenseRange(0, kAll, 1), {1000}})
    ->Unit(benchmark::kMillisecond);

void BM_Compile(benchmark::State& state) {
  const auto kind = static_cast<Kind>(state.range(0));
  Context context;
  RegisterAllDialects(context);
  auto rules = drr::ParseRules(RuleTexts(kind, static_cast<int>(state.range(1))), "bench", context);
  TENON_CHECK(rules.ok());
  for (auto _ : state) {
    auto compiled = drr::CompiledRules::Create(*rules, context);
    TENON_CHECK(compiled.ok());
    benchmark::DoNotOptimize(compiled);
  }
  state.SetLabel(kNames[kind]);
}
BENCHMARK(BM_Compile)
    ->ArgsProduct({benchmark::CreateDenseRange(0, kAll, 1), {100, 1000}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tenon

BENCHMARK_MAIN();
