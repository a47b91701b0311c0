// Models that are written as ONNX and read again.
#include "frontends/cpp/files/export_onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "frontends/cpp/passes.h"
#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/compare.h"
#include "frontends/onnx/file/model_info.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/core_ops.h"
#include "tests/api/program_fixture.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::vector<std::string> ModelFolders() {
  std::vector<std::string> folders;
  for (const auto& entry : fs::directory_iterator(TENON_SOURCE_DIR "/tests/models")) {
    if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path().string());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// The generic form shows the program without the names of its values.
std::string TextOf(const Model& model, bool generic = false) {
  std::string text;
  const absl::Status status = Print(*model.module(), {.generic = generic, .elide_resources = true},
                                    [&](std::string_view piece) {
                                      text += piece;
                                      return absl::OkStatus();
                                    });
  EXPECT_TRUE(status.ok());
  return text;
}

// Moves constants to the start, in the order of their first use: files have them there.
void ConstantsFirst(const Model& model) {
  Block& body = model.main()->region().front();
  std::vector<Operation*> constants;
  for (Operation& op : body) {
    for (const OpOperand& operand : op.operands()) {
      Operation* const source = operand.get().defining_op();
      if (source == nullptr || source->id() != core::ConstantOp::kId) continue;
      if (std::find(constants.begin(), constants.end(), source) == constants.end())
        constants.push_back(source);
    }
  }
  for (auto i = constants.rbegin(); i != constants.rend(); ++i) {
    if (*i != body.front()) (*i)->MoveBefore(body.front());
  }
}

class ExportOnnxTest : public ProgramFixture {
 protected:
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  // The model after the pipeline, written and read again.
  absl::StatusOr<Model> RoundTrip(const Model& model, const ExportOptions& options = {}) {
    const absl::Status written = ExportOnnx(model, Path("again.onnx"), options);
    if (!written.ok()) return written;
    return Load(Path("again.onnx"));
  }

  static std::vector<Tensor> Run(const Model& model, const std::vector<Tensor>& inputs) {
    absl::StatusOr<Program> program = Compile(model, {.threads = 1});
    EXPECT_TRUE(program.ok()) << program.status();
    if (!program.ok()) return {};
    absl::StatusOr<std::vector<Tensor>> outputs = program->Run(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>();
  }
};

TEST_F(ExportOnnxTest, ModelsKeepTheirResults) {
  for (const std::string& folder : ModelFolders()) {
    const std::string path = folder + "/model.onnx";
    const absl::StatusOr<Model> original = Load(path);
    ASSERT_TRUE(original.ok()) << original.status();
    const absl::StatusOr<Sample> sample = ReadInputs(original->main(), folder + "/test_data_set_0");
    ASSERT_TRUE(sample.ok()) << sample.status();
    const std::vector<Tensor> expected = Run(*original, sample->inputs);
    for (const std::string_view pipeline : {std::string_view("simplify"), OnnxPipeline(2)}) {
      absl::StatusOr<Model> model = Load(path);
      ASSERT_TRUE(model.ok()) << model.status();
      const absl::Status optimized = Optimize(*model, {.pipeline = std::string(pipeline)});
      ASSERT_TRUE(optimized.ok()) << optimized;
      const absl::StatusOr<Model> again = RoundTrip(*model);
      ASSERT_TRUE(again.ok()) << path << ": " << again.status();
      const std::vector<Tensor> actual = Run(*again, sample->inputs);
      ASSERT_EQ(actual.size(), expected.size()) << path;
      for (size_t i = 0; i < actual.size(); ++i) {
        const Difference difference = Compare(actual[i], expected[i], 2e-5, 2e-5);
        EXPECT_TRUE(difference.pass)
            << path << " after " << pipeline << ", output " << i << ": " << difference.problem;
      }
    }
  }
}

TEST_F(ExportOnnxTest, ModelsKeepTheirResultsInTheOldestOpset) {
  for (const std::string& folder : ModelFolders()) {
    const std::string path = folder + "/model.onnx";
    absl::StatusOr<Model> model = Load(path);
    ASSERT_TRUE(model.ok()) << model.status();
    const absl::StatusOr<Sample> sample = ReadInputs(model->main(), folder + "/test_data_set_0");
    ASSERT_TRUE(sample.ok()) << sample.status();
    const std::vector<Tensor> expected = Run(*model, sample->inputs);
    ASSERT_TRUE(Optimize(*model, {.pipeline = std::string(OnnxPipeline(2))}).ok());
    const absl::StatusOr<Model> again = RoundTrip(*model, {.opset = 13});
    ASSERT_TRUE(again.ok()) << path << ": " << again.status();
    EXPECT_EQ(again->info()->opset, 13) << path;
    const std::vector<Tensor> actual = Run(*again, sample->inputs);
    ASSERT_EQ(actual.size(), expected.size()) << path;
    for (size_t i = 0; i < actual.size(); ++i) {
      const Difference difference = Compare(actual[i], expected[i], 2e-5, 2e-5);
      EXPECT_TRUE(difference.pass) << path << ", output " << i << ": " << difference.problem;
    }
  }
}

// A model that PyTorch wrote comes back as the same program.
TEST_F(ExportOnnxTest, ProgramsComeBack) {
  for (const char* name : {"vit.sdpa.dyn20", "bert.sdpa.dyn18", "resnet_bn.eager.ts17"}) {
    const std::string path = std::string(TENON_SOURCE_DIR "/tests/models/") + name + "/model.onnx";
    absl::StatusOr<Model> model = Load(path);
    ASSERT_TRUE(model.ok()) << model.status();
    ASSERT_TRUE(Optimize(*model, {.pipeline = "simplify"}).ok());
    absl::StatusOr<Model> again = RoundTrip(*model);
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_TRUE(Optimize(*again, {.pipeline = "simplify"}).ok());
    ConstantsFirst(*again);
    ConstantsFirst(*model);
    EXPECT_EQ(TextOf(*again, true), TextOf(*model, true)) << name;
  }
}

constexpr char kProgram[] = R"ir(
func.func() <{arg_attrs = [{core.name = "rows"}], function_type = (tensor<?x4xf32, ["batch", ""]>) -> (tensor<?x4xf32, ["batch", ""]>, tensor<?x4xf32, ["batch", ""]>, tensor<300x4xf32>), res_attrs = [{core.name = "sum"}, {core.name = "same"}, {core.name = "table"}], sym_name = "main"}> ({
^bb0(%x: tensor<?x4xf32, ["batch", ""]>):
  %w = core.constant() <{value = dense<0.5> : tensor<300x4xf32>}> : () -> tensor<300x4xf32>
  %i = core.constant() <{value = dense<7> : tensor<i64>}> : () -> tensor<i64>
  %r = ten.gather(%w, %i) : (tensor<300x4xf32>, tensor<i64>) -> tensor<4xf32>
  %0 = ten.add(%x, %r) : (tensor<?x4xf32, ["batch", ""]>, tensor<4xf32>) -> tensor<?x4xf32, ["batch", ""]>
  func.return(%0, %x, %w) : (tensor<?x4xf32, ["batch", ""]>, tensor<?x4xf32, ["batch", ""]>, tensor<300x4xf32>) -> ()
}) : () -> ()
)ir";

TEST_F(ExportOnnxTest, NamesAndSymbolsStay) {
  const absl::StatusOr<Model> model = LoadFromBytes(kProgram, "program.mlir");
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Model> again = RoundTrip(*model);
  ASSERT_TRUE(again.ok()) << again.status();
  const std::string text = TextOf(*again);
  EXPECT_THAT(text, HasSubstr("arg_attrs = [{core.name = \"rows\"}]"));
  EXPECT_THAT(text, HasSubstr("[{core.name = \"sum\"}, {core.name = \"same\"}, "
                              "{core.name = \"table\"}]"));
  EXPECT_THAT(text, HasSubstr("(tensor<?x4xf32, [\"batch\", \"\"]>)"));
}

// A graph may return an input under its own name.
TEST_F(ExportOnnxTest, AnInputIsAnOutput) {
  const absl::StatusOr<Model> model = LoadFromBytes(
      R"ir(func.func() <{arg_attrs = [{core.name = "x"}], res_attrs = [{core.name = "x"}], function_type = (tensor<3xf32>) -> tensor<3xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<3xf32>):
  func.return(%x) : (tensor<3xf32>) -> ()
}) : () -> ()
)ir",
      "same.mlir");
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Model> again = RoundTrip(*model);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(TextOf(*again).find("Identity"), std::string::npos);
  EXPECT_THAT(TextOf(*again), HasSubstr("core.name = \"x\""));
}

TEST_F(ExportOnnxTest, LargeModelsHaveTheirWeightsInAnotherFile) {
  const absl::StatusOr<Model> model = LoadFromBytes(kProgram, "program.mlir");
  ASSERT_TRUE(model.ok()) << model.status();
  const Tensor x = Tensor::Make(DType::kF32, {3, 4});
  std::fill_n(x.as<float>(), 12, 1.0f);
  const std::vector<Tensor> expected = Run(*model, {x});
  const absl::StatusOr<Model> again = RoundTrip(*model, {.max_inline_bytes = 1000});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(fs::file_size(Path("again.onnx.data")), 4800u);
  const std::vector<Tensor> actual = Run(*again, {x});
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_TRUE(Compare(actual[i], expected[i], 0, 0).pass) << i;
  // Weights are not written over those that are read.
  const absl::Status replaced = ExportOnnx(*again, Path("again.onnx"), {.max_inline_bytes = 1000});
  EXPECT_THAT(std::string(replaced.message()), HasSubstr("the model was read from this file"));
}

TEST_F(ExportOnnxTest, KeepsWhatTheModelSaysOfItself) {
  onnx::ModelInfo info;
  info.opset = 19;
  info.domain = "acme";
  info.model_version = 7;
  info.doc_string = "A test.";
  info.graph_name = "rows_and_table";
  info.metadata = {{"author", "us"}, {"use", "tests"}};
  absl::StatusOr<Model> text = LoadFromBytes(kProgram, "program.mlir");
  ASSERT_TRUE(text.ok()) << text.status();
  const Model model(text->shared_context(), OwnedOp(Clone(*text->module())), {}, nullptr,
                    std::make_shared<const onnx::ModelInfo>(info));
  const absl::StatusOr<Model> again = RoundTrip(model);
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_NE(again->info(), nullptr);
  EXPECT_EQ(again->info()->opset, 19);
  EXPECT_EQ(again->info()->domain, info.domain);
  EXPECT_EQ(again->info()->model_version, info.model_version);
  EXPECT_EQ(again->info()->doc_string, info.doc_string);
  EXPECT_EQ(again->info()->graph_name, info.graph_name);
  EXPECT_EQ(again->info()->metadata, info.metadata);
}

TEST_F(ExportOnnxTest, NamesWhatOnnxHasNot) {
  constexpr char kShift[] = R"ir(
func.func() <{function_type = (tensor<2xi32>) -> tensor<2xi32>, sym_name = "main"}> ({
^bb0(%x: tensor<2xi32>):
  %0 = ten.bit_shift(%x, %x) <{direction = "LEFT"}> : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32> loc("shifted")
  func.return(%0) : (tensor<2xi32>) -> ()
}) : () -> ()
)ir";
  std::string message;
  LoadOptions load;
  load.on_diagnostic = [&](const Context& context, const Diagnostic& diagnostic) {
    message += FormatDiagnostic(context, diagnostic);
  };
  const absl::StatusOr<Model> model = LoadFromBytes(kShift, "shift.mlir", load);
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::Status written = ExportOnnx(*model, Path("shift.onnx"));
  EXPECT_TRUE(absl::IsUnimplemented(written)) << written;
  EXPECT_THAT(message, HasSubstr("shifted: error: ten.bit_shift has no ONNX form: BitShift takes "
                                 "unsigned integers only"));
  EXPECT_FALSE(fs::exists(Path("shift.onnx")));
  EXPECT_TRUE(absl::IsInvalidArgument(ExportOnnx(*model, Path("shift.onnx"), {.opset = 12})));
}

TEST_F(ExportOnnxTest, ProgramWritesModels) {
  const std::string model = TENON_SOURCE_DIR "/tests/models/squeezenet_bn.eager.ts13/model.onnx";
  ASSERT_EQ(RunProgram("ir-opt " + model + " -O2 -o " + Path("small.onnx")), 0) << err_;
  EXPECT_EQ(out_, "");
  ASSERT_EQ(RunProgram("ir-opt " + Path("small.onnx") + " --elide-resources"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("nn.conv"));
  EXPECT_EQ(RunProgram("ir-opt " + model + " --onnx-opset=18"), 2);
  EXPECT_THAT(err_, HasSubstr("--onnx-opset has no effect where no ONNX model is written"));
  EXPECT_EQ(RunProgram("ir-opt " + model + " --onnx-opset=9 -o " + Path("small.onnx")), 2);
  EXPECT_THAT(err_, HasSubstr("13"));
}

}  // namespace
}  // namespace tenon
