// Matching 1 to 1000 rules on one root op, over a program in which none matches: time per op of the
// driver, and the time to read and compile the rules.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drr/rewrite/driver.h"
#include "drr/text/text.h"
#include "fmt/format.h"
#include "ir/core/builder.h"
#include "ir/core/check.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/dialects.h"
#include "ir/dialect/func_ops.h"
#include "ir/dialect/ten_ops.h"
#include "tests/bench/measure.h"

namespace tenon {
namespace {

enum Kind { kConstants, kAttributes, kDepth, kConditions, kMixed };
constexpr const char* kNames[] = {"constants", "attributes", "depth", "conditions", "mixed"};

// A rule on ten.add that differs from the others of its kind in what the kind says.
std::string RuleText(Kind kind, int i) {
  if (kind == kMixed) return RuleText(static_cast<Kind>(i % kMixed), i);
  const std::string head = fmt::format("rule {}-{} {{\n  match ", kNames[kind], i);
  switch (kind) {
    case kConstants:
      return fmt::format("{}add(x, splat({}))\n  replace x\n}}\n", head, 1000.5 + i);
    case kAttributes:
      return fmt::format(
          "{}add(_x, transpose(y) {{perm = {{{}, {}, 0}}}})\n  replace relu(y)\n}}\n", head, i + 3,
          i + 2);
    case kDepth: {
      std::string source = fmt::format("mul(x, splat({}))", 3000.5 + i);
      for (int d = 0; d <= i % 20; ++d) source = fmt::format("add({}, _y{})", source, d);
      return fmt::format("{}{}\n  replace x\n}}\n", head, source);
    }
    default:
      return fmt::format(
          "{}add(x, _y)\n  where dim(x, {}) == {} && rank(_y) == {}\n  replace x\n}}\n", head,
          i % 4, 100 + i, 5 + i % 3);
  }
}

std::string RuleTexts(Kind kind, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += RuleText(kind, i);
  return text;
}

// A function of additions: of two values, and of a value and a constant or a transposed value.
OwnedOp MakeProgram(Context& context, int64_t ops) {
  const int64_t dims[] = {8, 16};
  const Type type = Type::Tensor(context, DType::kF32, dims);
  OwnedOp module = CreateModule(context);
  const Type types[] = {type, type};
  Operation* func =
      CreateFunction(module.get(), "f", Type::Function(context, types, {types, 1}), Location());
  Block* body = &func->region().front();
  OpBuilder builder = OpBuilder::AtEnd(context, body);
  const float number = 77.25f;
  const Type scalar = Type::Tensor(context, DType::kF32, std::span<const int64_t>());
  const Attribute elements =
      Attribute::Elements(context, scalar, std::as_bytes(std::span(&number, 1)));
  const Value constant = core::ConstantOp::Create(builder, Location(), {.value = elements})->out();
  Value a = body->argument(0), b = body->argument(1);
  for (int64_t i = 0; i < ops; ++i) {
    const Value other = i % 3 == 0 ? constant : a;
    const Value sum = ten::AddOp::Create(builder, Location(), b, other)->out();
    a = b;
    b = sum;
  }
  TENON_CHECK(func::ReturnOp::Create(builder, Location(), std::span<const Value>(&b, 1)).ok());
  return module;
}

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
  const OwnedOp module = MakeProgram(context, bench::kOps);
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
    ->ArgsProduct({{kConstants, kAttributes, kDepth, kConditions, kMixed}, {0, 1, 10, 100, 1000}})
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
    ->ArgsProduct({{kConstants, kAttributes, kDepth, kConditions, kMixed}, {1000}})
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
    ->ArgsProduct({{kConstants, kAttributes, kDepth, kConditions, kMixed}, {100, 1000}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tenon

BENCHMARK_MAIN();
