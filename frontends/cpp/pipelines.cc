// The standard pipelines: the one place where they are written.
#include <algorithm>

#include "executor/passes.h"
#include "fmt/format.h"
#include "frontends/cpp/extension.h"
#include "frontends/cpp/passes.h"
#include "frontends/cpp/tenon.h"
#include "frontends/onnx/export/export_onnx.h"
#include "ir/base/check.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

// How every lowering begins: what is left on constants is evaluated once, up to 16 MiB a value. A
// macro, for literals are joined before there are values.
#define TENON_LOWERING_FOLDS "constant-fold{max-bytes=16777216}"

// Constants are evaluated, except filters of bytes, of which rules make products of bytes; then the
// numbers that those rules leave.
#define TENON_BYTES_FOLD "constant-fold{keep-bytes=true}"
#define TENON_BYTES_RULES                                                        \
  TENON_BYTES_FOLD ",cse,fuse{rules=quantized,quantized_conv}," TENON_BYTES_FOLD \
                   ",canonicalize,fuse{rules=requantized}"

constexpr StandardPipeline kPipelines[] = {
    {"O0", "only what running needs: types and shapes", "infer-shapes"},
    {"O1", "the same program in normal form, without repeats and unused parts",
     "fold-parameters,infer-shapes,simplify-control,expand-einsum,canonicalize,sink-expands,"
     "canonicalize-splits,"
     "canonicalize,cse,dce"},
    {"O2", "O1, constants evaluated, and operations fused; results change within rounding only",
     "fold-parameters,infer-shapes,canonicalize," TENON_BYTES_FOLD
     ",simplify-control,infer-shapes,expand-einsum,"
     "sink-expands,canonicalize-splits,canonicalize," TENON_BYTES_RULES ",constant-fold,cse,"
     "fuse{before=packing},hoist-slices,canonicalize-splits,fuse{from=packing},"
     "canonicalize,expand-conv-transpose,fuse{rules=attention,packing,conv},classify-masks,"
     "propagate-layout,"
     "canonicalize,fuse{rules=gated,linear,packing,skip,epilogue},compose-movement,hoist-slices,"
     "fuse{rules=moves},"
     "infer-shapes,canonicalize,constant-fold,cse,final-rules,fuse-elementwise,dce"},
    {"O3", "O2 over calls and loops, then fusion once more on what became visible",
     "fold-parameters,inline,symbol-dce,infer-shapes,sccp,simplify-cfg,"
     "canonicalize," TENON_BYTES_FOLD ",simplify-control,infer-shapes,expand-einsum,"
     "sink-expands,canonicalize-splits,canonicalize," TENON_BYTES_RULES ",constant-fold,cse,"
     "fuse{before=packing},hoist-slices,canonicalize-splits,fuse{from=packing},"
     "canonicalize,expand-conv-transpose,fuse{rules=attention,packing,conv},classify-masks,"
     "canonicalize,constant-fold,cse,fuse,classify-masks,propagate-layout,"
     "canonicalize,fuse{rules=gated,linear,packing,skip,epilogue},compose-movement,hoist-slices,"
     "fuse{rules=moves},licm,"
     "infer-shapes,canonicalize,constant-fold,cse,final-rules,fuse-elementwise,dce"},
    {"simplify", "constants evaluated, repeats and unused parts removed, weights joined",
     "fold-parameters,infer-shapes,simplify-control,canonicalize," TENON_BYTES_FOLD
     ",infer-shapes,canonicalize," TENON_BYTES_FOLD ",fuse{rules=conv},expand-fused{all=true},"
     "constant-fold{keep-bytes=true max-bytes=16777216},cse,dce"},
    {"onnx-O0", "O0 for an ONNX model", "fold-parameters,infer-shapes"},
    {"onnx-O1", "O1 for an ONNX model: the operations that it has",
     "fold-parameters,infer-shapes,simplify-control,canonicalize,sink-expands,canonicalize-splits,"
     "canonicalize,cse,dce"},
    // Without what only a kernel of ours gains from: layouts, groups, expanded operations.
    {"onnx-O2", "O2 for an ONNX model: channels first, and no operations of one kernel only",
     "fold-parameters,infer-shapes,canonicalize," TENON_BYTES_FOLD
     ",simplify-control,infer-shapes,sink-expands,"
     "canonicalize-splits,canonicalize," TENON_BYTES_RULES ",constant-fold,cse,"
     "fuse{before=packing},hoist-slices,canonicalize-splits,fuse{from=packing},"
     "canonicalize,fuse{rules=attention,packing,conv},classify-masks,"
     "canonicalize,fuse{rules=gated,linear,packing,skip,epilogue},compose-movement,hoist-slices,"
     "infer-shapes,canonicalize,constant-fold,cse,final-rules,dce"},
    {"onnx-O3", "O3 for an ONNX model: O2, then fusion once more",
     "fold-parameters,infer-shapes,canonicalize," TENON_BYTES_FOLD
     ",simplify-control,infer-shapes,sink-expands,"
     "canonicalize-splits,canonicalize," TENON_BYTES_RULES ",constant-fold,cse,"
     "fuse{before=packing},hoist-slices,canonicalize-splits,fuse{from=packing},"
     "canonicalize,fuse{rules=attention,packing,conv},classify-masks,"
     "canonicalize,constant-fold,cse,fuse,classify-masks,"
     "canonicalize,fuse{rules=gated,linear,packing,skip,epilogue},compose-movement,hoist-slices,"
     "infer-shapes,canonicalize,constant-fold,cse,final-rules,dce"},
    {"lower", "what is left on constants evaluated once, kernels and memory",
     "expand-layers," TENON_LOWERING_FOLDS ",widen-half,lower-to-kernels,plan-memory"},
    {"lower-cuda", "the same for a GPU: CUDA kernels where there are any, copies where needed",
     "expand-conv-transpose{all=true},expand-layers,expand-fused," TENON_LOWERING_FOLDS
     ",lower-to-kernels{gpu=true},place-transfers,plan-memory"},
};
constexpr std::string_view kLowerReference =
    TENON_LOWERING_FOLDS ",lower-to-kernels{reference=true},plan-memory";

std::string_view PipelineNamed(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kPipelines), std::end(kPipelines),
                   [&](const StandardPipeline& pipeline) { return pipeline.name == name; });
  TENON_CHECK_MSG(found != std::end(kPipelines), name);
  return found->text;
}

}  // namespace

std::span<const StandardPipeline> StandardPipelines() { return kPipelines; }

std::string_view OptPipeline(int level) {
  return kPipelines[std::clamp(level, 0, kMaxOptLevel)].text;
}

std::string_view OnnxPipeline(int level) {
  return PipelineNamed(fmt::format("onnx-O{}", std::clamp(level, 0, kMaxOptLevel)));
}

std::string_view LowerPipeline(bool reference, bool gpu) {
  if (reference && !gpu) return kLowerReference;
  return PipelineNamed(gpu ? "lower-cuda" : "lower");
}

std::string_view PrecisionPipeline(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      break;
    case Precision::kBf16:
      return "compress-weights{to=bf16},dce";
    case Precision::kInt8:
      return "compress-weights{to=i8},dce";
  }
  return "";
}

absl::Status RegisterAllPasses(PassRegistry& registry, const Extension* extension) {
  if (extension == nullptr) {
    TENON_RETURN_IF_ERROR(RegisterTransformPasses(registry));
    TENON_RETURN_IF_ERROR(onnx::RegisterExportPass(registry));
    TENON_RETURN_IF_ERROR(RegisterExecutorPasses(registry));
  } else {
    TENON_RETURN_IF_ERROR(RegisterTransformPasses(registry, extension->rules));
    TENON_RETURN_IF_ERROR(onnx::RegisterExportPass(registry));
    TENON_RETURN_IF_ERROR(RegisterExecutorPasses(registry, MakeKernelRegistry(extension->kernels)));
    for (const PassInfo& pass : extension->passes) TENON_RETURN_IF_ERROR(registry.Register(pass));
  }
  for (const StandardPipeline& pipeline : kPipelines) {
    TENON_RETURN_IF_ERROR(registry.RegisterPipeline(
        std::string(pipeline.name), std::string(pipeline.summary), std::string(pipeline.text)));
  }
  return absl::OkStatus();
}

}  // namespace tenon
