// What an exported model says: versions of operators, functions, and constants of one value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "frontends/cpp/files/export_onnx.h"
#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/compare.h"
#include "frontends/onnx/export/node_forms.h"
#include "frontends/onnx/export/schema_versions.h"
#include "frontends/onnx/file/model_info.h"
#include "tests/api/program_fixture.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ExportNodesTest : public ProgramFixture {
 protected:
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  std::string Bytes(const std::string& name) const {
    std::ifstream in(Path(name), std::ios::binary);
    std::stringstream bytes;
    bytes << in.rdbuf();
    return bytes.str();
  }

  static std::vector<Tensor> Run(const Model& model, const std::vector<Tensor>& inputs) {
    const absl::StatusOr<Program> program = Compile(model, {.threads = 1});
    EXPECT_TRUE(program.ok()) << program.status();
    if (!program.ok()) return {};
    absl::StatusOr<std::vector<Tensor>> outputs = program->Run(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>();
  }

  // How many operations of the dialect fused a model has.
  static int Fused(const Model& model) {
    int count = 0;
    model.module()->Walk(
        [&](const Operation* op) { count += op->info().dialect() == "fused" ? 1 : 0; });
    return count;
  }
};

TEST(SchemaVersionsTest, SaysWhatMeansTheSame) {
  EXPECT_TRUE(onnx::MeansTheSame("Det", 18, 21));        // of 11 in both
  EXPECT_TRUE(onnx::MeansTheSame("Det", 18, 22));        // takes more types
  EXPECT_FALSE(onnx::MeansTheSame("Det", 22, 21));       // took fewer
  EXPECT_TRUE(onnx::MeansTheSame("Loop", 11, 25));       // the same words, or more types
  EXPECT_FALSE(onnx::MeansTheSame("RoiAlign", 10, 17));  // another default
  EXPECT_FALSE(onnx::MeansTheSame("Upsample", 9, 17));   // deprecated
  EXPECT_FALSE(onnx::MeansTheSame("Det", 9, 11));        // not there yet
  EXPECT_TRUE(onnx::MeansTheSame("ai.onnx.ml.Normalizer", 1, 5));
  EXPECT_TRUE(onnx::MeansTheSame("Unheard", 9, 9));
  EXPECT_FALSE(onnx::MeansTheSame("Unheard", 9, 10));
}

TEST(NodeFormsTest, SaysWhatEachOpsetHas) {
  EXPECT_FALSE(onnx::HasNode("LayerNormalization", 16));
  EXPECT_TRUE(onnx::HasNode("LayerNormalization", 17));
  EXPECT_FALSE(onnx::HasNode("GroupNormalization", 18));  // taken back
  EXPECT_TRUE(onnx::HasNode("GroupNormalization", 21));
  EXPECT_FALSE(onnx::HasNode("Unheard", 28));
  EXPECT_FALSE(onnx::IsOnnxOperator("Unheard"));
  // Axes are an input of ReduceSum from opset 13 on, and of other reductions from 18 on.
  EXPECT_FALSE(onnx::FormOf("ReduceSum", 13)->HasAttribute("axes"));
  EXPECT_TRUE(onnx::FormOf("ReduceMax", 17)->HasAttribute("axes"));
  EXPECT_FALSE(onnx::FormOf("ReduceMax", 17)->HasInputs(2));
  EXPECT_FALSE(onnx::FormOf("ReduceMax", 18)->HasAttribute("axes"));
  EXPECT_TRUE(onnx::FormOf("ReduceMax", 18)->HasInputs(2));
  EXPECT_TRUE(onnx::FormOf("Concat", 13)->HasInputs(100));
  EXPECT_FALSE(onnx::FormOf("Add", 13)->input(0)->Takes(DType::kI8));
  EXPECT_TRUE(onnx::FormOf("Add", 14)->input(0)->Takes(DType::kI8));
  EXPECT_EQ(onnx::FormOf("Shape", 13)->output(0)->OnlyType(), DType::kI64);
  EXPECT_TRUE(onnx::FormOf("StringConcat", 20)->input(1)->TakesOnlyStrings());
  const auto takes_bf16 = [](const onnx::NodeForm& form) {
    return form.input(1)->Takes(DType::kBF16);
  };
  EXPECT_EQ(onnx::OldestWith("Where", takes_bf16), 16);
  EXPECT_EQ(onnx::OldestWith("And", takes_bf16), std::nullopt);
}

// A program with one node of the given operator and opset.
std::string ProgramWith(std::string_view op, int opset) {
  return "func.func() <{function_type = (tensor<2x2xf32>) -> tensor<f32>, sym_name = \"main\"}> "
         "({\n"
         "^bb0(%x: tensor<2x2xf32>):\n"
         "  %0 = onnx." +
         std::string(op) + "(%x) <{opset = " + std::to_string(opset) +
         " : i64}> : (tensor<2x2xf32>) -> tensor<f32>\n"
         "  func.return(%0) : (tensor<f32>) -> ()\n"
         "}) : () -> ()\n";
}

TEST_F(ExportNodesTest, KeepsTheOpsetThatANodeNeeds) {
  for (const auto& [op, opset, expected] :
       {std::tuple("Det", 11, 18), std::tuple("Det", 22, 22), std::tuple("Unheard", 19, 19)}) {
    const absl::StatusOr<Model> model =
        LoadFromBytes(ProgramWith(op, opset), "node.mlir", {.allow_unregistered_dialects = true});
    ASSERT_TRUE(model.ok()) << model.status();
    ASSERT_TRUE(ExportOnnx(*model, Path("node.onnx")).ok());
    const absl::StatusOr<Model> again = Load(Path("node.onnx"));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->info()->opset, expected) << op;
  }
}

TEST_F(ExportNodesTest, RefusesANodeThatMeansSomethingElse) {
  const absl::StatusOr<Model> model = LoadFromBytes(ProgramWith("RoiAlign", 10), "node.mlir",
                                                    {.allow_unregistered_dialects = true});
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::Status written = ExportOnnx(*model, Path("node.onnx"), {.opset = 17});
  EXPECT_TRUE(absl::IsUnimplemented(written)) << written;
  EXPECT_THAT(std::string(written.message()),
              HasSubstr("onnx.RoiAlign has no ONNX form: it is that of opset 10, and another one "
                        "in opset 17"));
  EXPECT_FALSE(fs::exists(Path("node.onnx")));
}

// The file has one element and the extents.
TEST_F(ExportNodesTest, ComputesLargeConstantsOfOneValue) {
  for (const char* type : {"f32", "bf16"}) {
    const std::string tensor = std::string("tensor<4096x2048x") + type + ">";
    const absl::StatusOr<Model> model = LoadFromBytes(
        "func.func() <{function_type = () -> " + tensor +
            ", sym_name = \"main\"}> ({\n  %0 = core.constant() <{value = dense<0.5> : " + tensor +
            "}> : () -> " + tensor + "\n  func.return(%0) : (" + tensor +
            ") -> ()\n}) : () -> ()\n",
        "uniform.mlir");
    ASSERT_TRUE(model.ok()) << model.status();
    ASSERT_TRUE(ExportOnnx(*model, Path("uniform.onnx")).ok());
    EXPECT_LT(fs::file_size(Path("uniform.onnx")), 1000u);
    const absl::StatusOr<Model> again = Load(Path("uniform.onnx"));
    ASSERT_TRUE(again.ok()) << again.status();
    const std::vector<Tensor> expected = Run(*model, {}), actual = Run(*again, {});
    ASSERT_EQ(actual.size(), 1u);
    EXPECT_TRUE(Compare(actual[0], expected[0], 0, 0).pass) << type;
  }
}

// What ONNX has one operator for.
TEST_F(ExportNodesTest, PutsNodesTogether) {
  struct Case {
    const char *node, *type, *body;
  };
  const Case cases[] = {
      {"Gemm", "tensor<1x2xf32>",
       R"(  %a = core.constant() <{value = dense<[[1.0, -2.0]]> : tensor<1x2xf32>}> : () -> tensor<1x2xf32>
  %b = core.constant() <{value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>}> : () -> tensor<2x2xf32>
  %c = core.constant() <{value = dense<[5.0, 6.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
  %0 = ten.matmul(%a, %b) <{transpose_b = true}> : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %y = ten.add(%0, %c) : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
)"},
      {"BatchNormalization", "tensor<1x2x2xf32>",
       R"(  %x = core.constant() <{value = dense<[[[1.0, -2.0], [3.0, 4.0]]]> : tensor<1x2x2xf32>}> : () -> tensor<1x2x2xf32>
  %k = core.constant() <{value = dense<[[2.0], [0.5]]> : tensor<2x1xf32>}> : () -> tensor<2x1xf32>
  %c = core.constant() <{value = dense<[[5.0], [6.0]]> : tensor<2x1xf32>}> : () -> tensor<2x1xf32>
  %0 = ten.mul(%x, %k) : (tensor<1x2x2xf32>, tensor<2x1xf32>) -> tensor<1x2x2xf32>
  %y = ten.add(%0, %c) : (tensor<1x2x2xf32>, tensor<2x1xf32>) -> tensor<1x2x2xf32>
)"},
      {"DequantizeLinear", "tensor<2x2xf32>",
       R"(  %x = core.constant() <{value = dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>}> : () -> tensor<2x2xi8>
  %z = core.constant() <{value = dense<3.0> : tensor<f32>}> : () -> tensor<f32>
  %s = core.constant() <{value = dense<[0.5, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
  %0 = ten.cast(%x) <{to = f32}> : (tensor<2x2xi8>) -> tensor<2x2xf32>
  %1 = ten.sub(%0, %z) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %y = ten.mul(%1, %s) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
)"},
      {"QuantizeLinear", "tensor<2x2xui8>",
       R"(  %x = core.constant() <{value = dense<[[1.25, -2.0], [3.0, 400.0]]> : tensor<2x2xf32>}> : () -> tensor<2x2xf32>
  %z = core.constant() <{value = dense<3.0> : tensor<f32>}> : () -> tensor<f32>
  %s = core.constant() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
  %0 = ten.div(%x, %s) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %1 = ten.round(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = ten.add(%1, %z) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %3 = ten.clip(%2) <{max = 255.0 : f64, min = 0.0 : f64}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %y = ten.cast(%3) <{to = ui8}> : (tensor<2x2xf32>) -> tensor<2x2xui8>
)"}};
  for (const Case& c : cases) {
    const absl::StatusOr<Model> model =
        LoadFromBytes(std::string("func.func() <{function_type = () -> ") + c.type +
                          ", sym_name = \"main\"}> ({\n" + c.body + "  func.return(%y) : (" +
                          c.type + ") -> ()\n}) : () -> ()\n",
                      "parts.mlir");
    ASSERT_TRUE(model.ok()) << model.status();
    ASSERT_TRUE(ExportOnnx(*model, Path("parts.onnx")).ok());
    EXPECT_THAT(Bytes("parts.onnx"), HasSubstr(c.node));
    for (const char* part : {"MatMul", "Mul", "Add", "Sub", "Cast", "Round"})
      EXPECT_EQ(Bytes("parts.onnx").find(part), std::string::npos) << c.node << " beside " << part;
    const absl::StatusOr<Model> again = Load(Path("parts.onnx"));
    ASSERT_TRUE(again.ok()) << again.status();
    const std::vector<Tensor> expected = Run(*model, {}), actual = Run(*again, {});
    ASSERT_EQ(actual.size(), 1u);
    EXPECT_TRUE(Compare(actual[0], expected[0], 0, 0).pass) << c.node;
  }
}

TEST_F(ExportNodesTest, FusedOperationsAreFunctions) {
  for (const char* name : {"bert.eager.ts17", "llama_past.sdpa.ts17", "t5_encoder.eager.ts17",
                           "resnet_bn.eager.ts17", "vit.sdpa.dyn20", "gpt2_merged.optimum"}) {
    const std::string folder = std::string(TENON_SOURCE_DIR "/tests/models/") + name;
    absl::StatusOr<Model> model = Load(folder + "/model.onnx");
    ASSERT_TRUE(model.ok()) << model.status();
    const absl::StatusOr<Sample> sample = ReadInputs(model->main(), folder + "/test_data_set_0");
    ASSERT_TRUE(sample.ok()) << sample.status();
    const std::string pipeline = "onnx-O2";
    ASSERT_TRUE(Optimize(*model, {.pipeline = pipeline}).ok());
    for (const char* file : {"functions.onnx", "twice.onnx"}) {
      const absl::Status written = ExportOnnx(*model, Path(file), {.ops = OnnxOps::kFunctions});
      ASSERT_TRUE(written.ok()) << written;
    }
    EXPECT_EQ(Bytes("functions.onnx"), Bytes("twice.onnx")) << name;
    absl::StatusOr<Model> again = Load(Path("functions.onnx"));
    ASSERT_TRUE(again.ok()) << again.status();
    const std::vector<Tensor> expected = Run(*model, sample->inputs);
    const std::vector<Tensor> actual = Run(*again, sample->inputs);
    ASSERT_EQ(actual.size(), expected.size()) << name;
    for (size_t i = 0; i < actual.size(); ++i) {
      const Difference difference = Compare(actual[i], expected[i], 2e-5, 2e-5);
      EXPECT_TRUE(difference.pass) << name << ", output " << i << ": " << difference.problem;
    }
    // What the functions compute is found again.
    ASSERT_TRUE(Optimize(*again, {.pipeline = pipeline}).ok());
    EXPECT_EQ(Fused(*again), Fused(*model)) << name;
  }
}

// Attention of exporters is written as nodes of ONNX Runtime, which read back compute the same.
TEST_F(ExportNodesTest, AttentionIsNodesOfOnnxRuntime) {
  for (const char* name :
       {"bert.eager.ts17", "bert.sdpa.dyn18", "roberta.sdpa.ts14", "vit.sdpa.dyn20",
        "llama_past.sdpa.ts17", "bert.onnxruntime", "llama.onnxruntime"}) {
    SCOPED_TRACE(name);
    const std::string folder = std::string(TENON_SOURCE_DIR "/tests/models/") + name;
    absl::StatusOr<Model> model = Load(folder + "/model.onnx");
    ASSERT_TRUE(model.ok()) << model.status();
    const absl::StatusOr<Sample> sample = ReadInputs(model->main(), folder + "/test_data_set_0");
    ASSERT_TRUE(sample.ok()) << sample.status();
    ASSERT_TRUE(Optimize(*model, {.pipeline = "onnx-O2"}).ok());
    const absl::Status written =
        ExportOnnx(*model, Path("ort.onnx"), {.ops = OnnxOps::kOnnxRuntime});
    ASSERT_TRUE(written.ok()) << written;
    EXPECT_EQ(Bytes("ort.onnx").find("Softmax"), std::string::npos);
    absl::StatusOr<Model> again = Load(Path("ort.onnx"));
    ASSERT_TRUE(again.ok()) << again.status();
    const std::vector<Tensor> expected = Run(*model, sample->inputs);
    const std::vector<Tensor> actual = Run(*again, sample->inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      const Difference difference = Compare(actual[i], expected[i], 2e-5, 2e-5);
      EXPECT_TRUE(difference.pass) << "output " << i << ": " << difference.problem;
    }
  }
}

TEST_F(ExportNodesTest, ProgramTellsAnErrorOnce) {
  {
    std::ofstream out(Path("node.mlir"));
    out << ProgramWith("RoiAlign", 10);
  }
  EXPECT_EQ(RunProgram("ir-opt --allow-unregistered-dialect " + Path("node.mlir") +
                       " --onnx-opset=17 -o " + Path("node.onnx")),
            3);
  EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1) << err_;
  EXPECT_EQ(RunProgram("ir-opt " TENON_SOURCE_DIR
                       "/tests/models/bert.eager.ts17/model.onnx -O2 --onnx-ops=functions -o " +
                       Path("functions.onnx")),
            0)
      << err_;
  EXPECT_THAT(Bytes("functions.onnx"), HasSubstr("SkipLayerNorm"));
}

}  // namespace
}  // namespace tenon
