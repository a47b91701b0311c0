// Functions shared out to threads: everything is as with one. ThreadSanitizer runs these tests, too
// (pass.shared_nest.tsan), so they use ir/core and pass alone.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/symbol_table.h"
#include "pass/pass_manager.h"
#include "tests/pass/small_dialects.h"

namespace tenon {
namespace {

constexpr int kThreads[] = {1, 2, 3, 8, 0};

int64_t OpsIn(Operation* op) {
  int64_t ops = 0;
  op->WalkPreOrder([&](Operation*) { return ++ops > 0; });
  return ops;
}

// Evaluates nothing. Says of every call how many came before.
class Counter : public Evaluator {
 public:
  absl::StatusOr<std::vector<Attribute>> Evaluate(
      const Operation& op, std::span<const Attribute>,
      const std::function<std::optional<int64_t>(std::string_view)>&) override {
    calls += SymbolName(*op.parent_op());
    calls += ' ';
    return absl::UnimplementedError(fmt::format("{}", ++count_));
  }
  std::string calls;  // the functions, in order

 private:
  int count_ = 0;
};

// Passes that change the IR, emit diagnostics, report, count and evaluate.
void AddPasses(PassRegistry& registry) {
  AddPass(registry, "number", "func.func", [](Operation* op, PassContext& context) {
    for (Operation& inner : op->region().front()) {
      if (inner.name() != "t.op") continue;
      const std::string text = fmt::format("{} in {}", OpsIn(op), SymbolName(*op));
      inner.SetAttr("t.text", Attribute::Str(op->context(), text));
      context.statistics->Add("numbered");
      if (context.rule_counts != nullptr) ++(*context.rule_counts)["number"];
    }
    EmitRemark(op->context(), op->location(), fmt::format("numbered {}", SymbolName(*op)));
    return absl::StatusOr<PassResult>(PassResult{true});
  });
  AddPass(registry, "shrink", "func.func", [](Operation* op, PassContext& context) {
    Block& block = op->region().front();
    const bool changes =
        block.front()->next() != nullptr && block.front()->next()->next() != nullptr;
    if (changes) block.front()->Erase();
    if (context.report) context.report(fmt::format("{} of {}", changes, SymbolName(*op)));
    if (changes) context.statistics->Add("erased");
    return absl::StatusOr<PassResult>(PassResult{changes});
  });
  AddPass(registry, "ask", "func.func", [](Operation* op, PassContext& context) {
    Operation* const first = op->region().front().front();
    const std::string answer(context.evaluator->Evaluate(*first, {}, {}).status().message());
    first->SetAttr("t.answer", Attribute::Str(op->context(), answer));
    return absl::StatusOr<PassResult>(PassResult{true});
  });
  AddPass(registry, "fail-at-9", "func.func",
          [](Operation* op, PassContext&) -> absl::StatusOr<PassResult> {
            if (OpsIn(op) < 9) return PassResult();
            return EmitError(op->context(), op->location(),
                             fmt::format("too many in {}", SymbolName(*op)));
          });
}

// All that a run tells, in order.
struct Told {
  std::string text;       // dumps, diagnostics and lines
  std::string ir;         // the result
  std::string error;      // of the run
  std::string evaluated;  // the functions, in order
  bool operator==(const Told&) const = default;
};

Told RunOn(std::string_view pipeline, int threads, int functions = 60) {
  Told told;
  Context context;
  RegisterSmallDialects(context);
  absl::StatusOr<OwnedOp> module = ParseModule(context, FunctionsText(functions, 7));
  EXPECT_TRUE(module.ok()) << module.status();
  context.diagnostics().SetHandler([&](const Diagnostic& diagnostic) {
    told.text += FormatDiagnostic(context, diagnostic) + "\n";
  });
  PassRegistry registry;
  AddPasses(registry);
  PassManager manager(registry);
  EXPECT_TRUE(manager.AddPipeline(pipeline).ok());
  Counter counter;
  std::map<std::string, int64_t, std::less<>> rule_counts;
  PassContext services;
  services.evaluator = &counter;
  services.report = [&](std::string_view line) { told.text += fmt::format("- {}\n", line); };
  services.rule_counts = &rule_counts;
  PassManagerOptions options;
  options.threads = threads;
  options.statistics = options.print_after_change = options.print_after_failure = true;
  options.print_before = {"shrink"};
  options.sink = [&](std::string_view text) { told.text += text; };
  const absl::StatusOr<PassResult> result = manager.Run(module->get(), services, options);
  told.error = std::string(result.status().message());
  for (const auto& [rule, count] : rule_counts) told.text += fmt::format("{} {}\n", rule, count);
  told.text += fmt::format("{} steps\n", services.steps);
  told.evaluated = counter.calls;
  if (result.ok()) told.ir = Print(**module);
  return told;
}

void ExpectSame(std::string_view pipeline) {
  const Told one = RunOn(pipeline, 1);
  for (const int threads : kThreads) {
    const Told several = RunOn(pipeline, threads);
    EXPECT_EQ(several.text, one.text) << threads;
    EXPECT_EQ(several.ir, one.ir) << threads;
    EXPECT_EQ(several.error, one.error) << threads;
    EXPECT_EQ(several.evaluated, one.evaluated) << threads;
  }
}

TEST(SharedNestTest, TellsWhatOneThreadTells) {
  EXPECT_NE(RunOn("number,shrink", 1).text.find("remark: numbered f59"), std::string::npos);
  ExpectSame("number,shrink,number,shrink");
}

TEST(SharedNestTest, EvaluatesInTheOrderOfFunctions) {
  EXPECT_TRUE(RunOn("number,ask", 4).evaluated.starts_with("f0 f1 f2 f3 "));
  ExpectSame("number,ask,shrink,ask");
}

TEST(SharedNestTest, StopsAtTheFirstError) {
  const Told told = RunOn("number,fail-at-9,shrink", 4);
  EXPECT_EQ(told.error.substr(0, 45), "pass 'fail-at-9' on 'func.func' operation: @f");
  EXPECT_EQ(told.text.find("remark: numbered f59"), std::string::npos);
  ExpectSame("number,fail-at-9,shrink");
}

TEST(SharedNestTest, SomePassesTakeOneFunctionAtATime) {
  Context context;
  RegisterSmallDialects(context);
  const absl::StatusOr<OwnedOp> module = ParseModule(context, FunctionsText(50, 2));
  ASSERT_TRUE(module.ok());
  std::string order;  // not guarded: one thread at a time
  PassRegistry registry;
  AddPass(
      registry, "list", "func.func",
      [&](Operation* op, PassContext&) {
        order += SymbolName(*op);
        return absl::StatusOr<PassResult>(PassResult());
      },
      [](PassInfo& info) { info.one_at_a_time = true; });
  PassManager manager(registry);
  ASSERT_TRUE(manager.AddPipeline("list").ok());
  PassContext services;
  PassManagerOptions options;
  options.threads = 4;
  ASSERT_TRUE(manager.Run(module->get(), services, options).ok());
  EXPECT_TRUE(order.starts_with("f0f1f2f3f4f5f6f7f8f9f10"));
}

TEST(SharedNestTest, EachThreadHasPassesOfItsOwn) {
  Context context;
  RegisterSmallDialects(context);
  const absl::StatusOr<OwnedOp> module = ParseModule(context, FunctionsText(50, 2));
  ASSERT_TRUE(module.ok());
  std::atomic<int> created = 0;
  PassRegistry registry;
  // What the object remembers between its calls is not shared.
  class Remembers : public Pass {
   public:
    absl::StatusOr<PassResult> Run(Operation*, PassContext&) override {
      ++runs_;
      return PassResult();
    }

   private:
    int runs_ = 0;
  };
  PassInfo info;
  info.name = "remember";
  info.anchor = "func.func";
  info.create = [&](const PassOptionValues&) {
    ++created;
    return std::make_unique<Remembers>();
  };
  ASSERT_TRUE(registry.Register(info).ok());
  PassManager manager(registry);
  ASSERT_TRUE(manager.AddPipeline("remember").ok());
  PassContext services;
  PassManagerOptions options;
  options.threads = 4;
  ASSERT_TRUE(manager.Run(module->get(), services, options).ok());
  EXPECT_EQ(created, 5);
}

TEST(SharedNestTest, WhatAPassThrowsReachesTheCaller) {
  Context context;
  RegisterSmallDialects(context);
  const absl::StatusOr<OwnedOp> module = ParseModule(context, FunctionsText(50, 2));
  ASSERT_TRUE(module.ok());
  PassRegistry registry;
  AddPass(registry, "throw", "func.func",
          [&](Operation*, PassContext&) -> absl::StatusOr<PassResult> { throw std::bad_alloc(); });
  PassManager manager(registry);
  ASSERT_TRUE(manager.AddPipeline("throw").ok());
  PassContext services;
  PassManagerOptions options;
  options.threads = 4;
  EXPECT_THROW(static_cast<void>(manager.Run(module->get(), services, options)), std::bad_alloc);
}

TEST(SharedNestTest, ReferencesAreVerifiedWhenAllFunctionsAreDone) {
  for (const int threads : {1, 4}) {
    Context context;
    Dialect dialect;
    dialect.name = "acme";
    dialect.summary = "for tests";
    OpDef refer;
    refer.name = "acme.refer";
    refer.summary = "refers to a function that is marked, as all ops that refer to it are";
    refer.attrs = {{"callee", AttrType::kSymbol, /*required=*/true, {}, {}},
                   {"mark", AttrType::kI64, /*required=*/false, {}, {}}};
    refer.verify = [](Operation& op) {
      const Operation* const function = LookupSymbolFrom(op, op.attr("callee").str());
      return function != nullptr && function->attr("mark") == op.attr("mark")
                 ? absl::OkStatus()
                 : absl::InvalidArgumentError("has another mark than its function");
    };
    dialect.ops = {refer};
    RegisterSmallDialects(context);
    ASSERT_TRUE(context.RegisterDialect(dialect).ok());
    std::string text;
    for (int i = 0; i < 40; ++i) {
      text += fmt::format(
          "func.func() <{{sym_name = \"f{}\"}}> ({{\n  acme.refer() <{{callee = @f{}}}> : () -> "
          "()\n"
          "  func.return() : () -> ()\n}}) : () -> ()\n",
          i, (i + 1) % 40);
    }
    absl::StatusOr<OwnedOp> module = ParseModule(context, text);
    ASSERT_TRUE(module.ok()) << module.status();
    PassRegistry registry;
    AddPass(registry, "mark", "func.func", [](Operation* op, PassContext&) {
      const Attribute mark = Attribute::I64(op->context(), 1);
      op->SetAttr("mark", mark);
      op->region().front().front()->SetAttr("mark", mark);
      return absl::StatusOr<PassResult>(PassResult{true});
    });
    AddPass(registry, "unmark", "func.func", [](Operation* op, PassContext&) {
      if (SymbolName(*op) != "f7") return absl::StatusOr<PassResult>(PassResult());
      op->region().front().front()->SetAttr("mark", Attribute());
      return absl::StatusOr<PassResult>(PassResult{true});
    });
    PassManagerOptions options;
    options.threads = threads;
    PassContext services;
    PassManager right(registry);
    ASSERT_TRUE(right.AddPipeline("mark").ok());
    EXPECT_TRUE(right.Run(module->get(), services, options).ok());
    PassManager wrong(registry);
    ASSERT_TRUE(wrong.AddPipeline("unmark").ok());
    const absl::Status status = wrong.Run(module->get(), services, options).status();
    EXPECT_EQ(status.message().substr(0, 64),
              "pass 'unmark' on 'func.func' operation: @f7: left invalid IR: <i")
        << status;
  }
}

TEST(SharedNestTest, ContextsInThreadsOfTheirOwn) {
  const Told expected = RunOn("number,shrink,ask", 1, 30);
  std::vector<Told> told(4);
  std::vector<std::thread> threads;
  for (Told& one : told) threads.emplace_back([&] { one = RunOn("number,shrink,ask", 2, 30); });
  for (std::thread& thread : threads) thread.join();
  for (const Told& one : told) EXPECT_EQ(one, expected);
}

TEST(SharedNestTest, ThreadsOfOneContextParseChangeAndPrint) {
  Context context;
  RegisterSmallDialects(context);
  PassRegistry registry;
  AddPasses(registry);
  std::vector<std::string> printed(4);
  std::vector<std::thread> threads;
  for (std::string& text : printed) {
    threads.emplace_back([&] {
      absl::StatusOr<OwnedOp> module = ParseModule(context, FunctionsText(20, 5));
      PassManager manager(registry);
      PassContext services;
      PassManagerOptions options;
      options.threads = 2;
      if (module.ok() && manager.AddPipeline("number,shrink").ok() &&
          manager.Run(module->get(), services, options).ok())
        text = Print(**module);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(printed[0], "");
  for (const std::string& text : printed) EXPECT_EQ(text, printed[0]);
}

}  // namespace
}  // namespace tenon
