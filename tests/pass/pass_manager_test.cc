// Running pipelines: order, nesting, verification, reports, properties, honesty.
#include "pass/pass_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <thread>

#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/text/parser.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/dialect/dialects.h"
#include "nlohmann/json.hpp"
#include "pass/module_properties.h"
#include "pass/pass_times.h"
#include "pass/rewrite_step.h"
#include "tests/pass/small_dialects.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kTwoFunctions[] = R"(
func.func() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "f"}> ({
^bb0(%x: tensor<2xf32>):
  %0 = ten.abs(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return(%0) : (tensor<2xf32>) -> ()
}) : () -> ()
func.func() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "g"}> ({
^bb0(%x: tensor<2xf32>):
  func.return(%x) : (tensor<2xf32>) -> ()
}) : () -> ()
)";

class PassManagerTest : public testing::Test {
 protected:
  PassManagerTest() {
    RegisterAllDialects(context_);
    Add("note", "func.func",
        [this](Operation* op, PassContext& context) -> absl::StatusOr<PassResult> {
          order_.push_back("note " + std::string(SymbolName(*op)));
          context.statistics->Add("functions");
          return PassResult{};
        });
    Add("again", "func.func", [this](Operation* op, PassContext&) -> absl::StatusOr<PassResult> {
      order_.push_back("again " + std::string(SymbolName(*op)));
      return PassResult{};
    });
    Add("whole", "builtin.module", [this](Operation*, PassContext&) -> absl::StatusOr<PassResult> {
      order_.push_back("whole");
      return PassResult{};
    });
    Add("mark", "func.func", [](Operation* op, PassContext&) -> absl::StatusOr<PassResult> {
      const Attribute mark = Attribute::Unit(op->context());
      if (op->attr("test.mark") == mark) return PassResult{};
      op->SetAttr("test.mark", mark);
      return PassResult{.changed = true};
    });
    Add("lie", "func.func", [](Operation* op, PassContext&) -> absl::StatusOr<PassResult> {
      op->SetAttr("test.lie", Attribute::Unit(op->context()));
      return PassResult{};
    });
    Add("break", "func.func", [](Operation* op, PassContext&) -> absl::StatusOr<PassResult> {
      op->region().front().back()->Erase();
      return PassResult{.changed = true};
    });
    Add("fail", "func.func", [](Operation* op, PassContext&) -> absl::StatusOr<PassResult> {
      return EmitError(op->context(), op->location(), "cannot do it");
    });
    PassInfo infer =
        PassOf("infer", "func.func", [](Operation*, PassContext&) { return PassResult{}; });
    infer.establishes = static_cast<uint32_t>(ModuleProperty::kShapesInferred);
    EXPECT_TRUE(registry_.Register(infer).ok());
    PassInfo lower = PassOf("lower", "builtin.module", [this](Operation*, PassContext&) {
      order_.push_back("lower");
      return PassResult{.changed = true};
    });
    lower.needs = static_cast<uint32_t>(ModuleProperty::kShapesInferred);
    lower.destroys = lower.needs;
    lower.establishes = static_cast<uint32_t>(ModuleProperty::kLowered);
    EXPECT_TRUE(registry_.Register(lower).ok());

    absl::StatusOr<OwnedOp> module = ParseModule(context_, kTwoFunctions);
    if (!module.ok()) {
      ADD_FAILURE() << std::string(module.status().message());
    } else {
      module_ = *std::move(module);
    }
    options_.check_unchanged = true;
    options_.sink = [this](std::string_view text) { output_ += text; };
  }

  void Add(std::string name, std::string anchor, PassBody body) {
    EXPECT_TRUE(
        registry_.Register(PassOf(std::move(name), std::move(anchor), std::move(body))).ok());
  }

  absl::StatusOr<PassResult> Run(std::string_view pipeline) {
    PassManager manager(registry_);
    const absl::Status added = manager.AddPipeline(pipeline);
    if (!added.ok()) return added;
    PassContext context;
    return manager.Run(module_.get(), context, options_);
  }
  std::string Error(std::string_view pipeline) {
    return std::string(Run(pipeline).status().message());
  }

  Context context_;
  PassRegistry registry_;
  OwnedOp module_;
  PassManagerOptions options_;
  std::vector<std::string> order_;
  std::string output_;
};

TEST_F(PassManagerTest, FunctionsGoThroughANestOneByOne) {
  ASSERT_TRUE(Run("note,again,whole,note").ok());
  EXPECT_THAT(order_,
              ElementsAre("note f", "again f", "note g", "again g", "whole", "note f", "note g"));
}

TEST_F(PassManagerTest, PipelinesReachNestedModules) {
  absl::StatusOr<OwnedOp> module = ParseModule(context_, std::string(R"(
builtin.module() <{sym_name = "inner"}> ({
  builtin.module() <{sym_name = "innermost"}> ({)") + kTwoFunctions +
                                                             R"(
  }) : () -> ()
}) : () -> ()
func.func() <{function_type = () -> (), sym_name = "h"}> ({
  func.return() : () -> ()
}) : () -> ()
)");
  ASSERT_TRUE(module.ok()) << module.status();
  module_ = *std::move(module);
  PassInfo both = PassOf("both", "func.func", [this](Operation* op, PassContext&) {
    order_.push_back("both " + std::string(SymbolName(*op)));
    return absl::StatusOr<PassResult>(PassResult{});
  });
  both.on_any_op = true;
  ASSERT_TRUE(registry_.Register(std::move(both)).ok());
  // Functions wherever they are; modules one level at a time; any op where it stands.
  ASSERT_TRUE(Run("note").ok());
  EXPECT_THAT(order_, ElementsAre("note f", "note g", "note h"));
  order_.clear();
  ASSERT_TRUE(Run("builtin.module(builtin.module(whole))").ok());
  EXPECT_THAT(order_, ElementsAre("whole"));
  order_.clear();
  ASSERT_TRUE(Run("any(both)").ok());
  EXPECT_THAT(order_, ElementsAre("both inner", "both h"));
}

TEST_F(PassManagerTest, ReportsWithoutASinkAreRefused) {
  options_.sink = nullptr;
  EXPECT_TRUE(Run("note").ok());
  for (bool PassManagerOptions::*option :
       {&PassManagerOptions::timing, &PassManagerOptions::statistics,
        &PassManagerOptions::print_before_all, &PassManagerOptions::print_after_all,
        &PassManagerOptions::print_after_change, &PassManagerOptions::print_after_failure,
        &PassManagerOptions::print_diff}) {
    options_.*option = true;
    EXPECT_THAT(Error("note"), HasSubstr("sink is not set"));
    options_.*option = false;
  }
  options_.print_after = {"note"};
  EXPECT_THAT(Error("note"), HasSubstr("sink is not set"));
}

TEST_F(PassManagerTest, ChangedIsReportedOnce) {
  absl::StatusOr<PassResult> first = Run("mark,note");
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(first->changed);
  absl::StatusOr<PassResult> second = Run("mark,note");
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(second->changed);
}

TEST_F(PassManagerTest, ALieAboutChangesIsAnError) {
  EXPECT_EQ(Error("lie"),
            "pass 'lie' on 'func.func' operation: @f: changed the IR but reported no change");
  options_.check_unchanged = false;
  EXPECT_TRUE(Run("lie").ok());
}

// Whatever a pass changes and does not tell, in builds of any kind.
TEST_F(PassManagerTest, EveryKindOfChangeIsSeen) {
  EXPECT_TRUE(PassManagerOptions().check_unchanged);
  const auto first = [](Operation* function) { return function->region().front().front(); };
  const std::vector<std::pair<std::string, std::function<void(Operation*)>>> lies = {
      {"type",
       [&](Operation* f) {
         first(f)->result().set_type(
             Type::Tensor(f->context(), DType::kF64, std::span<const int64_t>()));
       }},
      {"operand",
       [&](Operation* f) { first(f)->next()->set_operand(0, f->region().front().argument(0)); }},
      {"location",
       [&](Operation* f) { first(f)->set_location(Location::Name(f->context(), "other")); }},
      {"argument",
       [&](Operation* f) {
         f->region().front().AddArgument(
             Type::Tensor(f->context(), DType::kF32, std::span<const int64_t>()));
       }},
      {"order", [&](Operation* f) { first(f)->MoveAfter(first(f)->next()); }},
      {"new", [&](Operation* f) { OpBuilder::Before(first(f)).Insert(Clone(*first(f))); }},
      // Handles to the old operation are dangling, and analyses are stale.
      {"equal",
       [&](Operation* f) {
         Operation* const made = OpBuilder::Before(first(f)).Insert(Clone(*first(f)));
         made->next()->result().ReplaceAllUsesWith(made->result());
         made->next()->Erase();
       }},
      {"erased",
       [&](Operation* f) {
         first(f)->result().ReplaceAllUsesWith(f->region().front().argument(0));
         first(f)->Erase();
       }},
  };
  for (const auto& [name, lie] : lies) {
    Add("lie-" + name, "func.func",
        [lie = lie](Operation* op, PassContext&) -> absl::StatusOr<PassResult> {
          if (SymbolName(*op) == "f") lie(op);
          return PassResult{};
        });
  }
  options_ = PassManagerOptions();
  for (const auto& [name, lie] : lies) {
    absl::StatusOr<OwnedOp> module = ParseModule(context_, kTwoFunctions);
    ASSERT_TRUE(module.ok());
    module_ = *std::move(module);
    EXPECT_THAT(Error("note,lie-" + name), HasSubstr("changed the IR but reported no change"))
        << name;
  }
}

TEST_F(PassManagerTest, InvalidIrIsFoundAfterThePassThatMadeIt) {
  EXPECT_THAT(Error("note,break,again"),
              StartsWith("pass 'break' on 'func.func' operation: @f: left invalid IR: "));
  EXPECT_THAT(order_, ElementsAre("note f"));
}

TEST_F(PassManagerTest, VerifyEachCanBeOff) {
  options_.verify_each = false;
  EXPECT_TRUE(Run("break").ok());
}

TEST_F(PassManagerTest, AFailingPassStopsThePipeline) {
  options_.print_after_failure = true;
  EXPECT_THAT(Error("note,fail,again"), HasSubstr("cannot do it"));
  EXPECT_THAT(order_, ElementsAre("note f"));
  EXPECT_THAT(
      output_,
      StartsWith("// -----// IR Dump After fail Failed ('func.func' operation: @f) //----- //\n"));
}

TEST_F(PassManagerTest, PrintsBeforeAndAfter) {
  options_.print_before = {"mark"};
  options_.print_after = {"note"};
  ASSERT_TRUE(Run("mark,note").ok());
  EXPECT_THAT(output_, HasSubstr("IR Dump Before mark ('func.func' operation: @f)"));
  EXPECT_THAT(output_, HasSubstr("IR Dump After note ('func.func' operation: @g)"));
  EXPECT_THAT(output_, Not(HasSubstr("Before note")));
  EXPECT_THAT(output_, Not(HasSubstr("After mark")));
}

TEST_F(PassManagerTest, PrintsAfterChangeOnly) {
  options_.print_after_change = true;
  ASSERT_TRUE(Run("mark,note").ok());
  EXPECT_THAT(output_, HasSubstr("After mark"));
  EXPECT_THAT(output_, HasSubstr("test.mark"));
  EXPECT_THAT(output_, Not(HasSubstr("After note")));
}

TEST_F(PassManagerTest, Statistics) {
  options_.statistics = true;
  ASSERT_TRUE(Run("note,whole").ok());
  EXPECT_THAT(output_, HasSubstr("note\n         2 functions\n"));
  EXPECT_THAT(output_, Not(HasSubstr("whole")));
}

TEST_F(PassManagerTest, TimingIsNestedAsThePipelineIs) {
  options_.timing = true;
  ASSERT_TRUE(Run("mark,whole").ok());
  EXPECT_THAT(output_,
              testing::ContainsRegex(
                  "'func.func' Pipeline\n.*\\)    mark\n.*\\)      \\(verify\\)\n.*\\)  whole\n"));
  output_.clear();
  options_.timing_json = true;
  ASSERT_TRUE(Run("note,whole").ok());
  const nlohmann::json json = nlohmann::json::parse(output_);
  EXPECT_EQ(json["children"][0]["name"], "func.func");
  EXPECT_EQ(json["children"][0]["children"][0]["name"], "note");
  EXPECT_EQ(json["children"][1]["name"], "whole");
  // A host may print them, with its own times around.
  output_.clear();
  PassTimes told;
  options_.on_times = [&](const PassTimes& times) { told = times; };
  ASSERT_TRUE(Run("note,whole").ok());
  EXPECT_EQ(output_, "");
  ASSERT_EQ(told.parts.size(), 2u);
  EXPECT_EQ(told.parts[0].parts[0].name, "note");
  const AroundPasses around{.read_seconds = 1, .write_seconds = 2};
  EXPECT_THAT(TimingReport(told, &around), HasSubstr("(read)"));
  EXPECT_EQ(nlohmann::json::parse(TimingJson(told, &around))["write_seconds"], 2);
}

TEST_F(PassManagerTest, PrintsWhatPassesChange) {
  options_.print_diff = true;
  ASSERT_TRUE(Run("note,mark,whole").ok());
  EXPECT_THAT(output_,
              StartsWith("// -----// IR Diff After mark ('func.func' operation: @f) //----- "
                         "//\n--- before mark\n+++ after mark\n@@ -"));
  EXPECT_THAT(output_, HasSubstr("\n+}) {test.mark} : () -> ()"));
  EXPECT_THAT(output_, Not(HasSubstr("note")));
}

// What is told before a pass does the same again.
TEST_F(PassManagerTest, TellsEachPassBeforeItRuns) {
  std::vector<std::string> told;
  options_.before_pass = [&](const std::string& pipeline, Operation* module) {
    EXPECT_EQ(module->name(), "builtin.module");
    told.push_back(pipeline);
    return told.size() < 5 ? absl::OkStatus() : absl::InvalidArgumentError("enough");
  };
  EXPECT_THAT(Error("note,whole,mark"), HasSubstr("enough"));
  EXPECT_THAT(told,
              ElementsAre("builtin.module(func.func(note))", "builtin.module(func.func(note))",
                          "builtin.module(whole)", "builtin.module(func.func(mark))",
                          "builtin.module(func.func(mark))"));
}

TEST_F(PassManagerTest, ImpossibleOrderIsRefusedBeforeAnythingRuns) {
  EXPECT_THAT(Error("whole,lower"), HasSubstr("pass 'lower' cannot run here"));
  EXPECT_THAT(order_, ElementsAre());
}

// A pass on an op that does not exist would run on nothing.
TEST_F(PassManagerTest, UnknownAnchorsAreRefused) {
  Add("misspelt", "func.fun",
      [](Operation*, PassContext&) -> absl::StatusOr<PassResult> { return PassResult{}; });
  EXPECT_THAT(Error("whole,misspelt"),
              HasSubstr("a pass runs on 'func.fun', which dialect 'func' does not have; did you "
                        "mean 'func.func'?"));
  EXPECT_THAT(order_, ElementsAre());
  Add("foreign", "acme.graph",
      [](Operation*, PassContext&) -> absl::StatusOr<PassResult> { return PassResult{}; });
  EXPECT_TRUE(Run("foreign").ok());
}

TEST_F(PassManagerTest, PropertiesAreKeptInTheModule) {
  absl::StatusOr<PassResult> result = Run("infer");
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->changed);
  EXPECT_EQ(module_->attr(kModulePropertiesAttr).text(), "[\"shapes_inferred\"]");
  ASSERT_TRUE(Run("lower").ok());  // the earlier run established what it needs
  EXPECT_EQ(module_->attr(kModulePropertiesAttr).text(), "[\"lowered\"]");
  EXPECT_THAT(Error("lower"), HasSubstr("needs the module to be shapes_inferred"));
}

TEST_F(PassManagerTest, MalformedPropertiesAreAnError) {
  module_->SetAttr(kModulePropertiesAttr, Attribute::I64(context_, 1));
  EXPECT_THAT(Error("note"),
              HasSubstr("core.properties is 1 : i64 (expected an array of: shapes_inferred"));
}

TEST_F(PassManagerTest, RunsOnModulesOnly) {
  PassManager manager(registry_);
  PassContext context;
  Operation* function = LookupSymbol(module_.get(), "f");
  EXPECT_THAT(std::string(manager.Run(function, context).status().message()),
              HasSubstr("runs on builtin.module, not on func.func"));
}

// Writes what it is told.
class Listener : public RewriteObserver {
 public:
  void PassBegins(std::string_view text, Operation*) override {
    told.push_back("begin " + std::string(text));
  }
  void PassEnds(Operation*, bool changed) override {
    told.emplace_back(changed ? "changed" : "end");
  }
  void StepBegins(const RewriteStep& step) override {
    told.push_back(std::to_string(step.number) + ": " + StepText(step));
  }
  void StepEnds() override { told.emplace_back("done"); }
  std::vector<std::string> told;
};

TEST_F(PassManagerTest, RunsOfPassesAreSteps) {
  Listener listener;
  PassContext context;
  context.observer = &listener;
  PassManager manager(registry_);
  ASSERT_TRUE(manager.AddPipeline("mark,infer").ok());  // infer establishes a property
  ASSERT_TRUE(manager.Run(module_.get(), context).ok());
  EXPECT_THAT(listener.told, ElementsAre("begin mark", "1: pass mark on @f", "done", "changed",
                                         "begin infer", "end", "begin mark", "2: pass mark on @g",
                                         "done", "changed", "begin infer", "end"));
  EXPECT_EQ(context.steps, 2);
}

TEST_F(PassManagerTest, StepsMayBeLeftOut) {
  PassContext context;
  context.allow_rewrite = [](const RewriteStep& step) { return step.number != 2; };
  PassManager manager(registry_);
  ASSERT_TRUE(manager.AddPipeline("note,again").ok());
  ASSERT_TRUE(manager.Run(module_.get(), context).ok());
  EXPECT_THAT(order_, ElementsAre("note f", "note g", "again g"));
  EXPECT_EQ(context.steps, 4);  // steps that were left out count
}

TEST_F(PassManagerTest, PassesRunPipelines) {
  Add("run", "builtin.module",
      [](Operation* op, PassContext& context) -> absl::StatusOr<PassResult> {
        PassResult result;
        for (Operation& inner : op->region().front()) {
          absl::StatusOr<PassResult> part = context.pipelines->RunPipeline("note,mark", &inner);
          if (!part.ok()) return part.status();
          result.changed |= part->changed;
        }
        return result;
      });
  options_.statistics = true;
  ASSERT_TRUE(Run("run").ok());
  EXPECT_THAT(order_, ElementsAre("note f", "note g"));
  EXPECT_THAT(output_, HasSubstr("run\n         2 note/functions\n"));
  EXPECT_TRUE(LookupSymbol(module_.get(), "g")->attr("test.mark"));
}

TEST_F(PassManagerTest, PipelinesOfPassesAreChecked) {
  std::string text;
  Add("run", "func.func", [&](Operation* op, PassContext& context) {
    return context.pipelines->RunPipeline(text, op);
  });
  Add("outside", "func.func", [](Operation* op, PassContext& context) {
    return context.pipelines->RunPipeline("note", op->parent_op());
  });
  const auto error = [&](std::string_view pipeline) {
    text = pipeline;
    return Error("infer,run");
  };
  EXPECT_THAT(error("nothing"), HasSubstr("pipeline:1:1: unknown pass 'nothing'"));
  EXPECT_THAT(error("whole"), HasSubstr("cannot stand inside func.func"));
  EXPECT_THAT(error("note,break"), HasSubstr("pass 'break' on 'func.func' operation: @f: left"));
  EXPECT_THAT(error("run"), HasSubstr("runs pipelines in pipelines, 16 deep"));
  EXPECT_THAT(Error("outside"), HasSubstr("its own operation and what is in it"));
  PassInfo forget =
      PassOf("forget", "func.func", [](Operation*, PassContext&) { return PassResult{}; });
  forget.destroys = static_cast<uint32_t>(ModuleProperty::kShapesInferred);
  ASSERT_TRUE(registry_.Register(forget).ok());
  EXPECT_THAT(error("forget"), HasSubstr("may not be shapes_inferred any more"));
}

TEST_F(PassManagerTest, HostsShareObjectsWithTheirPasses) {
  struct Budget {
    int left = 3;
  };
  Add("spend", "func.func", [](Operation*, PassContext& context) -> absl::StatusOr<PassResult> {
    Budget* const budget = context.host.Get<Budget>();
    if (budget == nullptr) return absl::FailedPreconditionError("no budget");
    --budget->left;
    return PassResult{};
  });
  EXPECT_THAT(Error("spend"), HasSubstr("no budget"));
  PassContext context;
  context.host.Set(std::make_shared<int>(5));
  context.host.Set(std::make_shared<Budget>());
  PassManager manager(registry_);
  ASSERT_TRUE(manager.AddPipeline("spend").ok());
  ASSERT_TRUE(manager.Run(module_.get(), context).ok());
  EXPECT_EQ(context.host.Get<Budget>()->left, 1);
  EXPECT_EQ(*context.host.Get<int>(), 5);
  context.host.Set(std::shared_ptr<int>());
  EXPECT_EQ(context.host.Get<int>(), nullptr);
}

TEST_F(PassManagerTest, HostsHavePropertiesOfTheirOwn) {
  EXPECT_THAT(std::string(registry_.RegisterProperty("sorted").status().message()),
              HasSubstr("expected one with a dot"));
  const absl::StatusOr<ModuleProperty> sorted = registry_.RegisterProperty("acme.sorted");
  ASSERT_TRUE(sorted.ok());
  EXPECT_TRUE(absl::IsAlreadyExists(registry_.RegisterProperty("acme.sorted").status()));
  const auto idle = [](Operation*, PassContext&) { return PassResult{}; };
  PassInfo sort = PassOf("sort", "func.func", idle);
  sort.establishes = static_cast<uint32_t>(*sorted);
  PassInfo search = PassOf("search", "func.func", idle);
  search.needs = static_cast<uint32_t>(*sorted);
  ASSERT_TRUE(registry_.Register(sort).ok() && registry_.Register(search).ok());
  EXPECT_THAT(Error("search"), HasSubstr("it needs the module to be acme.sorted (no pass before it "
                                         "establishes that; 'sort' does)"));
  ASSERT_TRUE(Run("infer,sort").ok());
  EXPECT_EQ(module_->attr(kModulePropertiesAttr).text(), "[\"shapes_inferred\", \"acme.sorted\"]");
  EXPECT_TRUE(Run("search").ok());
  // A program without the host's passes does not know whether the property still holds.
  PassRegistry other;
  ASSERT_TRUE(other.Register(PassOf("idle", "func.func", idle)).ok());
  PassManager manager(other);
  ASSERT_TRUE(manager.AddPipeline("idle").ok());
  PassContext context;
  ASSERT_TRUE(manager.Run(module_.get(), context).ok());
  EXPECT_EQ(module_->attr(kModulePropertiesAttr).text(), "[\"shapes_inferred\"]");
  for (int i = 1; i < 16; ++i)
    ASSERT_TRUE(registry_.RegisterProperty("acme.p" + std::to_string(i)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(registry_.RegisterProperty("acme.last").status()));
}

// Models that are cloned share a Context: what one thread's pipeline frees between its passes is
// not what a pass of another one has in hand.
TEST_F(PassManagerTest, PipelinesOfOtherThreadsLeaveConstantsInFlight) {
  int64_t last = 0;
  Add("hold", "builtin.module", [&](Operation* op, PassContext&) -> absl::StatusOr<PassResult> {
    Context& context = op->context();
    std::vector<std::byte> bytes(4000);
    bytes.back() = std::byte{7};
    const int64_t shape[] = {4000};
    const Attribute unheld =
        Attribute::Elements(context, Type::Tensor(context, DType::kI8, shape), bytes);
    const OwnedOp other(Clone(*op));
    std::thread([&] {
      PassManager manager(registry_);
      EXPECT_TRUE(manager.AddPipeline("mark").ok());
      PassContext services;
      const absl::StatusOr<PassResult> result = manager.Run(other.get(), services);
      EXPECT_TRUE(result.ok() && result->changed);
    }).join();
    last = unheld.ElementAsInt(3999);
    return PassResult{};
  });
  ASSERT_TRUE(Run("hold").ok());
  EXPECT_EQ(last, 7);
  EXPECT_EQ(context_.live_blob_bytes(), 0u);
}

}  // namespace
}  // namespace tenon
