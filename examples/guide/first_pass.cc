// A pass in a program like ir-opt (docs/tutorial.md): reads a model, runs a pipeline that may name
// the pass `mark-depth`, and prints the program.
//
//   first_pass [MODEL [PIPELINE]]
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_map>

#include "tenon/frontends/cpp/extension.h"
#include "tenon/frontends/cpp/tenon.h"
#include "tenon/ir/core/text/printer.h"

namespace {

// Writes on each operation the length of the longest chain of operations that leads to it.
class MarkDepth : public tenon::Pass {
 public:
  absl::StatusOr<tenon::PassResult> Run(tenon::Operation* function, tenon::PassContext&) override {
    tenon::PassResult result;
    std::unordered_map<tenon::Operation*, int64_t> depths;
    function->Walk([&](tenon::Operation* op) {
      if (op->num_regions() != 0) return;
      int64_t depth = 1;
      for (const tenon::OpOperand& operand : op->operands()) {
        const auto producer = depths.find(operand.get().defining_op());
        if (producer != depths.end()) depth = std::max(depth, producer->second + 1);
      }
      depths[op] = depth;
      const tenon::Attribute mark = tenon::Attribute::I64(op->context(), depth);
      if (op->attr("guide.depth") == mark) return;
      op->SetAttr("guide.depth", mark);
      result.changed = true;
    });
    return result;
  }
};

tenon::PassInfo MarkDepthInfo() {
  tenon::PassInfo info;
  info.name = "mark-depth";
  info.summary = "Writes on each operation how long the chain before it is";
  info.anchor = "func.func";
  info.create = [](const tenon::PassOptionValues&) { return std::make_unique<MarkDepth>(); };
  return info;
}

// What the program reads without a file.
constexpr char kProgram[] =
    R"(func.func() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<2xf32>):
  %0 = ten.exp(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = ten.add(%0, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return(%1) : (tensor<2xf32>) -> ()
}) : () -> ()
)";

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "first_pass: %s\n", std::string(status.message()).c_str());
  return 1;
}

int MarkAndPrint(const std::string& path, const std::string& pipeline) {
  auto extension = std::make_shared<tenon::Extension>();
  extension->passes = {MarkDepthInfo()};
  absl::StatusOr<tenon::Model> model =
      path.empty() ? tenon::LoadFromBytes(kProgram, "program.mlir", {.extension = extension})
                   : tenon::Load(path, {.extension = extension});
  if (!model.ok()) return Fail(model.status());
  absl::Status optimized = tenon::Optimize(*model, {.pipeline = pipeline});
  if (!optimized.ok()) return Fail(optimized);
  std::fputs(tenon::Print(*model->module(), {.elide_resources = true}).c_str(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return MarkAndPrint(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "O1,mark-depth");
}
