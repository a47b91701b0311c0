// Any bytes as JSON that declares operations: an error, or operations that a program can use.
#include "frontends/cpp/files/load_ops.h"
#include "ir/core/context/context.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/dialects.h"
#include "tests/fuzz/fuzz_target.h"

namespace tenon::fuzz {

std::string CheckOps(std::string_view bytes, bool* accepted) {
  Context context;
  RegisterAllDialects(context);
  const absl::Status loaded = LoadOpsFromJson(bytes, "fuzz.json", context);
  if (accepted != nullptr) *accepted = loaded.ok();
  if (!loaded.ok()) return loaded.message().empty() ? "an error without a message" : "";
  const absl::StatusOr<OwnedOp> module = ParseModule(context, R"ir(
func.func() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<2xf32>):
  %0 = my.scale(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return(%0) : (tensor<2xf32>) -> ()
}) : () -> ()
)ir");
  if (!module.ok()) return module.status().message().empty() ? "an error without a message" : "";
  return Print(**module).empty() ? "a program without text" : "";
}

std::vector<std::string> OpsSeeds() {
  return {R"({"ops": []})",
          R"({"ops": [{"op": "my.scale", "at": "a.yaml:1:1", "summary": "s",
  "operands": [{"name": "x", "arity": "single", "types": ["float"]}], "result": ["tensor"],
  "attrs": [{"name": "by", "kind": "f32", "required": false, "default": "1.0 : f32"},
            {"name": "mode", "kind": "enum", "required": false, "default": "\"up\"",
             "values": ["up", "down"]}],
  "traits": ["same_dtype"], "shape": "same_as_first"}]})",
          R"({"ops": [{"op": "my.scale", "at": "a.yaml:1:1", "summary": "s",
  "operands": [{"name": "x", "arity": "single", "types": ["f32", "int"]},
               {"name": "others", "arity": "variadic", "types": ["number"]}],
  "result": ["f32"], "attrs": [], "traits": ["same_dtype"], "shape": "elementwise"}]})",
          R"({"types": [{"type": "my.unit", "at": "a.yaml:9:1", "summary": "s",
  "parameters": [{"name": "width", "kind": "i64", "required": false, "default": "4 : i64"}]}],
 "attributes": [{"attribute": "my.note", "at": "a.yaml:7:1", "summary": "s", "parameters": []}],
 "ops": [{"op": "my.take", "at": "a.yaml:1:1", "summary": "s",
  "operands": [{"name": "x", "arity": "single", "types": ["!my.unit"]}], "result": ["!my.unit"],
  "attrs": [], "traits": [], "shape": "same_as_first"}]})"};
}

}  // namespace tenon::fuzz
