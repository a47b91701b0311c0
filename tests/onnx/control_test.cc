// If, Loop and Scan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/core/block.h"
#include "tests/onnx/model_builder.h"

namespace tenon::onnx {
namespace {

using onnxpb::GraphProto;
using onnxpb::TensorProto;
using ::testing::HasSubstr;

GraphProto Graph(const std::string& name, const std::vector<onnxpb::NodeProto>& nodes,
                 const Names& inputs, const Names& outputs) {
  GraphProto graph;
  graph.set_name(name);
  for (const onnxpb::NodeProto& node : nodes) *graph.add_node() = node;
  for (const std::string& input : inputs) graph.add_input()->set_name(input);
  for (const std::string& output : outputs) graph.add_output()->set_name(output);
  return graph;
}

// The first error of an import; empty if it succeeded.
std::string FirstError(const Imported& result) {
  return result.status.ok() ? "" : std::string(result.status.message());
}

ModelBuilder IfModel(const GraphProto& then_branch, const GraphProto& else_branch) {
  ModelBuilder model(17);
  model.Input("x", {2, "N"}).Input("c", {}, TensorProto::BOOL);
  model.Node("If", {"c"}, {"r"}, {{"then_branch", then_branch}, {"else_branch", else_branch}},
             "choice");
  model.Output("r");
  return model;
}

TEST(ControlImport, ExtentsThatBranchesDoNotShareAreNamed) {
  const Imported result = ImportModel(IfModel(
      Graph("t", {MakeNode("Concat", {"x", "x"}, {"a"}, {{"axis", int64_t{1}}})}, {}, {"a"}),
      Graph("e", {MakeNode("Neg", {"x"}, {"b"})}, {}, {"b"})));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.Ops(), "ctl.if");
  EXPECT_EQ(result.ResultType(0), "tensor<2x?xf32, [\"\", \"choice.d1\"]>");
}

// Exporters write If(dim == 1){Squeeze}{Identity} where they do not know an extent that is known
// here.
TEST(ControlImport, KnownConditionsChooseAtOnce) {
  ModelBuilder model(17);
  model.Input("x", {2, 3}).Ints("one", {}, {1}).Ints("at", {}, {1}).Ints("axes", {1}, {1});
  model.Node("Shape", {"x"}, {"s"}).Node("Gather", {"s", "at"}, {"d"});
  model.Node("Equal", {"d", "one"}, {"c"});
  model.Node("If", {"c"}, {"r"},
             {{"then_branch", Graph("t", {MakeNode("Squeeze", {"x", "axes"}, {"a"})}, {}, {"a"})},
              {"else_branch", Graph("e", {MakeNode("Neg", {"x"}, {"b"})}, {}, {"b"})}});
  model.Output("r");
  const Imported result = ImportModel(model);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(result.Ops(), HasSubstr("ten.neg"));
  EXPECT_EQ(result.ResultType(0), "tensor<2x3xf32>");
}

// An If that gives a scalar or a vector of one element, and nodes that read it.
ModelBuilder DivergingModel(const std::vector<onnxpb::NodeProto>& nodes, const Names& outputs) {
  ModelBuilder model(17);
  model.Input("x", {2, "N"}).Input("c", {}, TensorProto::BOOL);
  model.Floats("scalar", {}, {1}).Floats("vector", {1}, {2});
  model.Node("If", {"c"}, {"r"},
             {{"then_branch", Graph("t", {MakeNode("Neg", {"scalar"}, {"a"})}, {}, {"a"})},
              {"else_branch", Graph("e", {MakeNode("Abs", {"vector"}, {"b"})}, {}, {"b"})}},
             "choice");
  for (const onnxpb::NodeProto& node : nodes) *model.graph().add_node() = node;
  for (const std::string& output : outputs) model.Output(output);
  return model;
}

// How many operations of a name are in each branch of the only If: "2 2".
std::string InBranches(const Imported& result, std::string_view name) {
  std::string text;
  Operation* op = result.Only("ctl.if");
  for (unsigned r = 0; op != nullptr && r < op->num_regions(); ++r) {
    int count = 0;
    for (const Operation& inner : op->region(r).front()) count += inner.name() == name ? 1 : 0;
    text += (r == 0 ? "" : " ") + std::to_string(count);
  }
  return text;
}

TEST(ControlImport, ReadersOfValuesOfDifferentRanksAreInTheBranches) {
  const Imported result =
      ImportModel(DivergingModel({MakeNode("Exp", {"r"}, {"e"}), MakeNode("Mul", {"x", "e"}, {"m"}),
                                  MakeNode("Relu", {"m"}, {"y"})},
                                 {"y"}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.Ops(), "ctl.if ten.relu");
  EXPECT_EQ(InBranches(result, "ten.mul"), "1 1");
  EXPECT_EQ(result.ResultType(), "tensor<2x?xf32, [\"\", \"N\"]>");
  EXPECT_TRUE(result.diagnostics.empty()) << result.diagnostics[0];
}

// The sum needs the ranks, and with it the nodes between: those in front of it, and one more that
// does not depend on the If.
TEST(ControlImport, NodesBetweenTwoReadersAreInTheBranchesToo) {
  const Imported result = ImportModel(
      DivergingModel({MakeNode("Mul", {"x", "r"}, {"m"}), MakeNode("Sin", {"m"}, {"s"}),
                      MakeNode("Cos", {"x"}, {"k"}), MakeNode("Sum", {"s", "r", "k"}, {"z"}),
                      MakeNode("Relu", {"m"}, {"y"})},
                     {"y", "z", "s"}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.Ops(), "ten.cos ctl.if ten.relu");
  EXPECT_EQ(InBranches(result, "ten.sin"), "1 1");
  EXPECT_EQ(result.Only("ctl.if")->num_results(), 3u);
}

TEST(ControlImport, SeveralIfsMayDiffer) {
  ModelBuilder model = DivergingModel({MakeNode("Mul", {"x", "r"}, {"m"})}, {"y"});
  onnxpb::NodeProto second = model.graph().node(0);
  second.set_name("second");
  second.set_output(0, "q");
  *model.graph().add_node() = second;
  model.Node("Add", {"x", "q"}, {"n"}).Node("Sub", {"m", "n"}, {"y"});
  const Imported result = ImportModel(model);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.Ops(), "ctl.if ctl.if ten.sub");
}

// A branch that makes a reader wrong ends the run if it is taken. What follows is in no branch.
TEST(ControlImport, AReaderThatFitsOneBranchOnly) {
  const Imported result =
      ImportModel(DivergingModel({MakeNode("Gather", {"r", "at"}, {"g"}, {}, "pick"),
                                  MakeNode("Mul", {"x", "g"}, {"y"})},
                                 {"y"})
                      .Ints("at", {}, {0}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.Ops(), "ctl.if ten.mul");
  EXPECT_EQ(InBranches(result, "ctl.fail"), "1 0");
  EXPECT_EQ(InBranches(result, "ten.neg"), "0 0") << result.Text();
  EXPECT_EQ(result.Only("ctl.if")->result().type().text(), "tensor<f32>");
  EXPECT_TRUE(result.HasDiagnostic("choice: remark: a run that takes then_branch fails: pick: "));
}

TEST(ControlImport, AWrongNodeInABranch) {
  const GraphProto wrong = Graph(
      "t", {MakeNode("Transpose", {"x"}, {"a"}, {{"perm", std::vector<int64_t>{0, 2}}}, "turn")},
      {}, {"a"});
  const GraphProto right = Graph("e", {MakeNode("Neg", {"x"}, {"b"})}, {}, {"b"});
  const Imported result = ImportModel(IfModel(right, wrong));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(InBranches(result, "ctl.fail"), "0 1");
  EXPECT_EQ(result.ResultType(), "tensor<2x?xf32, [\"\", \"N\"]>");
  EXPECT_TRUE(result.HasDiagnostic("choice: remark: a run that takes else_branch fails: turn: "));
  EXPECT_THAT(FirstError(ImportModel(IfModel(wrong, wrong))), HasSubstr("turn: "));
}

TEST(ControlImport, ReturnedValuesOfDifferentRanksStayOpaque) {
  const Imported result = ImportModel(
      IfModel(
          Graph("t", {MakeNode("Flatten", {"x"}, {"a"}), MakeNode("Unsqueeze", {"a", "ax"}, {"u"})},
                {}, {"u"}),
          Graph("e", {MakeNode("Neg", {"x"}, {"b"})}, {}, {"b"}))
          .Ints("ax", {1}, {0}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.Ops(), "onnx.If");
  EXPECT_TRUE(
      result.HasDiagnostic("choice: remark: imported as an opaque op: If with branches that give"));
  EXPECT_EQ(ImportModel(DivergingModel({MakeNode("Mul", {"x", "r"}, {"y"})}, {"y", "r"}))
                .Find("onnx.If")
                .size(),
            1u);
}

TEST(ControlImport, BranchesMustHaveTheOutputs) {
  const GraphProto branch = Graph("e", {MakeNode("Neg", {"x"}, {"b"})}, {}, {"b"});
  EXPECT_THAT(FirstError(ImportModel(IfModel(Graph("t", {}, {}, {}), branch))),
              HasSubstr("graph \"t\" of If has 0 outputs, expected 1"));
  EXPECT_THAT(FirstError(ImportModel(IfModel(Graph("t", {}, {"in"}, {"in"}), branch))),
              HasSubstr("graph \"t\" has 1 inputs, expected 0"));
}

ModelBuilder LoopModel(const GraphProto& body, const Names& inputs) {
  ModelBuilder model(17);
  model.Input("n", {}, TensorProto::INT64).Input("go", {}, TensorProto::BOOL).Input("x", {2, "N"});
  model.Node("Loop", inputs, {"r", "ys"}, {{"body", body}}, "loop").Output("r").Output("ys");
  return model;
}

TEST(ControlImport, CountedLoops) {
  const GraphProto body =
      Graph("b", {MakeNode("Identity", {"c"}, {"c2"}), MakeNode("Neg", {"v"}, {"v2"})},
            {"i", "c", "v"}, {"c2", "v2", "v2"});
  const Imported result = ImportModel(LoopModel(body, {"n", "", "x"}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.Ops(), "ctl.for");
  EXPECT_EQ(result.Only("ctl.for")->region().front().num_arguments(), 2u);
  EXPECT_EQ(result.ResultType(0), "tensor<2x?xf32, [\"\", \"N\"]>");
  EXPECT_EQ(result.ResultType(1), "tensor<?x2x?xf32, [\"loop.r1.d0\", \"\", \"N\"]>");
}

TEST(ControlImport, ConditionalLoops) {
  const GraphProto body = Graph("b",
                                {MakeNode("ReduceSum", {"v"}, {"s"}, {{"keepdims", int64_t{0}}}),
                                 MakeNode("Greater", {"s", "s"}, {"c2"}),
                                 MakeNode("Concat", {"v", "v"}, {"v2"}, {{"axis", int64_t{1}}})},
                                {"i", "c", "v"}, {"c2", "v2", "s"});
  const Imported result = ImportModel(LoopModel(body, {"n", "go", "x"}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.Ops(), "ctl.while");
  // The extent that doubles in every run has a name of its own in the body.
  const Operation* loop = result.Only("ctl.while");
  EXPECT_EQ(loop->region(1).front().argument(2).type().text(), "tensor<2x?xf32, [\"\", \"v.d1\"]>");
  EXPECT_EQ(result.ResultType(0), "tensor<2x?xf32, [\"\", \"loop.r2.d1\"]>");
}

TEST(ControlImport, LoopsThatCannotBe) {
  const GraphProto endless =
      Graph("b", {MakeNode("Identity", {"c"}, {"c2"}), MakeNode("Neg", {"v"}, {"v2"})},
            {"i", "c", "v"}, {"c2", "v2", "v2"});
  EXPECT_EQ(ImportModel(LoopModel(endless, {"", "", "x"})).Ops(), "onnx.Loop");
  const GraphProto rank =
      Graph("b", {MakeNode("Identity", {"c"}, {"c2"}), MakeNode("Shape", {"v"}, {"v2"})},
            {"i", "c", "v"}, {"c2", "v2", "v2"});
  EXPECT_EQ(ImportModel(LoopModel(rank, {"n", "", "x"})).Ops(), "onnx.Loop");
  EXPECT_THAT(FirstError(ImportModel(LoopModel(endless, {"n", ""}))),
              HasSubstr("the body of Loop has 3 inputs, expected 2"));
  EXPECT_THAT(FirstError(ImportModel(LoopModel(endless, {"go", "", "x"}))),
              HasSubstr("the trip count of Loop must be i64"));
}

TEST(ControlImport, Scan) {
  const GraphProto body =
      Graph("b", {MakeNode("Add", {"s", "e"}, {"s2"}), MakeNode("Neg", {"s2"}, {"y"})}, {"s", "e"},
            {"s2", "y"});
  ModelBuilder model(17);
  model.Input("init", {2}).Input("x", {2, "N"});
  model.Node("Scan", {"init", "x"}, {"f", "ys"},
             {{"body", body},
              {"num_scan_inputs", int64_t{1}},
              {"scan_input_axes", std::vector<int64_t>{-1}},
              {"scan_output_axes", std::vector<int64_t>{1}},
              {"scan_output_directions", std::vector<int64_t>{1}}});
  model.Output("f").Output("ys");
  const Imported result = ImportModel(model);
  ASSERT_TRUE(result.status.ok()) << result.status;
  const Operation* loop = result.Only("ctl.for");
  EXPECT_EQ(loop->attr("scan_axes").text(), "array<i64: 1>");
  EXPECT_EQ(loop->attr("scan_reverse").text(), "array<i64: 1>");
  EXPECT_EQ(result.ResultType(0), "tensor<2xf32>");
  EXPECT_EQ(result.ResultType(1), "tensor<2x?xf32, [\"\", \"N\"]>");
}

// Opset 8 has a batch in front of everything.
TEST(ControlImport, ScanOfBatches) {
  const GraphProto body =
      Graph("b", {MakeNode("Add", {"s", "e"}, {"s2"}), MakeNode("Neg", {"s2"}, {"y"})}, {"s", "e"},
            {"s2", "y"});
  const NamedValues attributes = {{"body", body}, {"num_scan_inputs", int64_t{1}}};
  ModelBuilder model(8);
  model.Input("init", {"B", 2})
      .Input("x", {"B", "S", 2})
      .Input("lengths", {"B"}, TensorProto::INT64);
  model.Node("Scan", {"", "init", "x"}, {"f", "ys"}, attributes).Output("f").Output("ys");
  const Imported result = ImportModel(model);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.Find("ctl.for").size(), 2u);
  EXPECT_EQ(result.ResultType(0), "tensor<?x2xf32, [\"B\", \"\"]>");
  EXPECT_EQ(result.ResultType(1), "tensor<?x?x2xf32, [\"B\", \"S\", \"\"]>");
  *model.graph().mutable_node(0) =
      MakeNode("Scan", {"lengths", "init", "x"}, {"f", "ys"}, attributes);
  EXPECT_EQ(ImportModel(model).Ops(), "onnx.Scan");
}

}  // namespace
}  // namespace tenon::onnx
