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
    registry_.Register(MakeInfo("canonicalize", "func.func",
                                {{"max-iterations", PassOption::Type::kInt, "10", ""},
                                 {"top-down", PassOption::Type::kBool, "true", ""},
                                 {"rules", PassOption::Type::kStringList, "", ""}}));
    registry_.Register(MakeInfo("cse", "func.func"));
    registry_.Register(
        MakeInfo("inline", "builtin.module", {{"entry", PassOption::Type::kString, "main", ""}}));
    registry_.Register(MakeInfo("anything", ""));
    PassInfo lower = MakeInfo("lower", "builtin.module");
    lower.needs = static_cast<uint32_t>(ModuleProperty::kShapesInferred);
    lower.establishes = static_cast<uint32_t>(ModuleProperty::kLowered);
    registry_.Register(lower);
    PassInfo infer = MakeInfo("infer-shapes", "func.func");
    infer.establishes = static_cast<uint32_t>(ModuleProperty::kShapesInferred);
    registry_.Register(infer);
    PassInfo spoil = MakeInfo("spoil", "func.func");
    spoil.destroys = static_cast<uint32_t>(ModuleProperty::kShapesInferred);
    registry_.Register(spoil);
    registry_.RegisterPipeline("O1", "standard", "canonicalize,cse");
    registry_.RegisterPipeline("O2", "standard", "O1,inline,O1");
    registry_.RegisterPipeline("endless", "never ends", "cse,endless");
    registry_.RegisterPipeline("broken", "has a typo", "cse,csee");
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
                            {"on", PassOption::Type::kBool, "false", ""},
                            {"text", PassOption::Type::kString, "x y", ""},
                            {"list", PassOption::Type::kStringList, "a,b", ""}});
  info.create = [&seen](const PassOptionValues& values) {
    seen = values;
    return std::make_unique<NoOpPass>();
  };
  registry_.Register(info);
  PassManager manager(registry_);
  ASSERT_TRUE(manager.AddPipeline("probe{on list=z}").ok());
  EXPECT_EQ(seen.GetInt("n"), 7);
  EXPECT_TRUE(seen.GetBool("on"));
  EXPECT_EQ(seen.GetString("text"), "x y");
  EXPECT_THAT(seen.GetStringList("list"), ElementsAre("z"));
  ASSERT_TRUE(manager.AddPipeline("probe").ok());
  EXPECT_THAT(seen.GetStringList("list"), ElementsAre("a", "b"));
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
       "pipeline:1:1: 'func.fun' is no operation that passes run on (expected builtin.module or "
       "func.func; did you mean 'func.func'?)"},
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
    return std::string(CheckPropertyOrder(pipeline, before).message());
  };
  EXPECT_EQ(check("infer-shapes,cse,lower"), "");
  EXPECT_EQ(check("lower", static_cast<uint32_t>(ModuleProperty::kShapesInferred)), "");
  EXPECT_THAT(check("cse,lower"),
              HasSubstr("pass 'lower' cannot run here: it needs the module to be shapes_inferred"));
  EXPECT_THAT(check("infer-shapes,spoil,lower"), HasSubstr("pass 'lower' cannot run here"));
}

}  // namespace
}  // namespace tenon
