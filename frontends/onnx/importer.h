// Importing ONNX models.
#ifndef TENON_FRONTENDS_ONNX_IMPORTER_H_
#define TENON_FRONTENDS_ONNX_IMPORTER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/onnx/edit/model_edit.h"
#include "frontends/onnx/file/mapped_file.h"
#include "frontends/onnx/file/model_info.h"
#include "ir/base/source_file.h"
#include "ir/core/context/context.h"
#include "ir/core/operation.h"

namespace tenon::onnx {

// The dialect of opaque ops: nodes without a counterpart in Tenon's dialects. No Context registers
// it; Context::AllowUnregisteredDialect makes text with such ops readable.
inline constexpr char kOpaqueDialect[] = "onnx";
// The beginning of the remark on such a node. The reason follows.
inline constexpr std::string_view kOpaqueRemark = "imported as an opaque op: ";

// How a model is imported.
struct ImportOptions {
  // The name of the model in messages; empty: its path.
  std::string name{};
  // The folder of external data. Empty: the folder of the model file; none for a model in memory or
  // of standard input.
  std::string external_data_root{};
  // Accepts symbolic links and files with several hard links as external data.
  bool allow_external_data_links = false;
  // Receives the files that hold constants, if it is not null.
  std::vector<SourceFile>* files = nullptr;
  // Receives what the model says about itself, if it is not null.
  ModelInfo* info = nullptr;
  // Changes to the model before it is imported (model_edit.h).
  ModelEdit edit{};
  // Verifies the module before it is returned.
  bool verify = true;
};

// Reads a model file ("-" is standard input) into a module with one function @main. Its arguments
// are the inputs of the graph that have no initializer, in order; its results are the outputs.
// arg_attrs and res_attrs hold their names as `core.name`. Weights stay in the mapped file, which
// must not be truncated while the module lives.
//
// A node of a domain other than ONNX's becomes the operation `<domain>.<OpType>`, if that is
// registered. An attribute that its definition does not have is an error; for ONNX's own nodes it
// is a warning. Nodes without counterpart become opaque ops `onnx.<OpType>`, with a remark. Every
// op has the location of its node. Types that contradict their declaration are warnings.
//
// NotFound if the file cannot be read. Unimplemented if the model uses something that Tenon cannot
// represent. ResourceExhausted beyond a limit. InvalidArgument otherwise. Requires
// RegisterAllDialects(context). Only one import at a time may run in a Context, because an import
// may hold diagnostics back.
absl::StatusOr<OwnedOp> ImportOnnx(Context& context, const std::string& path,
                                   const ImportOptions& options = {});

// The same for the bytes of the model file `path` (mapped_file.h), which may be readable only once.
absl::StatusOr<OwnedOp> ImportOnnxFromFile(Context& context, const FileBytes& file,
                                           const std::string& path,
                                           const ImportOptions& options = {});

// The same for a model in memory. `owner` keeps the bytes alive; if it is null, they are copied.
absl::StatusOr<OwnedOp> ImportOnnxFromBytes(Context& context, std::span<const std::byte> bytes,
                                            std::shared_ptr<const void> owner = nullptr,
                                            const ImportOptions& options = {});

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_IMPORTER_H_
