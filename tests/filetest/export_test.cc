// Each program of tests/golden that runs, written as ONNX and read again, has the same results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "frontends/cpp/files/export_onnx.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/compare.h"
#include "tests/filetest/golden_file.h"
#include "tests/filetest/runner.h"

namespace tenon::filetest {
namespace {

namespace fs = std::filesystem;

class ExportTest : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "export_test.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static absl::StatusOr<std::vector<Tensor>> Run(const Model& model) {
    absl::StatusOr<Program> program = Compile(model, {.threads = 1, .reference = true});
    if (!program.ok()) return program.status();
    return program->Run({});
  }

  // Compares the results of a program with those of its ONNX model.
  void Check(const std::string& text, const std::string& where) {
    const absl::StatusOr<Model> model = LoadFromBytes(text, "case.mlir");
    ASSERT_TRUE(model.ok()) << where << model.status();
    const absl::StatusOr<std::vector<Tensor>> expected = Run(*model);
    if (!expected.ok()) return;  // the case is about an error of the run
    const std::string path = (folder_ / "case.onnx").string();
    const absl::Status written = ExportOnnx(*model, path, {.opset = GetParam()});
    if (!written.ok()) {
      EXPECT_THAT(std::string(written.message()), testing::HasSubstr("has no ONNX form")) << where;
      refused_.push_back(std::string(written.message()));
      return;
    }
    const absl::StatusOr<Model> again = Load(path);
    ASSERT_TRUE(again.ok()) << where << again.status();
    const absl::StatusOr<std::vector<Tensor>> actual = Run(*again);
    ASSERT_TRUE(actual.ok()) << where << actual.status();
    ASSERT_EQ(actual->size(), expected->size()) << where;
    for (size_t i = 0; i < actual->size(); ++i) {
      const Difference difference = Compare((*actual)[i], (*expected)[i], 1e-5, 1e-5);
      EXPECT_TRUE(difference.pass) << where << "result " << i << ": " << difference.problem;
    }
    ++compared_;
  }

  fs::path folder_;
  int compared_ = 0;
  std::vector<std::string> refused_;
};

TEST_P(ExportTest, GoldenPrograms) {
  const std::string root = TENON_SOURCE_DIR "/tests/golden";
  for (const std::string& file : ListGoldenFiles(root)) {
    std::ifstream in(root + "/" + file, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    const absl::StatusOr<GoldenFile> golden = ParseGoldenFile(text.str());
    ASSERT_TRUE(golden.ok()) << file;
    if (golden->kind != "run") continue;
    for (const Case& c : golden->cases) {
      if (!ExpectedErrors(c).empty()) continue;
      Check(CodeText(c), file + ":" + std::to_string(c.first_line) + ": ");
    }
  }
  EXPECT_GE(compared_, 35);
  // What the newest opset cannot express.
  if (GetParam() > 20) {
    for (const std::string& message : refused_) {
      EXPECT_THAT(message,
                  testing::AnyOf(testing::HasSubstr("BitShift takes unsigned integers only"),
                                 testing::HasSubstr("which strings its spans mean"),
                                 testing::HasSubstr("func.call has no ONNX form"),
                                 testing::ContainsRegex("cf\\.(cond_)?br has no ONNX form")));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Opsets, ExportTest, testing::Values(13, 15, 17, 20, 28),
                         [](const testing::TestParamInfo<int64_t>& info) {
                           return "Opset" + std::to_string(info.param);
                         });

}  // namespace
}  // namespace tenon::filetest
