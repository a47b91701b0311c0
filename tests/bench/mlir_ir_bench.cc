// MLIR, per operation: what ir_core_bench.cc measures, on arith.addi. Keep the two alike.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "llvm/Support/raw_ostream.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "tests/bench/measure.h"

namespace {

// A function f(%arg0, %arg1) with a body of additions, each of the two values before it.
class Chain {
 public:
  // Without threads MLIR takes no locks, which is its faster setting here.
  Chain() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect>();
    type = mlir::RankedTensorType::get({8, 16}, mlir::IntegerType::get(&context, 32));
    for (uint32_t i = 0; i < bench::kLocations; ++i) {
      locations.push_back(mlir::FileLineColLoc::get(&context, "chain.mlir", i + 1, 5));
    }
    mlir::OpBuilder builder(&context);
    module = mlir::ModuleOp::create(locations[0]);
    builder.setInsertionPointToEnd(module->getBody());
    auto func = mlir::func::FuncOp::create(builder, locations[0], "f",
                                           builder.getFunctionType({type, type}, {type}));
    body = func.addEntryBlock();
  }

  void Fill(int64_t ops) {
    mlir::OpBuilder builder(&context);
    builder.setInsertionPointToEnd(body);
    mlir::Value a = body->getArgument(0), b = body->getArgument(1);
    for (int64_t i = 0; i < ops; ++i) {
      mlir::Location location = locations[static_cast<size_t>(i) % bench::kLocations];
      mlir::Value sum = mlir::arith::AddIOp::create(builder, location, a, b);
      a = b;
      b = sum;
    }
    benchmark::DoNotOptimize(mlir::func::ReturnOp::create(builder, locations[0], b).getOperation());
  }

  static std::unique_ptr<Chain> Filled(int64_t ops) {
    auto chain = std::make_unique<Chain>();
    chain->Fill(ops);
    return chain;
  }

  mlir::MLIRContext context;
  mlir::Type type;
  std::vector<mlir::Location> locations;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Block* body = nullptr;
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
    while (!chain->body->empty()) chain->body->back().erase();
    state.ResumeTiming();
    chain->Fill(bench::kOps);
  }
  bench::SetPerOp(state, bench::kOps);
}

void BM_Bytes(benchmark::State& state) {
  for (auto _ : state) {
    auto chain = std::make_unique<Chain>();
    size_t resident = bench::ResidentBytes();
    chain->Fill(bench::kOps);
    state.counters["rss_bytes_per_op"] = bench::PerOp(bench::ResidentBytes() - resident);
  }
}

void BM_Verify(benchmark::State& state) {
  auto chain = Chain::Filled(bench::kOps);
  for (auto _ : state) {
    if (mlir::verify(*chain->module).failed()) state.SkipWithError("does not verify");
  }
  bench::SetPerOp(state, bench::kOps);
}

void BM_Clone(benchmark::State& state) {
  auto chain = Chain::Filled(bench::kOps);
  for (auto _ : state) {
    mlir::OwningOpRef<mlir::ModuleOp> copy(chain->module->clone());
    state.PauseTiming();
    copy = nullptr;
    state.ResumeTiming();
  }
  bench::SetPerOp(state, bench::kOps);
}

void BM_Walk(benchmark::State& state) {
  auto chain = Chain::Filled(bench::kOps);
  for (auto _ : state) {
    int64_t adds = 0;
    (*chain->module)->walk([&](mlir::Operation* op) {
      adds += llvm::isa<mlir::arith::AddIOp>(op);
    });
    if (adds != bench::kOps) state.SkipWithError("wrong count");
  }
  bench::SetPerOp(state, bench::kOps);
}

// Every value is used twice.
void BM_ReplaceAllUses(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    auto chain = Chain::Filled(bench::kOps);
    mlir::Value argument = chain->body->getArgument(0);
    state.ResumeTiming();
    for (mlir::Operation& op : *chain->body) {
      if (op.getNumResults() == 1) op.getResult(0).replaceAllUsesWith(argument);
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
    while (!chain->body->empty()) chain->body->back().erase();
    state.PauseTiming();
    chain.reset();
    state.ResumeTiming();
  }
  bench::SetPerOp(state, bench::kOps);
}

std::string Print(Chain& chain) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  chain.module->print(stream, mlir::OpPrintingFlags().printGenericOpForm());
  return text;
}

void BM_Print(benchmark::State& state) {
  auto chain = Chain::Filled(bench::kTextOps);
  for (auto _ : state) {
    std::string text = Print(*chain);
    benchmark::DoNotOptimize(text.data());
  }
  bench::SetPerOp(state, bench::kTextOps);
}

void BM_Parse(benchmark::State& state) {
  auto chain = Chain::Filled(bench::kTextOps);
  std::string text = Print(*chain);
  for (auto _ : state) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        text, mlir::ParserConfig(&chain->context, /*verifyAfterParse=*/false));
    if (!module) state.SkipWithError("does not parse");
    state.PauseTiming();
    module = nullptr;
    state.ResumeTiming();
  }
  bench::SetPerOp(state, bench::kTextOps);
}

std::string Binary(Chain& chain) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (mlir::writeBytecodeToFile(*chain.module, stream).failed()) return {};
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
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        bytes, mlir::ParserConfig(&chain->context, /*verifyAfterParse=*/false));
    if (!module) state.SkipWithError("does not read");
    state.PauseTiming();
    module = nullptr;
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

BENCHMARK_MAIN();
