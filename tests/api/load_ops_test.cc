// Operations that JSON declares, and programs that contain them.
#include "frontends/cpp/files/load_ops.h"

#include <fstream>
#include <memory>
#include <string>

#include "frontends/cpp/extension.h"
#include "frontends/cpp/tenon.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/dialects.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

// One operation, with `old` replaced by `now`.
std::string Json(const std::string& old = "", const std::string& now = "") {
  std::string json = R"({"ops": [{
 "op": "my.scale", "at": "my.yaml:4:4", "summary": "Scales x.",
 "operands": [{"name": "x", "arity": "single", "types": ["float"]},
              {"name": "s", "arity": "optional", "types": ["f32", "f64"]}],
 "attrs": [{"name": "mode", "kind": "enum", "required": true, "values": ["a", "b"]},
           {"name": "alpha", "kind": "f32", "required": false, "default": "1.5 : f32"}],
 "result": ["tensor"], "traits": ["same_dtype"], "shape": "same_as_first"}]})";
  if (!old.empty()) json.replace(json.find(old), old.size(), now);
  return json;
}

std::string Why(const std::string& json) {
  Context context;
  RegisterAllDialects(context);
  const absl::Status status = LoadOpsFromJson(json, "my.json", context);
  return status.ok() ? "loaded" : std::string(status.message());
}

TEST(LoadOps, MistakesNameThePlace) {
  EXPECT_EQ(Why(Json()), "loaded");
  EXPECT_EQ(Why("{\"ops\":\n [}"), "my.json:2:3: this is no JSON");
  EXPECT_EQ(Why(""), "my.json:1:1: this is no JSON");
  EXPECT_EQ(Why(std::string(1000, '[')), "my.json: the JSON is nested too deeply");
  EXPECT_EQ(Why("[]"), "my.json: the file is no object");
  EXPECT_EQ(Why(Json("\"summary\"", "\"sumary\"")),
            "my.json: an item of 'ops' has the unknown key 'sumary'; did you mean 'summary'?");
  const auto at = [](const std::string& why) { return "my.json: my.yaml:4:4: my.scale: " + why; };
  EXPECT_EQ(Why(Json("single", "double")),
            at("operand 'x' has arity 'double' (expected single, optional or variadic)"));
  EXPECT_EQ(Why(Json("\"float\"", "\"f31\"")),
            at("'f31' is no element type (expected such as f32 or float)"));
  EXPECT_EQ(Why(Json("[\"float\"]", "[1]")), at("'types' has an item that is no string"));
  EXPECT_EQ(Why(Json("same_dtype", "random")),
            at("there is no trait 'random' (expected commutative, idempotent, same_dtype, "
               "same_operand_dtype)"));
  EXPECT_EQ(Why(Json("same_as_first", "first")),
            at("shape is 'first' (expected elementwise or same_as_first)"));
  EXPECT_THAT(Why(Json("1.5 : f32", "1.5 : i32")), HasSubstr("the default of attribute 'alpha'"));
  EXPECT_EQ(Why(Json("my.scale", "ten.relu")),
            "my.json: my.yaml:4:4: op 'ten.relu' is an operation of the library (expected a new "
            "name)");
}

TEST(LoadOps, FilesMayAgree) {
  Context context;
  RegisterAllDialects(context);
  ASSERT_TRUE(LoadOpsFromJson(Json(), "a.json", context).ok());
  EXPECT_TRUE(LoadOpsFromJson(Json("Scales x.", "Other words."), "b.json", context).ok());
  EXPECT_EQ(LoadOpsFromJson(Json("1.5", "2.5"), "c.json", context).code(),
            absl::StatusCode::kAlreadyExists);
}

TEST(LoadOps, AnExtensionNamesFiles) {
  const std::string folder = ::testing::TempDir();
  const std::string file = folder + "/my.json";
  std::ofstream(file) << Json();
  const std::string rules = folder + "/my.drr";
  std::ofstream(rules) << "rule r { match mul(x, splat(s)) replace my.scale(x, none) {alpha = s, "
                          "mode = \"b\"} lowers \"products\" }";
  auto extension = std::make_shared<Extension>();
  extension->op_files = {file};
  const std::string text =
      R"(func.func() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<4xf32>):
  %c = core.constant() <{value = dense<3.0> : tensor<f32>}> : () -> tensor<f32>
  %0 = my.scale(%x) <{mode = "a"}> : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ten.mul(%0, %c) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return(%1) : (tensor<4xf32>) -> ()
}) : () -> ()
)";
  EXPECT_FALSE(LoadFromBytes(text, "x.mlir").ok());
  absl::StatusOr<Model> model = LoadFromBytes(text, "x.mlir", {.extension = extension});
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(Optimize(*model, {.rule_files = {rules}}).ok());
  const std::string printed = Print(*model->module());
  EXPECT_THAT(printed, HasSubstr(") <{alpha = 3.0"));
  // The text reads back.
  absl::StatusOr<Model> again = LoadFromBytes(printed, "y.mlir", {.extension = extension});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Print(*again->module()), printed);
  const absl::Status compiled = Compile(*model).status();
  EXPECT_THAT(std::string(compiled.message()), HasSubstr("x.mlir:4:8"));
  EXPECT_THAT(std::string(compiled.message()), HasSubstr("no kernel runs my.scale"));
  extension = std::make_shared<Extension>();
  extension->op_files = {folder + "/none.json"};
  EXPECT_EQ(LoadFromBytes(text, "x.mlir", {.extension = extension}).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tenon
