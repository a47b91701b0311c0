// Writing ONNX models.
#ifndef TENON_FRONTENDS_ONNX_EXPORT_WRITER_H_
#define TENON_FRONTENDS_ONNX_EXPORT_WRITER_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "frontends/onnx/export/local_functions.h"
#include "frontends/onnx/file/model_info.h"
#include "ir/base/source_file.h"
#include "ir/core/operation.h"

namespace tenon::onnx {

// How a model is written.
struct WriteOptions {
  int64_t opset = 18;            // of ONNX's own operators, as given to export-onnx
  ModelInfo info;                // what the model says about itself
  std::string producer_version;  // of Tenon
  // Models of more bytes have their weights in a file beside them, `<path>.data`. Protobuf's limit
  // is 2 GiB.
  int64_t max_inline_bytes = (int64_t{1} << 31) - (int64_t{1} << 20);
  // A file for weights of at least 1 KiB, of a model of any size. Empty: `<path>.data`, where the
  // model is over max_inline_bytes.
  std::string external_data;
  // Files that the weights are read from, which are not replaced by those that are written.
  std::span<const SourceFile> sources;
  // What calls of OutlineFused call. Those of equal nodes become one function.
  std::span<const LocalFunction> functions;
};

// Writes a function to the file `path`, "-" for standard output. It must have been lowered by
// export-onnx: its operations are constants and opaque operations `onnx.<OpType>`. Names of inputs
// and outputs, symbols of dimensions and names of nodes are kept. Weights go from where they lie to
// the file, one at a time.
//
// Unimplemented, with the operation, for what ONNX cannot express; also for a value that is written
// and whose type is not known. InvalidArgument if a file cannot be written, or if the file of
// weights is outside of the folder of `path`, or is one of `sources`.
absl::Status WriteOnnx(const Operation& function, const std::string& path,
                       const WriteOptions& options = {});

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_EXPORT_WRITER_H_
