// The program ir-run: exit status, reports, files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "frontends/cpp/version.h"
#include "tests/api/program_fixture.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr char kBertFolder[] = "tests/models/bert.eager.ts17";

class IrRun : public ProgramFixture {
 protected:
  int Run(const std::string& arguments) { return RunProgram("ir-run --threads=1 " + arguments); }
};

TEST_F(IrRun, ChecksAModel) {
  EXPECT_EQ(Run(std::string(kBertFolder) + "/model.onnx -O2 --runs=1 --check " + kBertFolder +
                "/test_data_set_0"),
            0)
      << err_;
  EXPECT_THAT(out_, HasSubstr("fused.attention"));
  EXPECT_THAT(out_, HasSubstr("against expected"));
  EXPECT_THAT(out_, HasSubstr("PASS"));
}

TEST_F(IrRun, OptimisesWithRulesOfAFile) {
  const fs::path rules = folder_ / "own.drr";
  std::ofstream(rules)
      << "rule own { match fused.linear(x, const w, b, none) {activation = \"gelu\"}\n"
         "  replace gelu(fused.linear(x, w, b, none)) lowers \"linears\" stage final }";
  EXPECT_EQ(
      Run(std::string(kBertFolder) + "/model.onnx --runs=1 --json=- --rules=" + rules.string()), 0)
      << err_;
  const nlohmann::json json = nlohmann::json::parse(out_, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << out_;
  EXPECT_EQ(json["rules"]["own"], 2);
  EXPECT_EQ(json["ops_after"]["nn.gelu"], 2);
  EXPECT_EQ(Run(std::string(kBertFolder) + "/model.onnx --runs=1 -O1 --rules=" + rules.string()),
            0);
  EXPECT_THAT(err_, HasSubstr("own.drr:1) is not applied: it waits for final-rules"));
  EXPECT_EQ(Run(std::string(kBertFolder) + "/model.onnx --runs=1 --rules=/nowhere"), 2);
  EXPECT_THAT(err_, HasSubstr("/nowhere: rules cannot be read"));
}

TEST_F(IrRun, WritesJsonOnly) {
  EXPECT_EQ(Run(std::string(kBertFolder) + "/model.onnx --runs=1 --json=- --check " + kBertFolder),
            0)
      << err_;
  const nlohmann::json json = nlohmann::json::parse(out_, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << out_;
  EXPECT_GT(json["original"]["median_ms"].get<double>(), 0);
  EXPECT_GT(json["optimized"]["median_ms"].get<double>(), 0);
  EXPECT_LT(json["outputs"][0]["max_abs_error"].get<double>(), 1e-4);
  EXPECT_LT(json["outputs"][0]["max_rel_error"].get<double>(), 1e-4);
  EXPECT_EQ(json["ops_after"]["fused.attention"], 2);
  EXPECT_GT(json["ops_before"]["ten.matmul"].get<int>(), 0);
  EXPECT_FALSE(json["rules"].empty());
}

TEST_F(IrRun, AFileThatCannotBeWrittenIsFoundBeforeTheRun) {
  for (const std::string option : {"--json=", "--profile="}) {
    const std::string file = "/nowhere/a.json";
    EXPECT_EQ(Run("/nowhere/model.onnx " + option + file), 2);
    EXPECT_THAT(err_, HasSubstr(file + ": cannot be created")) << option;
    EXPECT_THAT(err_, Not(HasSubstr("model.onnx"))) << option;
  }
}

TEST_F(IrRun, SaysWhyThereIsNoGpu) {
  const int status = Run(std::string(kBertFolder) + "/model.onnx --runs=1 --device cuda");
  if (status == 0) GTEST_SKIP() << "there is a device";
  EXPECT_EQ(status, 4) << err_;
  EXPECT_THAT(err_, HasSubstr("--device cuda: "));
  EXPECT_EQ(Run(std::string(kBertFolder) + "/model.onnx --device tpu"), 2);
  EXPECT_THAT(err_, HasSubstr("expected cpu or cuda"));
}

TEST_F(IrRun, FindsMismatches) {
  const std::string model = std::string(kBertFolder) + "/model.onnx --runs=1 ";
  const fs::path saved = folder_ / "saved", other = folder_ / "other";
  const std::string shape = "--shape batch=1,seq=4 ";
  ASSERT_EQ(Run(model + shape + "--seed 1 --save-outputs " + saved.string()), 0) << err_;
  ASSERT_EQ(Run(model + shape + "--seed 7 --save-outputs " + other.string()), 0) << err_;
  EXPECT_EQ(Run(model + "--check " + saved.string()), 0) << out_ << err_;
  const std::string input = "--input input_ids=" + (saved / "input_0.pb").string();
  EXPECT_EQ(Run(model + input + " --shape batch=1,seq=4 --runs=1"), 0) << err_;
  // Over the file that is read.
  EXPECT_EQ(Run(model + input + " --shape batch=1,seq=4 --runs=1 --save-outputs " + saved.string()),
            0)
      << err_;
  EXPECT_EQ(Run(model + input + " --shape batch=3 --runs=1"), 2);
  EXPECT_THAT(err_, HasSubstr("'batch' is 1 in"));
  // The values of other inputs, then those of another shape.
  const auto replace = fs::copy_options::overwrite_existing;
  fs::copy_file(other / "output_0.pb", saved / "output_0.pb", replace);
  EXPECT_EQ(Run(model + "--check " + saved.string()), 1);
  EXPECT_THAT(out_, HasSubstr("elements differ"));
  fs::copy_file(fs::path(kBertFolder) / "test_data_set_0/output_0.pb", saved / "output_0.pb",
                replace);
  EXPECT_EQ(Run(model + "--check " + saved.string()), 1);
  EXPECT_THAT(out_, HasSubstr("expected 2x9x32xf32"));
}

TEST_F(IrRun, RunsIrText) {
  const std::string file = Write("relu.mlir", R"ir(
func.func() <{function_type = (tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]>, sym_name = "main"}> ({
^bb0(%a: tensor<?xf32, ["N"]>):
  %0 = ten.relu(%a) : (tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]>
  func.return(%0) : (tensor<?xf32, ["N"]>) -> ()
}) : () -> ()
)ir");
  EXPECT_EQ(Run(file + " --runs=1 --shape N=5"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("5xf32"));
  EXPECT_EQ(Run("- --runs=1 --shape N=5 < " + file), 0) << err_;
  EXPECT_EQ(Run(file + " --runs=1 --dim=N=5"), 0) << err_;  // as ir-bench calls it
  EXPECT_EQ(Run(file + " --shape M=5"), 2);
  EXPECT_THAT(err_, HasSubstr("'M'"));
  EXPECT_EQ(Run(file + " --shape N=99999999999"), 2);
  EXPECT_THAT(err_, HasSubstr("extent 'N' 99999999999 (expected 0 to 2147483648)"));
}

// A fused SiLU rounds once where sigmoid and product round twice.
TEST_F(IrRun, NarrowOutputsMayDifferByStepsOfTheirType) {
  const auto silu = [&](const std::string& dtype) {
    const std::string x = "tensor<4x64x" + dtype + ">", w = "tensor<64x64x" + dtype + ">";
    return Write("silu_" + dtype + ".mlir",
                 "func.func() <{function_type = (" + x + ", " + w + ") -> " + x +
                     ", sym_name = \"main\"}> ({\n^bb0(%x: " + x + ", %w: " + w +
                     "):\n  %0 = ten.matmul(%x, %w) : (" + x + ", " + w + ") -> " + x +
                     "\n  %1 = ten.sigmoid(%0) : (" + x + ") -> " + x +
                     "\n  %2 = ten.mul(%0, %1) : (" + x + ", " + x + ") -> " + x +
                     "\n  func.return(%2) : (" + x + ") -> ()\n}) : () -> ()\n");
  };
  for (const char* dtype : {"f16", "bf16"}) {
    const std::string run = silu(dtype) + " --runs=1";
    EXPECT_EQ(Run(run), 0) << out_ << err_;
    EXPECT_EQ(Run(run + " --atol=5e-5 --rtol=1e-4"), 1) << out_;
  }
  EXPECT_EQ(Run("--help"), 0);
  EXPECT_THAT(out_, HasSubstr("f16 2e-3, bf16 1.6e-2"));
}

TEST_F(IrRun, UnsupportedOpsAreThree) {
  const std::string file = Write("opaque.mlir", R"ir(
func.func() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
^bb0(%a: tensor<2xf32>):
  %0 = onnx.NoSuchOperator(%a) : (tensor<2xf32>) -> tensor<2xf32>
  func.return(%0) : (tensor<2xf32>) -> ()
}) : () -> ()
)ir");
  EXPECT_EQ(Run(file + " -O0"), 3) << err_;
  EXPECT_THAT(err_, HasSubstr("onnx.NoSuchOperator"));
  EXPECT_THAT(err_, HasSubstr("opaque.mlir:4"));
}

TEST_F(IrRun, InputsThatAreNoRankedTensorsAreThree) {
  for (const std::string type : {"i1", "tensor<*xf32>"}) {
    const std::string file =
        Write("input.mlir", "func.func() <{function_type = (" + type + ") -> " + type +
                                ", sym_name = \"main\"}> ({\n^bb0(%x: " + type +
                                "):\n  func.return(%x) : (" + type + ") -> ()\n}) : () -> ()\n");
    EXPECT_EQ(Run(file + " --runs=1"), 3) << err_;
    EXPECT_THAT(err_, HasSubstr("input 0 is of type " + type + " (expected a ranked tensor)"));
  }
}

TEST_F(IrRun, BadInputIsTwo) {
  EXPECT_EQ(Run("/nowhere/model.onnx"), 2);
  EXPECT_THAT(err_, HasSubstr("/nowhere/model.onnx"));
  EXPECT_EQ(Run(""), 2);
  EXPECT_EQ(Run("--frobnicate x"), 2);
  EXPECT_EQ(Run(Write("empty.onnx", "")), 2);
  const std::string bytes = ReadFile(std::string(kBertFolder) + "/model.onnx");
  EXPECT_EQ(Run(Write("cut.onnx", bytes.substr(0, bytes.size() / 2))), 2);
  EXPECT_THAT(err_, HasSubstr("cut.onnx"));
  const std::string model = std::string(kBertFolder) + "/model.onnx";
  EXPECT_EQ(Run(model + " --check /nowhere"), 2);
  EXPECT_EQ(Run(model + " --check " + folder_.string()), 2);
  EXPECT_EQ(Run(model + " --atol=-1"), 2);
  EXPECT_EQ(Run(model + " --check " + kBertFolder + " --shape batch=1"), 2);
  EXPECT_THAT(err_, HasSubstr("--check and --input or --shape both give inputs"));
  EXPECT_EQ(Run(model + " --input a=x.npy --input a=y.npy"), 2);
  EXPECT_THAT(err_, HasSubstr("--input names a twice (expected once)"));
  EXPECT_EQ(Run(model + " --seed=1 --seed=2"), 2);
  EXPECT_THAT(err_, HasSubstr("--seed is given twice: '1', then '2' (expected once)"));
  EXPECT_EQ(Run(model + " --input nope=x.npy"), 2);
  EXPECT_THAT(err_, HasSubstr("input_ids"));
  EXPECT_EQ(Run(model + " --save-outputs /proc/nowhere --runs=1"), 2);
}

TEST_F(IrRun, RunsTheOnnxLayout) {
  EXPECT_EQ(Run("--atol 1e-5 --onnx-test tests/models/bert.eager.ts17 tests/models/vit.eager.ts17"),
            0)
      << out_;
  EXPECT_THAT(out_, HasSubstr("PASS vit.eager.ts17"));
  EXPECT_THAT(out_, HasSubstr("2 passed, 0 failed, 0 skipped"));
  EXPECT_EQ(Run("--onnx-test " + folder_.string()), 2);
}

TEST_F(IrRun, OnnxCasesNeedAllOfTheExpectedValues) {
  const fs::path test_case = folder_ / "no_past";
  fs::create_directories(test_case);
  fs::copy("tests/models/llama_past.sdpa.ts17", test_case, fs::copy_options::recursive);
  ASSERT_TRUE(fs::remove(test_case / "test_data_set_0" / "output_1.pb"));
  EXPECT_EQ(Run("--atol 1e-5 --onnx-test " + test_case.string()), 1);
  EXPECT_THAT(out_, HasSubstr("FAIL no_past: "));
  EXPECT_THAT(out_, HasSubstr("test_data_set_0: no file for output"));
  EXPECT_THAT(out_, HasSubstr("(expected output_1.pb)"));
  // --check does not pass what it compares with nothing either.
  EXPECT_EQ(Run((test_case / "model.onnx").string() + " --runs=1 --check " +
                (test_case / "test_data_set_0").string()),
            2);
  EXPECT_THAT(err_, HasSubstr("test_data_set_0: no file for output"));
}

TEST_F(IrRun, HelpAndVersion) {
  EXPECT_EQ(Run("--help"), 0);
  EXPECT_THAT(out_, HasSubstr("--check"));
  EXPECT_EQ(Run("--version"), 0);
  EXPECT_THAT(out_, HasSubstr(TENON_VERSION));
}

}  // namespace
}  // namespace tenon
