// Operations that JSON declares, and programs that contain them.
#include "frontends/cpp/files/load_ops.h"

#include <fstream>
#include <memory>
#include <string>

#include "frontends/cpp/extension.h"
#include "frontends/cpp/tenon.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
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
  EXPECT_EQ(Why(R"({"ops": [], "ops": []})"), "my.json: the key 'ops' is there twice");
  EXPECT_EQ(Why("{\"ops\": 1e999}"), "my.json:1:13: this is no JSON");
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

// A type, an attribute and an operation that takes the type.
std::string TypesJson(const std::string& old = "", const std::string& now = "") {
  std::string json = R"({"types": [{"type": "my.ledger", "at": "my.yaml:3:3", "summary": "L.",
 "parameters": [{"name": "currency", "kind": "string", "required": true},
                {"name": "limit", "kind": "i64", "required": false, "default": "9 : i64"}]}],
"attributes": [{"attribute": "my.rate", "at": "my.yaml:5:3", "summary": "R.", "parameters": []}],
"ops": [{
 "op": "my.book", "at": "my.yaml:4:4", "summary": "Books.",
 "operands": [{"name": "x", "arity": "single", "types": ["!my.ledger"]}],
 "attrs": [], "result": ["!my.ledger"], "traits": [], "shape": "same_as_first"}]})";
  if (!old.empty()) json.replace(json.find(old), old.size(), now);
  return json;
}

TEST(LoadOps, DeclaresTypes) {
  Context context;
  RegisterAllDialects(context);
  ASSERT_TRUE(LoadOpsFromJson(TypesJson(), "a.json", context).ok());
  EXPECT_TRUE(LoadOpsFromJson(TypesJson("L.", "Other."), "b.json", context).ok());
  const auto verified = [&](const std::string& type) {
    const auto module = ParseModule(
        context, "func.func() <{function_type = (" + type + ") -> " + type +
                     ", sym_name = \"f\"}> ({\n^bb0(%x: " + type +
                     "):\n  %0 = my.book(%x) {r = #my.rate} : (" + type + ") -> " + type +
                     "\n  func.return(%0) : (" + type + ") -> ()\n}) : () -> ()\n");
    const absl::Status status = module.ok() ? Verify(module->get()) : module.status();
    return status.ok() ? "ok" : std::string(status.message());
  };
  EXPECT_EQ(verified("!my.ledger<\"EUR\">"), "ok");
  EXPECT_THAT(verified("!my.ledger<1.5>"), HasSubstr("attribute 'currency' must be a string"));
  EXPECT_THAT(verified("tensor<f32>"), HasSubstr("!my.ledger"));
}

TEST(LoadOps, MistakesInTypes) {
  const auto at = [](const std::string& why) { return "my.json: my.yaml:3:3: my.ledger: " + why; };
  EXPECT_EQ(Why(TypesJson()), "loaded");
  EXPECT_EQ(Why(TypesJson(", \"default\": \"9 : i64\"", "")),
            at("parameter 'limit' may be absent (expected a default)"));
  EXPECT_EQ(Why(TypesJson("\"kind\": \"string\"", "\"kind\": \"strin\"")).substr(0, 56),
            at("attribute 'currency' has kin").substr(0, 56));
  EXPECT_EQ(Why(TypesJson("my.ledger\", \"at", "ten.ledger\", \"at")),
            "my.json: my.yaml:3:3: type 'ten.ledger' is in the dialect 'ten', which files cannot "
            "extend (expected a dialect of your own)");
  EXPECT_EQ(Why(TypesJson("[\"!my.ledger\"]", "[\"f32\", \"!my.ledger\"]")),
            "my.json: my.yaml:4:4: my.book: 'types' has more than the type '!my.ledger' (expected "
            "it alone)");
  EXPECT_EQ(Why(TypesJson("same_as_first", "elementwise")),
            "my.json: my.yaml:4:4: op 'my.book' is elementwise, but 'x' is no tensor (expected the "
            "shape of the first operand)");
  Context context;
  RegisterAllDialects(context);
  ASSERT_TRUE(LoadOpsFromJson(TypesJson(), "a.json", context).ok());
  EXPECT_EQ(LoadOpsFromJson(TypesJson("9 : i64", "8 : i64"), "b.json", context).code(),
            absl::StatusCode::kAlreadyExists);
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

TEST(LoadOps, AnExtensionHasTexts) {
  auto extension = std::make_shared<Extension>();
  extension->op_texts = {{"memory.json", Json()}};
  Context context;
  RegisterAllDialects(context);
  ASSERT_TRUE(RegisterExtension(*extension, context).ok());
  EXPECT_NE(context.FindOp("my.scale"), nullptr);
  extension->op_texts = {{"memory.json", Json("\"enum\"", "\"enun\"")}};
  Context other;
  RegisterAllDialects(other);
  EXPECT_THAT(std::string(RegisterExtension(*extension, other).message()),
              HasSubstr("memory.json: my.yaml:4:4: my.scale: "));
}

}  // namespace
}  // namespace tenon
