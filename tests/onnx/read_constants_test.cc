// Constants that the importer reads: what it makes of them does not change with their values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "frontends/cpp/parameters/parameters.h"
#include "frontends/cpp/tenon.h"
#include "tests/onnx/model_builder.h"

namespace tenon::onnx {
namespace {

using ::testing::HasSubstr;

std::string Bounded() {
  ModelBuilder model(13);
  model.Input("x", {2}).Floats("bound", {}, {1.0f}).Floats("weight", {2}, {2.0f, 3.0f});
  model.Node("Clip", {"x", "bound"}, {"clipped"}).Node("Mul", {"clipped", "weight"}, {"scaled"});
  model.Node("Add", {"scaled", "bound"}, {"y"}).Output("y");
  return model.Serialize();
}

TEST(ReadConstants, AreNotReplaceable) {
  LoadOptions options;
  options.replaceable = {"bound"};
  EXPECT_THAT(std::string(LoadFromBytes(Bounded(), "m.onnx", options).status().message()),
              HasSubstr("'bound' cannot be replaceable: the importer has read its elements"));
  options.replaceable = {"*"};
  const absl::StatusOr<tenon::Model> model = LoadFromBytes(Bounded(), "m.onnx", options);
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<Parameter> parameters = ListParameters(*model->module());
  ASSERT_EQ(parameters.size(), 1u);
  EXPECT_EQ(parameters[0].name, "weight");
}

TEST(ReadConstants, GetNoValuesOfFiles) {
  const std::string path =
      (std::filesystem::path(::testing::TempDir()) / "read_constants.safetensors").string();
  const float bound = 5;
  const SafeTensor tensor{
      "bound", DType::kF32, {}, Blob::Copy(std::as_bytes(std::span(&bound, 1)))};
  ASSERT_TRUE(WriteSafeTensors(path, {&tensor, 1}).ok());
  EXPECT_THAT(
      std::string(
          LoadFromBytes(Bounded(), "m.onnx", {.parameter_files = {path}}).status().message()),
      HasSubstr("would replace a constant whose elements the importer has read"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tenon::onnx
