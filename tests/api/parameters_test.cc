// Parameters of modules and files of safetensors.
#include "frontends/cpp/parameters/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "frontends/cpp/tenon.h"
#include "ir/core/block.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/core_ops.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

constexpr char kParameterProgram[] = R"ir(
core.parameter() <{sym_name = "scale", type = f32, value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> ()
core.parameter() <{sym_name = "open", type = f32}> : () -> ()
func.func() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<2xf32>):
  %0 = core.get_parameter() <{name = @scale}> : () -> tensor<2xf32>
  %1 = core.get_parameter() <{name = @open}> : () -> tensor<2xf32>
  %2 = ten.mul(%x, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = ten.add(%2, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return(%3) : (tensor<2xf32>) -> ()
}) : () -> ()
)ir";

class ParametersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  static SafeTensor Floats(const std::string& name, std::vector<int64_t> dims,
                           const std::vector<float>& values) {
    return {name, DType::kF32, std::move(dims), Blob::Copy(std::as_bytes(std::span(values)))};
  }
  std::string Written(const std::string& header, size_t bytes) const {
    const std::string path = Path("written.safetensors");
    std::ofstream file(path, std::ios::binary);
    for (int i = 0; i < 8; ++i) file.put(static_cast<char>(header.size() >> (8 * i) & 0xff));
    file << header << std::string(bytes, '\0');
    return path;
  }

 private:
  std::filesystem::path folder_;
};

std::vector<float> Outputs(Model model, int level) {
  OptimizeOptions options;
  options.level = level;
  EXPECT_TRUE(Optimize(model, options).ok());
  const absl::StatusOr<Program> program = Compile(std::move(model));
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return {};
  const std::vector<float> x = {10, 20};
  const int64_t shape[] = {2};
  const Tensor input = Tensor::Copy(DType::kF32, shape, x.data());
  const absl::StatusOr<std::vector<Tensor>> result = program->Run(std::vector<Tensor>{input});
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return {};
  const auto* values = static_cast<const float*>((*result)[0].data());
  return {values, values + 2};
}

TEST_F(ParametersTest, FilesGiveValues) {
  const std::string path = Path("p.safetensors");
  ASSERT_TRUE(
      WriteSafeTensors(path, std::vector<SafeTensor>{Floats("open", {2}, {0.5f, 0.25f})}).ok());
  absl::StatusOr<Model> model =
      LoadFromBytes(kParameterProgram, "p.mlir", {.parameter_files = {path}});
  ASSERT_TRUE(model.ok()) << model.status();
  for (int level : {0, 1, 2, 3})
    EXPECT_THAT(Outputs(model->Clone(), level), ::testing::ElementsAre(10.5f, 40.25f)) << level;
  // The latter file counts.
  const std::string other = Path("q.safetensors");
  ASSERT_TRUE(WriteSafeTensors(other, std::vector<SafeTensor>{Floats("open", {2}, {1, 1}),
                                                              Floats("scale", {2}, {3, 3})})
                  .ok());
  model = LoadFromBytes(kParameterProgram, "p.mlir", {.parameter_files = {path, other}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Outputs(*std::move(model), 2), ::testing::ElementsAre(31.f, 61.f));
}

TEST_F(ParametersTest, WithoutAValueTheRunNamesIt) {
  absl::StatusOr<Model> model = LoadFromBytes(kParameterProgram, "p.mlir");
  ASSERT_TRUE(model.ok());
  ASSERT_TRUE(Optimize(*model).ok());
  const absl::StatusOr<Program> program = Compile(*std::move(model));
  EXPECT_THAT(std::string(program.status().message()),
              HasSubstr("parameter @open has no value of type tensor<2xf32>"));
}

TEST_F(ParametersTest, WhatDoesNotFit) {
  const std::string path = Path("p.safetensors");
  const auto load = [&](const SafeTensor& tensor) {
    EXPECT_TRUE(WriteSafeTensors(path, {&tensor, 1}).ok());
    return std::string(
        LoadFromBytes(kParameterProgram, "p.mlir", {.parameter_files = {path}}).status().message());
  };
  EXPECT_THAT(load(Floats("opne", {2}, {1, 2})),
              HasSubstr("tensor 'opne' is the value of no parameter and no named constant of the "
                        "program; did you mean 'open'?"));
  EXPECT_THAT(load(Floats("open", {3}, {1, 2, 3})),
              HasSubstr("tensor 'open' is a tensor<3xf32> (the program has a tensor<2xf32> of that "
                        "name)"));
  const absl::Status missing =
      LoadFromBytes(kParameterProgram, "p.mlir", {.parameter_files = {Path("nowhere")}}).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
}

TEST_F(ParametersTest, SavedOnesComeBack) {
  const absl::StatusOr<Model> model = LoadFromBytes(kParameterProgram, "p.mlir");
  ASSERT_TRUE(model.ok());
  const std::string before = Print(*model->module());
  const std::string path = Path("p.safetensors");
  ASSERT_TRUE(SaveParameters(*model->module(), path).ok());
  DropParameterValues(*model->module());
  EXPECT_NE(Print(*model->module()), before);
  ASSERT_TRUE(LoadParameters(*model->module(), path).ok());
  EXPECT_EQ(Print(*model->module()), before);
  DropParameterValues(*model->module());
  EXPECT_THAT(std::string(SaveParameters(*model->module(), path).message()),
              HasSubstr("the program has no parameters with values"));
}

TEST_F(ParametersTest, EveryTypeOfTheFormat) {
  std::vector<SafeTensor> tensors;
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::vector<std::byte> bytes(6 * SizeOf(dtype), std::byte{1});
    const SafeTensor tensor{
        std::string(1, static_cast<char>('a' + i)), dtype, {2, 3}, Blob::Copy(bytes)};
    const absl::Status alone = WriteSafeTensors(Path("one"), {&tensor, 1});
    if (alone.ok()) {
      tensors.push_back(tensor);
    } else {
      EXPECT_EQ(alone.code(), absl::StatusCode::kUnimplemented) << i;
    }
  }
  EXPECT_EQ(tensors.size(), 16u);
  tensors.push_back({"scalar", DType::kI64, {}, Blob::Copy(std::vector<std::byte>(8))});
  tensors.push_back({"empty", DType::kF32, {0, 4}, Blob::Copy({})});
  ASSERT_TRUE(WriteSafeTensors(Path("all"), tensors).ok());
  const absl::StatusOr<SafeTensors> read = ReadSafeTensors(Path("all"));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->tensors.size(), tensors.size());
  for (const SafeTensor& wanted : tensors) {
    const auto found = std::find_if(read->tensors.begin(), read->tensors.end(),
                                    [&](const SafeTensor& t) { return t.name == wanted.name; });
    ASSERT_NE(found, read->tensors.end()) << wanted.name;
    EXPECT_EQ(found->dtype, wanted.dtype);
    EXPECT_EQ(found->dims, wanted.dims);
    EXPECT_EQ(found->bytes->size(), wanted.bytes->size());
  }
}

TEST_F(ParametersTest, MalformedFiles) {
  const std::string good = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  for (const auto& [header, bytes, message] :
       std::vector<std::tuple<std::string, size_t, std::string>>{
           {"[]", 0, "its header is not an object of JSON"},
           {"{" + good, 4, "its header is not an object of JSON"},
           {"{" + good + "," + good + "}", 4, "its header has the name 'a' twice"},
           {"{" + good + "}", 3, "lie outside of the file"},
           {"{" + good + "}", 5, "1 bytes at its end belong to no tensor"},
           {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8,
            "do not follow those of the tensor before"},
           {R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4, "elements of type F31"},
           {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "not a size"},
           {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,0]}})", 0,
            "too many elements"},
           {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
            "has 4 bytes in the file, and its shape needs 8"},
           {R"({"a":{"dtype":"F32","shape":[1]}})", 4, "has no data_offsets"},
           {R"({"a":3})", 0, "is not described by an object"},
           {R"({"a":{"dtype":"F32","shape":[[[[1]]]],"data_offsets":[0,4]}})", 4, "nested deeper"},
       }) {
    EXPECT_THAT(std::string(ReadSafeTensors(Written(header, bytes)).status().message()),
                HasSubstr(message))
        << header;
  }
  // A header that is longer than the file, and one that is longer than any.
  std::ofstream(Path("short"), std::ios::binary) << std::string("\x10\0\0\0\0\0\0\0{}", 10);
  EXPECT_THAT(std::string(ReadSafeTensors(Path("short")).status().message()),
              HasSubstr("its header has 16 bytes, and only 2 are there"));
  std::ofstream(Path("long"), std::ios::binary) << std::string(8, '\xff') << "{}";
  EXPECT_EQ(ReadSafeTensors(Path("long")).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace tenon
