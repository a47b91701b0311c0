// Saved programs that were lowered for a GPU, on an emulated device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "frontends/cpp/files/saved_program.h"
#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/cpp/tenon.h"
#include "tests/gpu/emulated_device.h"

namespace tenon {
namespace {

using kernels::gpu::testing::EmulatedDevice;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SavedDeviceProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "saved_device.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    absl::StatusOr<Model> model = Load(TENON_SOURCE_DIR "/tests/models/bert.eager.ts17/model.onnx");
    ASSERT_TRUE(model.ok()) << model.status();
    ASSERT_TRUE(Optimize(*model).ok());
    model_ = std::make_unique<Model>(*std::move(model));
    const absl::StatusOr<Sample> sample = SampleInputs(model_->main(), 0);
    ASSERT_TRUE(sample.ok()) << sample.status();
    inputs_ = sample->inputs;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const char* name) { return (folder_ / name).string(); }

  std::vector<Tensor> RunOf(const Program& program) {
    absl::StatusOr<std::vector<Tensor>> outputs = program.Run(inputs_);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>();
  }
  // The results of a compiled program.
  std::vector<Tensor> Compiled(std::shared_ptr<kernels::gpu::Device> device) {
    CompileOptions options;
    options.threads = 1;
    options.gpu = std::move(device);
    const absl::StatusOr<Program> program = Compile(*model_, options);
    EXPECT_TRUE(program.ok()) << program.status();
    return program.ok() ? RunOf(*program) : std::vector<Tensor>();
  }
  // The results of a saved program; `lowered_again` receives why it was.
  std::vector<Tensor> Loaded(const char* name, std::shared_ptr<kernels::gpu::Device> device,
                             std::string& lowered_again) {
    LoadProgramOptions options;
    options.threads = 1;
    options.verify_weights = true;
    options.gpu = std::move(device);
    LoadProgramReport report;
    const absl::StatusOr<Program> program = LoadProgram(Path(name), options, &report);
    EXPECT_TRUE(program.ok()) << program.status();
    lowered_again = report.lowered_again;
    return program.ok() ? RunOf(*program) : std::vector<Tensor>();
  }
  static void ExpectSameBits(const std::vector<Tensor>& actual,
                             const std::vector<Tensor>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(actual[i].type_text(), expected[i].type_text());
      EXPECT_EQ(std::memcmp(actual[i].data(), expected[i].data(), actual[i].num_bytes()), 0) << i;
    }
  }

  std::filesystem::path folder_;
  std::unique_ptr<Model> model_;
  std::vector<Tensor> inputs_;
};

TEST_F(SavedDeviceProgramTest, RunsAsItWasSaved) {
  const auto device = std::make_shared<EmulatedDevice>();
  SaveProgramOptions save;
  save.threads = 1;
  save.runs = {inputs_};
  save.gpu = device;
  const absl::Status saved = SaveProgram(*model_, Path("cuda.tnp"), save);
  ASSERT_TRUE(saved.ok()) << saved;
  std::string lowered_again;
  ExpectSameBits(Loaded("cuda.tnp", std::make_shared<EmulatedDevice>(), lowered_again),
                 Compiled(device));
  EXPECT_THAT(lowered_again, IsEmpty());
}

TEST_F(SavedDeviceProgramTest, AnotherDeviceLowersAgain) {
  const auto device = std::make_shared<EmulatedDevice>();
  SaveProgramOptions save;
  save.threads = 1;
  save.gpu = device;
  ASSERT_TRUE(SaveProgram(*model_, Path("cuda.tnp"), save).ok());
  std::string lowered_again;
  ExpectSameBits(Loaded("cuda.tnp", nullptr, lowered_again), Compiled(nullptr));
  EXPECT_EQ(lowered_again, "it was saved for the device cuda, and this is cpu");
  save.gpu = nullptr;
  ASSERT_TRUE(SaveProgram(*model_, Path("cpu.tnp"), save).ok());
  ExpectSameBits(Loaded("cpu.tnp", device, lowered_again), Compiled(device));
  EXPECT_THAT(lowered_again, HasSubstr("saved for the device cpu, and this is cuda"));
}

}  // namespace
}  // namespace tenon
