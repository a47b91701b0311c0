// Graphs as a whole: names, symbols, locations, order, opaque nodes, functions.
#include <gtest/gtest.h>

#include "ir/core/block.h"
#include "tests/onnx/model_builder.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;

TEST(Import, NamesAndSymbols) {
  ModelBuilder model(17);
  model.Input("ids", {"batch", "seq"}, TensorProto::INT64).Input("mask", {"", 4});
  model.Node("Identity", {"mask"}, {"same"}).Node("Shape", {"ids"}, {"shape"});
  model.Output("same").Output("shape");
  const Imported result = ImportModel(model);
  ASSERT_TRUE(result.status.ok()) << result.status;
  const std::string text = result.Text();
  EXPECT_NE(text.find(R"(arg_attrs = [{core.name = "ids"}, {core.name = "mask"}])"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(res_attrs = [{core.name = "same"}, {core.name = "shape"}])"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(tensor<?x4xf32, ["mask.d0", ""]>)"), std::string::npos) << text;
}

// Exporters write them for extents that they do not know. Equal ones are not equal extents.
TEST(Import, PlaceholdersAreNoSymbols) {
  for (const char* name : {"?", "", "None", "-1", "7", "unk__12", "unk", " "}) {
    ModelBuilder model(13);
    model.Input("x", {name, name}).Node("Relu", {"x"}, {"y"}).Output("y");
    EXPECT_EQ(ImportModel(model).ResultType(), R"(tensor<?x?xf32, ["x.d0", "x.d1"]>)") << name;
  }
  for (const char* name : {"N", "batch?", "unk__batch", "d7", "7 * n"}) {
    ModelBuilder model(13);
    model.Input("x", {name, name}).Node("Relu", {"x"}, {"y"}).Output("y");
    EXPECT_EQ(ImportModel(model).ResultType().find("x.d0"), std::string::npos) << name;
  }
}

TEST(Import, NewNamesDifferFromDeclaredOnes) {
  ModelBuilder model(17);
  model.Input("x", {"", 4}).Input("y", {"x.d0", 4});
  model.Node("Identity", {"x"}, {"out"}).Output("out");
  EXPECT_EQ(ImportModel(model).ResultType(), R"(tensor<?x4xf32, ["x.d0_2", ""]>)");
}

TEST(Import, Locations) {
  ModelBuilder model(17);
  model.Input("x", {2})
      .Node("Relu", {"x"}, {"a"}, {}, "/layer/Relu")
      .Node("Abs", {"a"}, {"b"})
      .Output("b");
  const Imported result = ImportModel(model);
  EXPECT_EQ(DescribeLocation(*result.context, result.Only("ten.relu")->location()), "/layer/Relu");
  EXPECT_EQ(DescribeLocation(*result.context, result.Only("ten.abs")->location()), "Abs:b");
}

TEST(Import, UnsortedNodesAreSorted) {
  ModelBuilder model(17);
  model.Input("x", {2}).Node("Abs", {"a"}, {"b"}).Node("Relu", {"x"}, {"a"}).Output("b");
  EXPECT_EQ(ImportModel(model).Ops(), "ten.relu ten.abs");
}

TEST(Import, CycleNamesItsNodes) {
  ModelBuilder model(17);
  model.Input("x", {2});
  model.Node("Relu", {"x"}, {"r"}, {}, "outside");
  model.Node("Add", {"r", "c"}, {"a"}, {}, "first").Node("Abs", {"a"}, {"b"}, {}, "second");
  model.Node("Neg", {"b"}, {"c"}, {}, "third").Output("b");
  const Imported result = ImportModel(model);
  EXPECT_FALSE(result.status.ok());
  EXPECT_TRUE(result.HasDiagnostic(R"("first" <- "third" <- "second" <- "first")"))
      << result.diagnostics.at(0);
}

// Characters that no symbol has become "_", and the symbols stay different.
TEST(Import, OddNamesOfDimensionsStayDifferent) {
  ModelBuilder model(17);
  model.Input("x", {"a\nb", "a_b", "a\nb"}).Node("Relu", {"x"}, {"y"}).Output("y");
  EXPECT_EQ(ImportModel(model).ResultType(), R"(tensor<?x?x?xf32, ["a_b", "a_b_", "a_b"]>)");
}

TEST(Import, UndefinedAndDuplicateValues) {
  ModelBuilder undefined(17);
  undefined.Input("x", {2}).Node("Add", {"x", "nowhere"}, {"a"}, {}, "n").Output("a");
  EXPECT_TRUE(ImportModel(undefined).HasDiagnostic(
      R"(node "n" reads the value "nowhere", which nothing defines)"));
  ModelBuilder duplicate(17);
  duplicate.Input("x", {2})
      .Node("Relu", {"x"}, {"a"})
      .Node("Abs", {"x"}, {"a"}, {}, "n")
      .Output("a");
  EXPECT_TRUE(ImportModel(duplicate).HasDiagnostic(
      R"(node "n" defines the value "a", which exists already)"));
  ModelBuilder output(17);
  output.Input("x", {2}).Output("nothing");
  EXPECT_TRUE(ImportModel(output).HasDiagnostic(R"(graph output "nothing" is not defined)"));
}

TEST(Import, NewerOpsetsAreAWarning) {
  ModelBuilder model(99);
  model.Input("x", {2}).Node("Relu", {"x"}, {"out"}).Output("out");
  const Imported result = ImportModel(model);
  EXPECT_EQ(result.Ops(), "ten.relu");
  EXPECT_TRUE(result.HasDiagnostic("warning: opset 99 is newer than"));
}

TEST(Import, InitializersThatAreInputsAreConstants) {
  ModelBuilder model(17);
  model.Input("x", {2})
      .Input("w", {2})
      .Floats("w", {2}, {1, 2})
      .Node("Add", {"x", "w"}, {"a"})
      .Output("a");
  const Imported result = ImportModel(model);
  EXPECT_EQ(result.Find("core.constant").size(), 1u);
  EXPECT_TRUE(result.HasDiagnostic("w: remark: the input has a default value"));
  model.model().set_ir_version(3);
  EXPECT_TRUE(ImportModel(model).diagnostics.empty());
}

TEST(Import, DeclaredTypesAreHints) {
  ModelBuilder model(17);
  model.Input("x", {"B", 2}).Node("Relu", {"x"}, {"a"}, {}, "n");
  *model.graph().add_output() = MakeInfo("a", {"other", 3});
  const Imported result = ImportModel(model);
  ASSERT_TRUE(result.status.ok());
  EXPECT_EQ(result.ResultType(), R"(tensor<?x2xf32, ["B", ""]>)");
  EXPECT_TRUE(result.HasDiagnostic(R"(n: warning: "a" is declared as FLOAT [other, 3])"));
}

TEST(Import, OpaqueNodes) {
  ModelBuilder model(17);
  model.Input("x", {2, 3});
  model.Node("NoSuchOp", {"x", "k"}, {"v", "i"}, {{"largest", int64_t{0}}}, "n");
  model.Ints("k", {1}, {1});
  model.Node("Relu", {"v"}, {"r"}).Node("Abs", {"i"}, {"unknown"});
  *model.graph().add_value_info() = MakeInfo("v", {2, "k"});
  model.Output("r").Output("unknown");
  const Imported result = ImportModel(model);
  ASSERT_TRUE(result.status.ok()) << result.status;
  // Relu's input has a declared type; Abs's has not.
  EXPECT_EQ(result.Ops(), "onnx.NoSuchOp ten.relu onnx.Abs");
  EXPECT_EQ(result.ResultType(0), R"(tensor<2x?xf32, ["", "v.d1"]>)");
  EXPECT_EQ(result.ResultType(1), "!onnx.any");
  const Operation* opaque = result.Only("onnx.NoSuchOp");
  EXPECT_EQ(opaque->attr("largest").int_value(), 0);
  EXPECT_EQ(opaque->attr("opset").int_value(), 17);
  EXPECT_TRUE(
      result.HasDiagnostic("n: remark: imported as an opaque op: NoSuchOp has no counterpart"));
}

TEST(Import, OpaqueNodesKeepDomainsAndAbsentInputs) {
  ModelBuilder model(17);
  model.model().add_opset_import()->set_domain("com.acme-x");
  model.model().mutable_opset_import(1)->set_version(3);
  model.Input("x", {2}).Node("Do It", {"", "x"}, {"a"}, {{"present", "mine"}}).Output("a");
  model.graph().mutable_node(0)->set_domain("com.acme-x");
  const Imported result = ImportModel(model);
  const Operation* op = result.Only("onnx.com.acme_x.Do_It");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->attr("domain").str(), "com.acme-x");
  EXPECT_EQ(op->attr("opset").int_value(), 3);
  EXPECT_EQ(op->attr("present").text(), "array<i1: false, true>");
  EXPECT_EQ(op->attr("present_").str(), "mine");
}

// If with branches that capture a value, an initializer of the outer graph, and have their own.
TEST(Import, SubgraphsBecomeRegions) {
  onnxpb::GraphProto then_branch, else_branch;
  then_branch.set_name("then");
  *then_branch.add_node() = MakeNode("Add", {"x", "w"}, {"t"});
  then_branch.add_output()->set_name("t");
  else_branch.set_name("else");
  *else_branch.add_initializer() = FloatTensor("own", {2}, {5, 6});
  *else_branch.add_node() = MakeNode("Mul", {"late", "own"}, {"e"});
  else_branch.add_output()->set_name("e");
  ModelBuilder model(17);
  model.Input("x", {2}).Input("c", {}, TensorProto::BOOL).Floats("w", {2}, {1, 2});
  // `late` is defined behind the node whose branch reads it.
  model.Node("If", {"c"}, {"r"}, {{"then_branch", then_branch}, {"else_branch", else_branch}});
  model.Node("Relu", {"x"}, {"late"}).Output("r");
  const Imported result = ImportModel(model);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.Ops(), "ten.relu ctl.if");
  const Operation* op = result.Only("ctl.if");
  ASSERT_EQ(op->num_regions(), 2u);
  EXPECT_EQ(op->region(0).front().front()->name(), "ten.add");
  EXPECT_EQ(op->region(1).front().front()->name(), "core.constant");
  EXPECT_EQ(op->region(1).front().back()->name(), "ctl.yield");
  EXPECT_EQ(result.ResultType(0), "tensor<2xf32>");
}

onnxpb::FunctionProto MakeFunction(const std::string& name, const Names& inputs,
                                   const Names& outputs) {
  onnxpb::FunctionProto function;
  function.set_name(name);
  function.set_domain("local");
  for (const std::string& input : inputs) function.add_input(input);
  for (const std::string& output : outputs) function.add_output(output);
  function.add_opset_import()->set_version(17);
  return function;
}

ModelBuilder CallModel(const onnxpb::FunctionProto& function, const NamedValues& attributes = {}) {
  ModelBuilder model(17);
  *model.model().add_functions() = function;
  model.Input("x", {2, 3}).Node(function.name(), {"x"}, {"out"}, attributes, "call").Output("out");
  model.graph().mutable_node(0)->set_domain("local");
  return model;
}

TEST(Import, FunctionsAreInlined) {
  onnxpb::FunctionProto function = MakeFunction("Twice", {"a"}, {"c"});
  function.add_attribute("slope");
  *function.add_node() = MakeNode("LeakyRelu", {"a"}, {"b"}, {}, "inner");
  onnxpb::AttributeProto* reference = function.mutable_node(0)->add_attribute();
  reference->set_name("alpha");
  reference->set_ref_attr_name("slope");
  reference->set_type(onnxpb::AttributeProto::FLOAT);
  *function.add_node() = MakeNode("Abs", {"b"}, {"c"});
  const Imported result = ImportModel(CallModel(function, {{"slope", 0.5f}}));
  EXPECT_EQ(result.Ops(), "ten.leaky_relu ten.abs");
  const Operation* op = result.Only("ten.leaky_relu");
  EXPECT_EQ(op->attr("alpha").float_value(), 0.5);
  EXPECT_EQ(LocationText(*result.context, op->location()), R"(callsite("inner" at "call"))");
  // Without the attribute the op's default counts.
  const Imported defaulted = ImportModel(CallModel(function));
  EXPECT_NEAR(defaulted.Only("ten.leaky_relu")->attr("alpha").float_value(), 0.01, 1e-6);
}

// What the caller declares of a result holds for the opaque node that computes it.
TEST(Import, ResultsOfFunctionsHaveTheTypesOfTheCaller) {
  onnxpb::FunctionProto function = MakeFunction("Odd", {"a"}, {"b"});
  *function.add_node() = MakeNode("NoSuchOp", {"a"}, {"b"});
  ModelBuilder model = CallModel(function);
  onnxpb::TypeProto::Tensor& type =
      *model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnxpb::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_value(2);
  EXPECT_EQ(ImportModel(model).ResultType(), "tensor<2xf32>");
}

TEST(Import, RecursiveFunctionsAreRefused) {
  onnxpb::FunctionProto function = MakeFunction("Loopy", {"a"}, {"b"});
  *function.add_node() = MakeNode("Loopy", {"a"}, {"b"});
  function.mutable_node(0)->set_domain("local");
  EXPECT_TRUE(ImportModel(CallModel(function)).HasDiagnostic(R"(function "Loopy" calls itself)"));
}

TEST(Import, ExplodingFunctionsAreRefused) {
  ModelBuilder model(17);
  for (int i = 0; i < 40; ++i) {
    onnxpb::FunctionProto function = MakeFunction("F" + std::to_string(i), {"a"}, {"c"});
    const std::string callee = "F" + std::to_string(i + 1);
    *function.add_node() = MakeNode(i == 39 ? "Abs" : callee, {"a"}, {"b"});
    *function.add_node() = MakeNode(i == 39 ? "Abs" : callee, {"b"}, {"c"});
    if (i < 39) {
      function.mutable_node(0)->set_domain("local");
      function.mutable_node(1)->set_domain("local");
    }
    *model.model().add_functions() = function;
  }
  model.Input("x", {2}).Node("F0", {"x"}, {"out"}).Output("out");
  model.graph().mutable_node(0)->set_domain("local");
  const Imported result = ImportModel(model);
  EXPECT_NE(result.status.message().find("expand to more than"), std::string::npos)
      << result.status;
}

TEST(Import, TensorsWithoutCounterpartAreOpaque) {
  ModelBuilder model(17);
  TensorProto tensor;
  tensor.set_name("s");
  tensor.set_data_type(TensorProto::COMPLEX64);
  tensor.add_dims(1);
  tensor.add_float_data(1);
  tensor.add_float_data(2);
  *model.graph().add_initializer() = tensor;
  model.Node("Identity", {"s"}, {"out"}).Output("out");
  const Imported result = ImportModel(model);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.ResultType(), "!onnx.any");
  EXPECT_TRUE(result.HasDiagnostic(R"(tensor "s" has elements of COMPLEX64)"));
}

TEST(Import, Unranked) {
  ModelBuilder model(17);
  auto* input = model.graph().add_input();
  input->set_name("x");
  input->mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
  model.Node("Relu", {"x"}, {"out"}).Output("out");
  EXPECT_EQ(ImportModel(model).Ops(), "onnx.Relu");
}

TEST(Import, TwoRunsGiveTheSameText) {
  ModelBuilder model(17);
  model.Input("x", {"B", 2}).Floats("w", {2}, {1, 2});
  model.Node("Add", {"x", "w"}, {"a"}).Node("NonZero", {"a"}, {"n"}).Output("n").Output("a");
  EXPECT_EQ(ImportModel(model).Text(), ImportModel(model).Text());
}

}  // namespace
}  // namespace tenon::onnx
