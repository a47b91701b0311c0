// Pipeline text: what parses, what it becomes, and where errors point.
#include "pass/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pass/pass_manager.h"
#include "pass/pipeline_text.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class NoOpPass : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation*, PassContext&) override { return PassResult{}; }
};

PassInfo MakeInfo(std::string name, std::string anchor, std::vector<PassOption> options = {}) {
  PassInfo info;
  info.name = std::move(name);
  info.summary = "does nothing";
  info.anchor = std::move(anchor);
  info.options = std::move(options);
  info.create = [](const PassOptionValues&) { return std::make_unique<NoOpPass>(); };
  return info;
}

class PipelineTest : public testing::Test {
 protected:
  PipelineTest() {
    EXPECT_TRUE(registry_
                    .Register(MakeInfo("canonicalize", "func.func",
                                       {{"max-iterations", PassOption::Type::kInt, "10", ""},
                                        {"top-down", PassOption::Type::kBool, "true", ""},
                                        {"rules", PassOption::Type::kStringList, "", ""}}))
                    .ok());
    EXPECT_TRUE(registry_.Register(MakeInfo("cse", "func.func")).ok());
    EXPECT_TRUE(registry_
                    .Register(MakeInfo("inline", "builtin.module",
                                       {{"entry", PassOption::Type::kString, "main", ""}}))
                    .ok());
    EXPECT_TRUE(registry_.Register(MakeInfo("anything", "")).ok());
    PassInfo lower = MakeInfo("lower", "builtin.module");
    lower.needs = static_cast<uint32_t>(ModuleProperty::kShapesInferred);
    lower.establishes = static_cast<uint32_t>(ModuleProperty::kLowered);
    EXPECT_TRUE(registry_.Register(lower).ok());
    PassInfo infer = MakeInfo("infer-shapes", "func.func");
    infer.establishes = static_cast<uint32_t>(ModuleProperty::kShapesInferred);
    EXPECT_TRUE(registry_.Register(infer).ok());
    PassInfo spoil = MakeInfo("spoil", "func.func");
    spoil.destroys = static_cast<uint32_t>(ModuleProperty::kShapesInferred);
    EXPECT_TRUE(registry_.Register(spoil).ok());
    EXPECT_TRUE(registry_.RegisterPipeline("O1", "standard", "canonicalize,cse").ok());
    EXPECT_TRUE(registry_.RegisterPipeline("O2", "standard", "O1,inline,O1").ok());
    EXPECT_TRUE(registry_.RegisterPipeline("endless", "never ends", "cse,endless").ok());
    EXPECT_TRUE(registry_.RegisterPipeline("broken", "has a typo", "cse,csee").ok());
  }

  std::string Normal(std::string_view text) {
    PassManager manager(registry_);
    const absl::Status status = manager.AddPipeline(text);
    if (!status.ok()) return std::string(status.message());
    return manager.Text();
  }
  std::string FirstLine(std::string_view text) {
    const std::string all = Normal(text);
    return all.substr(0, all.find('\n'));
  }

  PassRegistry registry_;
};

constexpr char kCanonicalize[] = "canonicalize{max-iterations=10 top-down=true rules=}";

// Passes in any(...) run on every isolated op, so they must allow that.
TEST_F(PipelineTest, AnyOperation) {
  EXPECT_EQ(Normal("any(anything)"), "builtin.module(any(anything))");
  EXPECT_EQ(FirstLine("any(cse)"),
            "pipeline:1:5: pass 'cse' runs on func.func and cannot stand inside any(…)");
  PassInfo both = MakeInfo("both", "func.func");
  both.on_any_op = true;
  ASSERT_TRUE(registry_.Register(both).ok());
  EXPECT_EQ(Normal("any(both),both"), "builtin.module(any(both),func.func(both))");
  EXPECT_EQ(Normal("builtin.module(builtin.module(cse))"),
            "builtin.module(builtin.module(func.func(cse)))");
}

TEST_F(PipelineTest, Empty) {
  EXPECT_EQ(Normal(""), "builtin.module()");
  EXPECT_EQ(Normal("  builtin.module( ) "), "builtin.module()");
}

TEST_F(PipelineTest, OuterAnchorMayBeLeftOut) {
  const std::string expected = "builtin.module(func.func(cse))";
  EXPECT_EQ(Normal("builtin.module(func.func(cse))"), expected);
  EXPECT_EQ(Normal("func.func(cse)"), expected);
  EXPECT_EQ(Normal("cse"), expected);
  EXPECT_EQ(Normal("builtin.module(cse)"), expected);
}

TEST_F(PipelineTest, NeighboursShareOneNest) {
  EXPECT_EQ(Normal("cse,func.func(cse,cse),inline,cse"),
            "builtin.module(func.func(cse,cse,cse),inline{entry=main},func.func(cse))");
  PassManager manager(registry_);
  ASSERT_TRUE(manager.AddPipeline("cse").ok());
  ASSERT_TRUE(manager.AddPass("cse").ok());
  EXPECT_EQ(manager.Text(), "builtin.module(func.func(cse,cse))");
}

TEST_F(PipelineTest, PassWithoutAnchorRunsWhereItStands) {
  EXPECT_EQ(Normal("anything,func.func(anything)"), "builtin.module(anything,func.func(anything))");
}

TEST_F(PipelineTest, NamedPipelinesExpand) {
  const std::string o1 = std::string(kCanonicalize) + ",cse";
  EXPECT_EQ(Normal("O1"), "builtin.module(func.func(" + o1 + "))");
  EXPECT_EQ(Normal("O2{}"),
            "builtin.module(func.func(" + o1 + "),inline{entry=main},func.func(" + o1 + "))");
}

TEST_F(PipelineTest, Options) {
  EXPECT_EQ(Normal("canonicalize{ rules=a,b  max-iterations=-3 top-down=0 }"),
            "builtin.module(func.func(canonicalize{max-iterations=-3 top-down=false rules=a,b}))");
  EXPECT_EQ(Normal("canonicalize{top-down}"), Normal("canonicalize"));
  EXPECT_EQ(Normal("canonicalize{rules={a,b}}"), Normal("canonicalize{rules=a,b}"));
  EXPECT_EQ(Normal("inline{entry=\"two words\"}"), "builtin.module(inline{entry=\"two words\"})");
  EXPECT_EQ(Normal("inline{entry='a,b'}"), "builtin.module(inline{entry=\"a,b\"})");
  EXPECT_EQ(Normal("inline{entry={x{y=1 z=2}}}"), "builtin.module(inline{entry=\"x{y=1 z=2}\"})");
  EXPECT_EQ(Normal(R"(inline{entry="say \"}\""})"), R"(builtin.module(inline{entry="say \"}\""}))");
  EXPECT_EQ(Normal("inline{entry=}"), "builtin.module(inline{entry=\"\"})");
}

TEST_F(PipelineTest, TextReadsBack) {
  for (std::string_view text :
       {"O2,anything", "canonicalize{rules=a,\"b c\",\"\" max-iterations=1}",
        R"(inline{entry="\\ \" {} ' ,"},func.func(anything))", "canonicalize{rules=}"}) {
    const std::string once = Normal(text);
    EXPECT_THAT(once, StartsWith("builtin.module("));
    EXPECT_EQ(Normal(once), once);
  }
}

TEST_F(PipelineTest, OptionValuesReachThePass) {
  PassOptionValues seen;
  PassInfo info = MakeInfo("probe", "builtin.module",
                           {{"n", PassOption::Type::kInt, "7", ""},
                            {"count", PassOption::Type::kCount, "3", ""},
                            {"on", PassOption::Type::kBool, "false", ""},
                            {"text", PassOption::Type::kString, "x y", ""},
                            {"list", PassOption::Type::kStringList, "a,b", ""}});
  info.create = [&seen](const PassOptionValues& values) {
    seen = values;
    return std::make_unique<NoOpPass>();
  };
  EXPECT_TRUE(registry_.Register(info).ok());
  PassManager manager(registry_);
  ASSERT_TRUE(manager.AddPipeline("probe{on list=z}").ok());
  EXPECT_EQ(seen.GetInt("n"), 7);
  EXPECT_EQ(seen.GetInt("count"), 3);
  EXPECT_TRUE(seen.GetBool("on"));
  EXPECT_EQ(seen.GetString("text"), "x y");
  EXPECT_THAT(seen.GetStringList("list"), ElementsAre("z"));
  ASSERT_TRUE(manager.AddPipeline("probe").ok());
  EXPECT_THAT(seen.GetStringList("list"), ElementsAre("a", "b"));
  EXPECT_TRUE(manager.AddPipeline("probe{n=-1 count=0}").ok());
  EXPECT_THAT(std::string(manager.AddPipeline("probe{count=-1}").message()),
              HasSubstr("option 'count' has the value '-1' (expected an integer of 0 or more)"));
}

// What a host registers wrongly is an error, and the registry is as before.
TEST_F(PipelineTest, WrongPassesAreRefused) {
  const size_t passes = registry_.passes().size(), pipelines = registry_.pipelines().size();
  const auto why = [&](PassInfo info) {
    return std::string(registry_.Register(std::move(info)).message());
  };
  EXPECT_THAT(why(MakeInfo("cse", "func.func")), HasSubstr("two passes or pipelines 'cse'"));
  EXPECT_THAT(why(MakeInfo("O1", "func.func")), HasSubstr("two passes or pipelines 'O1'"));
  EXPECT_THAT(why(MakeInfo("", "func.func")), HasSubstr("pass '' has a name that pipelines"));
  EXPECT_THAT(why(MakeInfo("a,b", "func.func")), HasSubstr("pass 'a,b' has a name that pipelines"));
  for (const char* anchor : {"func", ".func", "func.", "func func", "any"}) {
    EXPECT_THAT(why(MakeInfo("p", anchor)), HasSubstr("which is no name of an operation"))
        << anchor;
  }
  PassInfo empty = MakeInfo("empty", "func.func");
  empty.create = nullptr;
  EXPECT_THAT(why(empty), HasSubstr("pass 'empty' lacks its create function"));
  EXPECT_THAT(why(MakeInfo("p", "func.func", {{"a=b", PassOption::Type::kInt, "0", ""}})),
              HasSubstr("option 'a=b' of pass 'p' has a name"));
  EXPECT_THAT(why(MakeInfo("p", "func.func",
                           {{"n", PassOption::Type::kInt, "0", ""},
                            {"n", PassOption::Type::kBool, "true", ""}})),
              HasSubstr("option 'n' of pass 'p' is declared twice"));
  EXPECT_THAT(why(MakeInfo("p", "func.func", {{"n", PassOption::Type::kInt, "many", ""}})),
              HasSubstr("option 'n' of pass 'p' does not take its default 'many'"));
  EXPECT_THAT(why(MakeInfo("p", "func.func", {{"l", PassOption::Type::kStringList, "{a", ""}})),
              HasSubstr("option 'l' of pass 'p' does not take its default '{a'"));
  EXPECT_THAT(std::string(registry_.RegisterPipeline("O1", "", "cse").message()),
              HasSubstr("two passes or pipelines 'O1'"));
  EXPECT_THAT(std::string(registry_.RegisterPipeline("cse", "", "O1").message()),
              HasSubstr("two passes or pipelines 'cse'"));
  EXPECT_EQ(registry_.passes().size(), passes);
  EXPECT_EQ(registry_.pipelines().size(), pipelines);
}

// A pass that reads what it has not declared, or reads it as something else.
TEST_F(PipelineTest, WrongOptionNamesAreErrorsOfThePipeline) {
  const auto why = [&](std::string name, std::function<void(const PassOptionValues&)> read) {
    PassInfo info = MakeInfo(name, "func.func", {{"text", PassOption::Type::kString, "x", ""}});
    info.create = [read](const PassOptionValues& values) {
      read(values);
      return std::make_unique<NoOpPass>();
    };
    EXPECT_TRUE(registry_.Register(std::move(info)).ok());
    PassManager manager(registry_);
    return std::string(manager.AddPipeline("cse," + name).message());
  };
  EXPECT_THAT(why("a", [](const PassOptionValues& v) { EXPECT_EQ(v.GetInt("tetx"), 0); }),
              HasSubstr("pipeline:1:5: the create function of pass 'a' asks for an option 'tetx'"));
  EXPECT_THAT(why("b", [](const PassOptionValues& v) { EXPECT_EQ(v.GetInt("text"), 0); }),
              HasSubstr("asks for an option 'text', which the pass does not have as that type"));
  EXPECT_THAT(why("c", [](const PassOptionValues& v) { EXPECT_FALSE(v.GetBool("text")); }),
              HasSubstr("asks for an option 'text'"));
  EXPECT_THAT(why("d", [](const PassOptionValues& v) { EXPECT_EQ(v.GetString("x"), ""); }),
              HasSubstr("asks for an option 'x'"));
  EXPECT_THAT(why("e", [](const PassOptionValues& v) { v.GetStringList("y"); }),
              HasSubstr("asks for an option 'y'"));
  EXPECT_EQ(why("f", [](const PassOptionValues& v) { EXPECT_EQ(v.GetString("text"), "x"); }), "");
}

TEST_F(PipelineTest, ChoicesAndRequiredOptions) {
  PassOption to = {"to", PassOption::Type::kString, "i8", "", {"bf16", "i8"}};
  PassOption file = {"file", PassOption::Type::kString, "", "a file of rules"};
  file.required = true;
  ASSERT_TRUE(registry_.Register(MakeInfo("compress", "func.func", {to})).ok());
  ASSERT_TRUE(registry_.Register(MakeInfo("apply", "func.func", {file})).ok());
  const auto why = [&](std::string_view text) {
    PassManager manager(registry_);
    return std::string(manager.AddPipeline(text).message());
  };
  EXPECT_EQ(why("compress{to=bf16}"), "");
  EXPECT_EQ(why("compress"), "");
  EXPECT_THAT(why("compress{to=}"),
              HasSubstr("pipeline:1:13: option 'to' has the value '' (expected one of bf16, i8)"));
  EXPECT_THAT(why("compress{to=bf16,i8}"), HasSubstr("has the value 'bf16,i8'"));
  EXPECT_THAT(why("compress{to}"), HasSubstr("pipeline:1:10: option 'to' has no value"));
  EXPECT_THAT(why("cse,apply"),
              HasSubstr("pipeline:1:5: pass 'apply' needs the option 'file' (a file of rules)"));
  EXPECT_EQ(why("apply{file=x}"), "");
}

TEST_F(PipelineTest, MalformedTextNamesTheColumn) {
  const std::pair<const char*, const char*> cases[] = {
      {"cse,,cse", "pipeline:1:5: unexpected ',' (expected the name of a pass)"},
      {"cse,", "pipeline:1:5: the text ends here (expected the name of a pass)"},
      {"func.func(cse", "pipeline:1:10: '(' is never closed (expected ')')"},
      {"cse)", "pipeline:1:4: unexpected ')' (expected ',' or the end)"},
      {"func.func(cse}", "pipeline:1:14: unexpected '}' (expected ',' or ')')"},
      {"canonicalize{max-iterations=3", "pipeline:1:13: '{' is never closed (expected '}')"},
      {"inline{entry=\"a}", "pipeline:1:14: \" is never closed"},
      {"inline{entry={a}", "pipeline:1:7: '{' is never closed (expected '}')"},
      {"inline{entry={a}b}",
       "pipeline:1:17: unexpected 'b' after a value (expected a space or '}')"},
      {"inline{=a}", "pipeline:1:8: unexpected '=' (expected option=value)"},
      {"inline{entry:a}", "pipeline:1:13: unexpected ':' (expected '=' and a value)"},
      {"cse cse", "pipeline:1:5: unexpected 'c' (expected ',' or the end)"},
      {"cse,\n csee", "pipeline:2:2: unknown pass 'csee'; did you mean 'cse'?"},
      {"canonicalise", "pipeline:1:1: unknown pass 'canonicalise'; did you mean 'canonicalize'?"},
      {"cse,qwertz", "pipeline:1:5: unknown pass 'qwertz' (expected a pass of --list-passes)"},
      {"func.fun(cse)",
       "pipeline:1:1: 'func.fun' is no operation that passes run on (expected builtin.module, "
       "func.func or any; did you mean 'func.func'?)"},
      {"func.func(func.func(cse))",
       "pipeline:1:11: 'func.func' cannot be nested in func.func (expected inside builtin.module)"},
      {"func.func(cse,inline)",
       "pipeline:1:15: pass 'inline' runs on builtin.module and cannot stand inside func.func(…)"},
      {"cse(inline)",
       "pipeline:1:1: pass 'cse' cannot hold passes (options are written cse{name=value})"},
      {"canonicalize{max-iteration=3}",
       "pipeline:1:14: pass 'canonicalize' has no option 'max-iteration' (expected one of "
       "max-iterations, top-down, "
       "rules; did you mean 'max-iterations'?)"},
      {"cse{x=1}", "pipeline:1:5: pass 'cse' has no option 'x' (it has none)"},
      {"canonicalize{max-iterations=many}",
       "pipeline:1:29: option 'max-iterations' has the value 'many' (expected an integer)"},
      {"canonicalize{max-iterations}",
       "pipeline:1:14: option 'max-iterations' has no value (expected an integer)"},
      {"canonicalize{top-down=yes}",
       "pipeline:1:23: option 'top-down' has the value 'yes' (expected true or false)"},
      {"canonicalize{rules}", "pipeline:1:14: option 'rules' has no value (expected a list a,b,c)"},
      {"canonicalize{top-down top-down}", "pipeline:1:23: option 'top-down' is given twice"},
      {"O1{a=1}", "pipeline:1:4: pipeline 'O1' takes no options"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(FirstLine(text), message) << text;
}

TEST_F(PipelineTest, ErrorShowsTheLineWithACaret) {
  EXPECT_THAT(Normal("cse,csee,cse"), HasSubstr("\n  cse,csee,cse\n      ^"));
}

TEST_F(PipelineTest, NamedPipelinesWithFaults) {
  EXPECT_THAT(Normal("broken"),
              HasSubstr("in pipeline 'broken': pipeline:1:5: unknown pass 'csee'"));
  EXPECT_THAT(Normal("endless"), HasSubstr("pipeline 'endless' contains itself"));
}

TEST_F(PipelineTest, DeepNestingIsRefused) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "builtin.module(";
  EXPECT_THAT(Normal(text), HasSubstr("nested more than 64 deep"));
  EXPECT_THAT(Normal("inline{entry=" + std::string(100000, '{')), HasSubstr("'{' is never closed"));
}

TEST_F(PipelineTest, NothingIsAppendedOnError) {
  PassManager manager(registry_);
  ASSERT_TRUE(manager.AddPipeline("cse").ok());
  EXPECT_FALSE(manager.AddPipeline("cse,inline,oops").ok());
  EXPECT_FALSE(manager.AddPass("inline", "entri=x").ok());
  EXPECT_EQ(manager.Text(), "builtin.module(func.func(cse))");
}

TEST_F(PipelineTest, AddPass) {
  PassManager manager(registry_);
  ASSERT_TRUE(manager.AddPass("inline", "entry=f").ok());
  ASSERT_TRUE(manager.AddPass("O1", "").ok());
  EXPECT_THAT(manager.Text(), StartsWith("builtin.module(inline{entry=f},func.func(canonicalize{"));
  EXPECT_THAT(std::string(manager.AddPass("inline", "entry=f enty=g").message()),
              StartsWith("pipeline:1:9: pass 'inline' has no option 'enty'"));
  EXPECT_THAT(std::string(manager.AddPass("inlin").message()),
              StartsWith("pipeline:1:1: unknown pass 'inlin'; did you mean 'inline'?"));
}

TEST_F(PipelineTest, PropertyOrder) {
  const auto check = [&](std::string_view text, uint32_t before = 0) {
    PassPipeline pipeline;
    EXPECT_TRUE(AppendPipelineText(registry_, text, pipeline).ok());
    return std::string(CheckPropertyOrder(registry_, pipeline, before).message());
  };
  EXPECT_EQ(check("infer-shapes,cse,lower"), "");
  EXPECT_EQ(check("lower", static_cast<uint32_t>(ModuleProperty::kShapesInferred)), "");
  EXPECT_THAT(check("cse,lower"),
              HasSubstr("pass 'lower' cannot run here: it needs the module to be shapes_inferred"));
  EXPECT_THAT(check("infer-shapes,spoil,lower"), HasSubstr("pass 'lower' cannot run here"));
}

}  // namespace
}  // namespace tenon
