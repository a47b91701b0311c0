// The IR core, per operation: modules of ops with two operands, one result and a location each.
// mlir_ir_bench.cc measures the same with MLIR; keep the two alike.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "ir/core/builder.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/dialects.h"
#include "ir/dialect/func_ops.h"
#include "ir/dialect/ten_ops.h"
#include "ir/serialize/binary_module.h"
#include "tests/bench/measure.h"

namespace tenon {
namespace {

// A function f(%arg0, %arg1) with a body of additions, each of the two values before it.
class Chain {
 public:
  Chain() {
    RegisterAllDialects(context);
    const int64_t dims[] = {8, 16};
    type = Type::Tensor(context, DType::kF32, dims);
    for (uint32_t i = 0; i < bench::kLocations; ++i) {
      locations.push_back(Location::FileLineCol(context, "chain.mlir", i + 1, 5));
    }
    module = CreateModule(context);
    const Type types[] = {type, type};
    Operation* func =
        CreateFunction(module.get(), "f", Type::Function(context, types, {types, 1}), locations[0]);
    body = &func->region().front();
  }

  void Fill(int64_t ops) {
    OpBuilder builder = OpBuilder::AtEnd(context, body);
    Value a = body->argument(0), b = body->argument(1);
    for (int64_t i = 0; i < ops; ++i) {
      Location location = locations[static_cast<size_t>(i) % bench::kLocations];
      Value sum = ten::AddOp::Create(builder, location, a, b)->out();
      a = b;
      b = sum;
    }
    benchmark::DoNotOptimize(
        func::ReturnOp::Create(builder, locations[0], std::span<const Value>(&b, 1)).ok());
  }

  static std::unique_ptr<Chain> Filled(int64_t ops) {
    auto chain = std::make_unique<Chain>();
    chain->Fill(ops);
    return chain;
  }

  Context context;
  Type type;
  std::vector<Location> locations;
  OwnedOp module;
  Block* body = nullptr;
};

// In memory that no op has used before.
void BM_Create(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    auto chain = std::make_unique<Chain>();
    state.ResumeTiming();
    chain->Fill(bench::kOps);
    state.PauseTiming();
    chain.reset();
    state.ResumeTiming();
  }
  bench::SetPerOp(state, bench::kOps);
}

// In memory of ops erased before.
void BM_CreateAgain(benchmark::State& state) {
  auto chain = Chain::Filled(bench::kOps);
  for (auto _ : state) {
    state.PauseTiming();
    while (!chain->body->empty()) chain->body->back()->Erase();
    state.ResumeTiming();
    chain->Fill(bench::kOps);
  }
  bench::SetPerOp(state, bench::kOps);
}

// Bytes are those of the whole process, so each measurement is one iteration.
void BM_Bytes(benchmark::State& state) {
  for (auto _ : state) {
    auto chain = std::make_unique<Chain>();
    size_t resident = bench::ResidentBytes(), in_use = chain->context.op_bytes_in_use();
    chain->Fill(bench::kOps);
    state.counters["rss_bytes_per_op"] = bench::PerOp(bench::ResidentBytes() - resident);
    state.counters["pool_bytes_per_op"] = bench::PerOp(chain->context.op_bytes_in_use() - in_use);
  }
}

void BM_Verify(benchmark::State& state) {
  auto chain = Chain::Filled(bench::kOps);
  for (auto _ : state) {
    if (!Verify(chain->module.get()).ok()) state.SkipWithError("does not verify");
  }
  bench::SetPerOp(state, bench::kOps);
}

void BM_Clone(benchmark::State& state) {
  auto chain = Chain::Filled(bench::kOps);
  for (auto _ : state) {
    OwnedOp copy(Clone(*chain->module));
    state.PauseTiming();
    copy.reset();
    state.ResumeTiming();
  }
  bench::SetPerOp(state, bench::kOps);
}

void BM_Walk(benchmark::State& state) {
  auto chain = Chain::Filled(bench::kOps);
  for (auto _ : state) {
    int64_t adds = 0;
    chain->module->Walk([&](Operation* op) { adds += Isa<ten::AddOp>(op); });
    if (adds != bench::kOps) state.SkipWithError("wrong count");
  }
  bench::SetPerOp(state, bench::kOps);
}

// Every value is used twice.
void BM_ReplaceAllUses(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    auto chain = Chain::Filled(bench::kOps);
    Value argument = chain->body->argument(0);
    state.ResumeTiming();
    for (Operation& op : *chain->body) {
      if (op.num_results() == 1) op.result().ReplaceAllUsesWith(argument);
    }
    state.PauseTiming();
    chain.reset();
    state.ResumeTiming();
  }
  bench::SetPerOp(state, bench::kOps);
}

void BM_Erase(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    auto chain = Chain::Filled(bench::kOps);
    state.ResumeTiming();
    while (!chain->body->empty()) chain->body->back()->Erase();
    state.PauseTiming();
    chain.reset();
    state.ResumeTiming();
  }
  bench::SetPerOp(state, bench::kOps);
}

void BM_Print(benchmark::State& state) {
  auto chain = Chain::Filled(bench::kTextOps);
  for (auto _ : state) {
    std::string text = Print(*chain->module, {.generic = true});
    benchmark::DoNotOptimize(text.data());
  }
  bench::SetPerOp(state, bench::kTextOps);
}

void BM_Parse(benchmark::State& state) {
  auto chain = Chain::Filled(bench::kTextOps);
  std::string text = Print(*chain->module, {.generic = true});
  for (auto _ : state) {
    absl::StatusOr<OwnedOp> module = ParseModule(chain->context, text, {.verify = false});
    if (!module.ok()) state.SkipWithError("does not parse");
    state.PauseTiming();
    module = OwnedOp();
    state.ResumeTiming();
  }
  bench::SetPerOp(state, bench::kTextOps);
}

std::string Binary(const Chain& chain) {
  std::string bytes;
  const absl::Status status = WriteBinaryModule(*chain.module, [&](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  });
  benchmark::DoNotOptimize(status.ok());
  return bytes;
}

void BM_WriteBinary(benchmark::State& state) {
  auto chain = Chain::Filled(bench::kTextOps);
  for (auto _ : state) {
    std::string bytes = Binary(*chain);
    benchmark::DoNotOptimize(bytes.data());
  }
  bench::SetPerOp(state, bench::kTextOps);
}

void BM_ReadBinary(benchmark::State& state) {
  auto chain = Chain::Filled(bench::kTextOps);
  std::string bytes = Binary(*chain);
  for (auto _ : state) {
    absl::StatusOr<OwnedOp> module = ReadBinaryModule(chain->context, bytes, {.verify = false});
    if (!module.ok()) state.SkipWithError("does not read");
    state.PauseTiming();
    module = OwnedOp();
    state.ResumeTiming();
  }
  bench::SetPerOp(state, bench::kTextOps);
}

BENCHMARK(BM_Bytes)->Iterations(1);
BENCHMARK(BM_Create)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CreateAgain)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Verify)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Clone)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Walk)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ReplaceAllUses)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Erase)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Print)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Parse)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_WriteBinary)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ReadBinary)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tenon

BENCHMARK_MAIN();
