#include "frontends/cpp/files/export_onnx.h"

#include <algorithm>

#include "fmt/format.h"
#include "frontends/cpp/passes.h"
#include "frontends/onnx/export/export_onnx.h"
#include "frontends/onnx/export/local_functions.h"
#include "frontends/onnx/export/schema_versions.h"
#include "frontends/onnx/export/writer.h"
#include "ir/base/check.h"
#include "ir/base/out_of_memory.h"
#include "pass/pass_manager.h"

namespace tenon {
namespace {

// The first opset with LayerNormalization, which ONNX Runtime runs as one kernel.
constexpr int64_t kLeastForOnnxRuntime = 17;

absl::Status Export(const Model& model, const std::string& path, const ExportOptions& options) {
  const int64_t own = model.info() != nullptr ? model.info()->opset : 0;
  const bool microsoft = options.ops == OnnxOps::kOnnxRuntime;
  const int64_t least = microsoft ? kLeastForOnnxRuntime : onnx::kOldestOpset;
  // Programs that were no ONNX model have no opset.
  const int64_t preferred =
      own == 0 ? onnx::kUsualOpset : std::clamp(own, least, onnx::kNewestOpset);
  int64_t opset = options.opset != 0 ? options.opset : preferred;
  if (opset < onnx::kOldestOpset || opset > onnx::kNewestOpset) {
    return absl::InvalidArgumentError(
        fmt::format("there is no opset {} to write (expected {} to {})", opset, onnx::kOldestOpset,
                    onnx::kNewestOpset));
  }
  const Model lowered = model.Clone();
  Operation* main = lowered.main();
  if (main == nullptr) {
    return absl::InvalidArgumentError(
        "there is nothing to write (expected a function @main, or one function with a body)");
  }
  if (options.opset == 0) opset = onnx::OpsetForNodes(*main, opset, least, onnx::kNewestOpset);
  PassRegistry registry;
  TENON_RETURN_IF_ERROR(RegisterAllPasses(registry, model.extension().get()));
  const auto run = [&registry](Operation* module, std::string_view pipeline) {
    PassManager manager(registry);
    TENON_RETURN_IF_ERROR(manager.AddPipeline(pipeline));
    PassContext context;
    return manager.Run(module, context, {}).status();
  };
  const auto lower = [&](Operation* module, Operation& function) -> absl::Status {
    // What several operations compute alike, such as a mask, is computed once.
    if (!microsoft) {
      TENON_RETURN_IF_ERROR(run(module, "expand-fused{all=true}"));
      TENON_RETURN_IF_ERROR(onnx::DecomposeAll(function, opset));
      TENON_RETURN_IF_ERROR(run(module, "cse"));
    }
    return run(module, fmt::format("dce,export-onnx{{opset={} ops={}}},dce", opset,
                                   microsoft ? "ort" : "standard"));
  };
  TENON_RETURN_IF_ERROR(run(lowered.module(), "expand-layers"));
  std::vector<onnx::LocalFunction> functions;
  if (options.ops == OnnxOps::kFunctions) {
    TENON_ASSIGN_OR_RETURN(functions, onnx::OutlineFused(*main, [&](Operation* module) {
                             return lower(module, *module->region().front().front());
                           }));
  }
  TENON_RETURN_IF_ERROR(lower(lowered.module(), *main));
  onnx::WriteOptions write;
  write.functions = functions;
  write.opset = opset;
  if (model.info() != nullptr) write.info = *model.info();
  write.producer_version = TENON_VERSION;
  write.max_inline_bytes = options.max_inline_bytes;
  write.external_data = options.external_data;
  write.sources = model.files();
  return onnx::WriteOnnx(*main, path, write);
}

}  // namespace

absl::Status ExportOnnx(const Model& model, const std::string& path, const ExportOptions& options) {
  return WithoutBadAlloc("exporting", [&] { return Export(model, path, options); });
}

}  // namespace tenon
