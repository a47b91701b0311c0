// Writing a model as an ONNX file.
#ifndef TENON_FRONTENDS_CPP_FILES_EXPORT_ONNX_H_
#define TENON_FRONTENDS_CPP_FILES_EXPORT_ONNX_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "frontends/cpp/tenon.h"

namespace tenon {

// The operators that an exported model may have.
enum class OnnxOps : uint8_t {
  kStandard,     // ONNX's own; fused operations are taken apart
  kFunctions,    // ONNX's own; a fused operation is a function of the model, which calls it
  kOnnxRuntime,  // also those of the domain com.microsoft, where they compute exactly the same
};

// How ExportOnnx writes a model.
struct ExportOptions {
  // Version of ONNX's operators, 13 to 28. 0: that of the model that was loaded, at least 13, and
  // at least 17 for kOnnxRuntime; a neighboring one if nodes that are written as they were read
  // need it.
  int64_t opset = 0;
  OnnxOps ops = OnnxOps::kStandard;  // which operators the file may have
  // Models of more bytes have their weights in a file `<path>.data` beside them. At most 2 GiB less
  // 1 MiB, which is protobuf's limit.
  int64_t max_inline_bytes = (int64_t{1} << 31) - (int64_t{1} << 20);
  // A file for the weights of at least 1 KiB, of a model of any size: in the folder of the model,
  // or in one below that is there. Empty: only models over max_inline_bytes have such a file.
  std::string external_data{};
};

// Writes the main function of a model to the file `path`, "-" for standard output, as the operators
// that `options` allow. Optimize with OnnxPipeline
// (passes.h) before: other levels choose layouts and groups that only Tenon's kernels gain from.
// Keeps names of inputs, outputs and nodes, symbols of dimensions, and what an ONNX model said
// about itself. The model stays as it is.
//
// Unimplemented, with the operation, for one that ONNX cannot express. InvalidArgument for a wrong
// option, a model without a main function, or a file that cannot be written. So is a file of
// weights that is outside of the model's folder, or that `model` was read from (Model::files).
// After an error, the file `path` is as it was.
absl::Status ExportOnnx(const Model& model, const std::string& path,
                        const ExportOptions& options = {});

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_FILES_EXPORT_ONNX_H_
