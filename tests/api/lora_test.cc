// Low-rank adapters: files as PEFT saves them, put onto programs and taken off.
#include "frontends/cpp/parameters/lora.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "frontends/cpp/tenon.h"
#include "ir/base/element_access.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

// Two linear layers: one weight is [outputs, inputs] and transposed, the other one is [inputs,
// outputs], of f16.
constexpr char kTwoLayers[] = R"ir(
core.parameter() <{sym_name = "net.first.weight", type = f32, value = dense<0.5> : tensor<6x4xf32>}> : () -> ()
core.parameter() <{sym_name = "onnx::MatMul_7", type = f16, value = dense<0.25> : tensor<6x3xf16>}> : () -> ()
core.parameter() <{sym_name = "net.square.weight", type = f32, value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>}> : () -> ()
func.func() <{function_type = (tensor<?x4xf32, ["N", ""]>) -> tensor<?x3xf32, ["N", ""]>, sym_name = "main"}> ({
^bb0(%x: tensor<?x4xf32, ["N", ""]>):
  %0 = core.get_parameter() <{name = @net.first.weight}> : () -> tensor<6x4xf32>
  %1 = ten.transpose(%0) <{perm = array<i64: 1, 0>}> : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %2 = ten.matmul(%x, %1) : (tensor<?x4xf32, ["N", ""]>, tensor<4x6xf32>) -> tensor<?x6xf32, ["N", ""]>
  %3 = core.get_parameter() <{name = @"onnx::MatMul_7"}> : () -> tensor<6x3xf16>
  %4 = ten.cast(%3) <{to = f32}> : (tensor<6x3xf16>) -> tensor<6x3xf32>
  %5 = ten.matmul(%2, %4) : (tensor<?x6xf32, ["N", ""]>, tensor<6x3xf32>) -> tensor<?x3xf32, ["N", ""]>
  %6 = core.get_parameter() <{name = @net.square.weight}> : () -> tensor<3x3xf32>
  %7 = ten.matmul(%5, %6) : (tensor<?x3xf32, ["N", ""]>, tensor<3x3xf32>) -> tensor<?x3xf32, ["N", ""]>
  func.return(%7) : (tensor<?x3xf32, ["N", ""]>) -> ()
}) : () -> ()
)ir";

SafeTensor Matrix(const std::string& name, std::vector<int64_t> dims, float first) {
  int64_t size = 1;
  for (const int64_t dim : dims) size *= dim;
  std::vector<float> values(static_cast<size_t>(size));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = first + 0.0625f * static_cast<float>(i % 7) - 0.03125f * static_cast<float>(i % 3);
  return {name, DType::kF32, std::move(dims), Blob::Copy(std::as_bytes(std::span(values)))};
}

float At(const SafeTensor& matrix, int64_t row, int64_t column) {
  float value;
  std::memcpy(&value, matrix.bytes->bytes().data() + 4 * (row * matrix.dims[1] + column), 4);
  return value;
}

// Element (o, i) of B A.
double Product(const SafeTensor& a, const SafeTensor& b, int64_t o, int64_t i) {
  double sum = 0;
  for (int64_t k = 0; k < a.dims[0]; ++k) sum += double{At(b, o, k)} * double{At(a, k, i)};
  return sum;
}

class LoraTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(::testing::TempDir()) /
        (std::string("lora_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Written(const std::vector<SafeTensor>& tensors) const {
    std::string path = (folder_ / "adapter_model.safetensors").string();
    EXPECT_TRUE(WriteSafeTensors(path, tensors).ok());
    return path;
  }
  void WriteSettings(const std::string& text) const { std::ofstream(SettingsFile()) << text; }
  std::filesystem::path SettingsFile() const { return folder_ / "adapter_config.json"; }
  static absl::StatusOr<Program> Layers(std::string_view text = kTwoLayers) {
    LoadOptions load;
    load.replaceable = {"*"};
    absl::StatusOr<Model> model = LoadFromBytes(text, "layers.mlir", load);
    if (!model.ok()) return model.status();
    if (const absl::Status status = Optimize(*model); !status.ok()) return status;
    return Compile(*std::move(model), {.threads = 1});
  }
  static std::vector<float> Run(const Program& program) {
    Tensor x = Tensor::Make(DType::kF32, {2, 4});
    for (int i = 0; i < 8; ++i) x.as<float>()[i] = static_cast<float>(i) - 3;
    const absl::StatusOr<std::vector<Tensor>> y = program.Run(std::vector{x});
    EXPECT_TRUE(y.ok()) << y.status();
    if (!y.ok()) return {};
    return {y->front().as<float>(), y->front().as<float>() + y->front().numel()};
  }

  const SafeTensor a1_ = Matrix("base_model.model.net.first.lora_A.weight", {2, 4}, 0.5f);
  const SafeTensor b1_ = Matrix("base_model.model.net.first.lora_B.weight", {6, 2}, -0.25f);
  const SafeTensor a2_ = Matrix("base_model.model.net.second.lora_A.default.weight", {1, 6}, 1);
  const SafeTensor b2_ = Matrix("base_model.model.net.second.lora_B.default.weight", {3, 1}, 2);
  const SafeTensor a3_ = Matrix("net.square.lora_A.weight", {1, 3}, 1);
  const SafeTensor b3_ = Matrix("net.square.lora_B.weight", {3, 1}, 1);

 private:
  std::filesystem::path folder_;
};

TEST_F(LoraTest, IsAsMergedWeightsAndGoesWithoutATrace) {
  WriteSettings(R"({"peft_type": "LORA", "r": 2, "lora_alpha": 3,
                    "alpha_pattern": {"net.second": 0.5}, "target_modules": ["first"]})");
  const absl::StatusOr<Adapter> adapter = ReadAdapter(Written({a1_, b1_, a2_, b2_, a3_, b3_}));
  ASSERT_TRUE(adapter.ok()) << adapter.status();
  ASSERT_EQ(adapter->updates.size(), 3u);
  EXPECT_EQ(adapter->updates[0].scale, 1.5);
  EXPECT_EQ(adapter->updates[1].scale, 0.5);
  EXPECT_EQ(adapter->updates[2].scale, 3);
  absl::StatusOr<Program> program = Layers();
  ASSERT_TRUE(program.ok()) << program.status();
  const std::vector<float> before = Run(*program);
  std::vector<std::vector<std::byte>> bytes;
  for (const TensorSpec& spec : program->parameters()) {
    const Tensor value = *program->Parameter(spec.name);
    bytes.emplace_back(value.as<std::byte>(), value.as<std::byte>() + value.num_bytes());
  }

  const absl::StatusOr<std::vector<ParameterValue>> old =
      ApplyAdapter(*program, *adapter, {.weights = {{"net.second", {"onnx::MatMul_7"}}}});
  ASSERT_TRUE(old.ok()) << old.status();
  const std::vector<float> with = Run(*program);
  EXPECT_NE(with, before);
  // Each element is the rounded sum.
  const Tensor first = *program->Parameter("net.first.weight");
  for (int64_t o = 0; o < 6; ++o) {
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(first.as<float>()[4 * o + i],
                static_cast<float>(0.5 + 1.5 * Product(a1_, b1_, o, i)));
    }
  }
  const Tensor second = *program->Parameter("onnx::MatMul_7");
  for (int64_t o = 0; o < 3; ++o) {
    for (int64_t i = 0; i < 6; ++i) {
      EXPECT_EQ(second.as<uint16_t>()[3 * i + o],
                DoubleToHalf(0.25 + 0.5 * Product(a2_, b2_, o, i)));
    }
  }
  const Tensor square = *program->Parameter("net.square.weight");
  for (int64_t o = 0; o < 3; ++o) {
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(
          square.as<float>()[3 * i + o],
          static_cast<float>(static_cast<double>(3 * i + o + 1) + 3 * Product(a3_, b3_, o, i)));
    }
  }
  // As a program that begins with the merged weights.
  absl::StatusOr<Program> merged = Layers();
  ASSERT_TRUE(merged.ok());
  ASSERT_TRUE(merged
                  ->ReplaceParameters(std::vector<ParameterValue>{{"net.first.weight", first},
                                                                  {"onnx::MatMul_7", second},
                                                                  {"net.square.weight", square}})
                  .ok());
  EXPECT_EQ(Run(*merged), with);

  ASSERT_TRUE(program->ReplaceParameters(*old).ok());
  EXPECT_EQ(Run(*program), before);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const Tensor value = *program->Parameter(program->parameters()[i].name);
    EXPECT_EQ(std::memcmp(value.data(), bytes[i].data(), bytes[i].size()), 0);
  }
}

TEST_F(LoraTest, Scales) {
  const std::string path = Written({a1_, b1_});
  const auto scale = [&](const AdapterOptions& options = {}) {
    const absl::StatusOr<Adapter> adapter = ReadAdapter(path, options);
    EXPECT_TRUE(adapter.ok()) << adapter.status();
    return adapter.ok() ? adapter->updates[0].scale : 0;
  };
  EXPECT_EQ(scale(), 1);
  EXPECT_EQ(scale({.alpha = 8}), 4);
  WriteSettings(R"({"lora_alpha": 16})");
  EXPECT_EQ(scale(), 8);
  EXPECT_EQ(scale({.alpha = 8}), 4);
  WriteSettings(R"({"lora_alpha": 16, "use_rslora": true})");
  EXPECT_DOUBLE_EQ(scale(), 16 / std::sqrt(2.0));
}

// A link to a file that is not there is not the absence of settings.
TEST_F(LoraTest, SettingsThatLeadNowhere) {
  const std::string path = Written({a1_, b1_});
  for (const char* target : {"nowhere.json", "adapter_config.json"}) {
    std::filesystem::create_symlink(target, SettingsFile());
    EXPECT_FALSE(ReadAdapter(path).ok()) << target;
    std::filesystem::remove(SettingsFile());
  }
  EXPECT_TRUE(ReadAdapter(path).ok());
}

// The first pattern by name counts, of those that end the module's name.
TEST_F(LoraTest, PatternsOfAlpha) {
  const std::string path = Written({a1_, b1_});  // of net.first, rank 2
  for (const auto& [patterns, alpha] : std::vector<std::pair<std::string, double>>{
           {R"({"first": 6})", 6},
           {R"({"net.first": 8})", 8},
           {R"({"first": 6, "net.first": 8})", 6},
           {R"({"irst": 6, "net": 6, "st.first": 6, "": 6})", 4}}) {
    WriteSettings(R"({"lora_alpha": 4, "alpha_pattern": )" + patterns + "}");
    const absl::StatusOr<Adapter> adapter = ReadAdapter(path);
    ASSERT_TRUE(adapter.ok()) << adapter.status();
    EXPECT_EQ(adapter->updates[0].scale, alpha / 2) << patterns;
  }
}

TEST_F(LoraTest, FilesThatAreNoAdapters) {
  const auto read = [&](const std::vector<SafeTensor>& tensors) {
    return std::string(ReadAdapter(Written(tensors)).status().message());
  };
  EXPECT_THAT(read({a1_}), HasSubstr("module 'net.first' has no lora_B"));
  EXPECT_THAT(read({b1_}), HasSubstr("module 'net.first' has no lora_A"));
  EXPECT_THAT(read({a1_, b1_, Matrix("classifier.weight", {2, 2}, 0)}),
              HasSubstr("tensor 'classifier.weight' is no part of a low-rank update"));
  EXPECT_THAT(read({a1_, Matrix("net.first.lora_B.weight", {6, 3}, 0)}),
              HasSubstr("are [2, 4] and [6, 3]"));
  EXPECT_THAT(read({a1_, b1_, Matrix("net.first.lora_A.default.weight", {2, 4}, 0)}),
              HasSubstr("has two matrices lora_A"));
  EXPECT_THAT(read({Matrix("c.lora_A.weight", {2, 4, 3, 3}, 0),
                    Matrix("c.lora_B.weight", {6, 2, 1, 1}, 0)}),
              HasSubstr("is a convolution"));
  EXPECT_THAT(read({}), HasSubstr("the adapter changes no weight"));
  for (const auto& [settings, message] : std::vector<std::pair<std::string, std::string>>{
           {"[1]", "not an object of JSON"},
           {"{", "the settings are not JSON: line 1, column 2"},
           {"{\n \"lora_alpha\": Infinity}", "the settings are not JSON: line 2, column 16"},
           {"{\"lora_alpha\": 1e999}", "the settings have a number that no double holds"},
           {R"({"peft_type": "IA3"})", "peft_type is not LORA"},
           {R"({"use_dora": true})", "adapters with use_dora"},
           {R"({"bias": "all"})", "adapters with biases"},
           {R"({"lora_alpha": "4"})", "lora_alpha is not a number"},
           {R"({"lora_alpha": 1e308, "alpha_pattern": {"a|b": 3}})", "the expression 'a|b'"},
           {std::string(100, '['), "not an object of JSON"},
           {R"({"lora_alpha": 1, "lora_alpha": 2})", "the settings have 'lora_alpha' twice"},
       }) {
    WriteSettings(settings);
    EXPECT_THAT(read({a1_, b1_}), HasSubstr(message)) << settings;
  }
}

TEST_F(LoraTest, WeightsThatDoNotFitAreLeftAlone) {
  absl::StatusOr<Program> program = Layers();
  ASSERT_TRUE(program.ok()) << program.status();
  const std::vector<float> before = Run(*program);
  const auto apply = [&](const std::vector<SafeTensor>& tensors, const ApplyOptions& options = {}) {
    const absl::StatusOr<Adapter> adapter = ReadAdapter(Written(tensors));
    EXPECT_TRUE(adapter.ok()) << adapter.status();
    std::string message(ApplyAdapter(*program, *adapter, options).status().message());
    EXPECT_EQ(Run(*program), before);
    return message;
  };
  EXPECT_THAT(apply({a1_, b1_, a2_, b2_}),
              HasSubstr("'net.second.weight' is no replaceable parameter of the program, and "
                        "module 'net.second' of the adapter needs it"));
  EXPECT_THAT(apply({a1_, b1_}, {.weights = {{"net.frist", {"x"}}}}),
              HasSubstr("the adapter has no module 'net.frist'; did you mean 'net.first'?"));
  EXPECT_THAT(apply({a1_, b1_}, {.weights = {{"net.first", {"onnx::MatMul_7"}}}}),
              HasSubstr("parameter 'onnx::MatMul_7' is 6x3xf16, and module 'net.first' of the "
                        "adapter has 4 inputs and 6 outputs"));
  EXPECT_THAT(apply({a1_, b1_}, {.weights = {{"net.first", {"net.first.weight", true}}}}),
              HasSubstr("has 4 inputs and 6 outputs"));
  // The end of a name is enough, if it is that of one weight.
  const absl::StatusOr<Adapter> short_name = ReadAdapter(Written(
      {Matrix("first.lora_A.weight", {2, 4}, 1), Matrix("first.lora_B.weight", {6, 2}, 0.5f)}));
  ASSERT_TRUE(short_name.ok()) << short_name.status();
  const absl::StatusOr<std::vector<ParameterValue>> applied = ApplyAdapter(*program, *short_name);
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->front().name, "net.first.weight");
  EXPECT_NE(Run(*program), before);
}

// A square weight, read by these lines.
std::string Square(std::string_view readers) {
  return fmt::format(R"ir(
core.parameter() <{{sym_name = "net.square.weight", type = f32, value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>}}> : () -> ()
func.func() <{{function_type = (tensor<3x3xf32>) -> tensor<3x3xf32>, sym_name = "main"}}> ({{
^bb0(%x: tensor<3x3xf32>):
  %w = core.get_parameter() <{{name = @net.square.weight}}> : () -> tensor<3x3xf32>
{}
}}) : () -> ()
)ir",
                     readers);
}

TEST_F(LoraTest, ReadersTellTheAxesOfASquare) {
  const struct {
    std::string readers;
    std::optional<bool> inputs_first;
  } kCases[] = {
      {"  %y = ten.matmul(%x, %w) : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>\n"
       "  func.return(%y) : (tensor<3x3xf32>) -> ()",
       true},
      {"  %y = ten.matmul(%x, %w) <{transpose_b = true}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> "
       "tensor<3x3xf32>\n"
       "  func.return(%y) : (tensor<3x3xf32>) -> ()",
       false},
      {"  %y = ten.matmul(%w, %x) : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>\n"
       "  func.return(%y) : (tensor<3x3xf32>) -> ()",
       false},
      {"  %c = ten.neg(%w) : (tensor<3x3xf32>) -> tensor<3x3xf32>\n"
       "  %t = ten.transpose(%c) <{perm = array<i64: 1, 0>}> : (tensor<3x3xf32>) -> "
       "tensor<3x3xf32>\n"
       "  %y = ten.matmul(%x, %t) : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>\n"
       "  func.return(%y) : (tensor<3x3xf32>) -> ()",
       false},
      {"  %y = fused.linear(%x, %w) <{transpose_w = true}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> "
       "tensor<3x3xf32>\n"
       "  func.return(%y) : (tensor<3x3xf32>) -> ()",
       false},
      // Readers that differ, and one that tells nothing.
      {"  %z = ten.matmul(%x, %w) : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>\n"
       "  %y = ten.matmul(%w, %z) : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>\n"
       "  func.return(%y) : (tensor<3x3xf32>) -> ()",
       std::nullopt},
      {"  %y = ten.add(%x, %w) : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>\n"
       "  func.return(%y) : (tensor<3x3xf32>) -> ()",
       std::nullopt},
  };
  const absl::StatusOr<Adapter> adapter = ReadAdapter(Written({a3_, b3_}));
  ASSERT_TRUE(adapter.ok()) << adapter.status();
  for (const auto& [readers, inputs_first] : kCases) {
    SCOPED_TRACE(readers);
    absl::StatusOr<Program> program = Layers(Square(readers));
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_EQ(program->parameters()[0].inputs_first, inputs_first);
    const absl::Status applied = ApplyAdapter(*program, *adapter).status();
    EXPECT_EQ(applied.ok(), inputs_first.has_value()) << applied;
    if (!inputs_first) {
      EXPECT_THAT(std::string(applied.message()),
                  HasSubstr("(--adapter-weight=net.square=net.square.weight^N says the first, ^T "
                            "the second"));
      continue;
    }
    const Tensor square = *program->Parameter("net.square.weight");
    for (int64_t i = 0; i < 9; ++i) {
      const int64_t row = i / 3, column = i % 3;
      EXPECT_EQ(square.as<float>()[i],
                static_cast<float>(static_cast<double>(i + 1) +
                                   (*inputs_first ? Product(a3_, b3_, column, row)
                                                  : Product(a3_, b3_, row, column))));
    }
  }
}

}  // namespace
}  // namespace tenon
