// ONNX models to IR.
#ifndef TENON_FRONTENDS_ONNX_IMPORTER_H_
#define TENON_FRONTENDS_ONNX_IMPORTER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/onnx/mapped_file.h"
#include "ir/core/context.h"
#include "ir/core/operation.h"
#include "ir/core/source_file.h"

namespace tenon::onnx {

struct ImportOptions {
  // What messages call the model; empty: its path.
  std::string name{};
  // Folder of external data; empty: the folder of the model file (none for a model from memory).
  std::string external_data_root{};
  // Follow symbolic links to external data, and accept files with several hard links.
  bool allow_external_data_links = false;
  // Receives the files in which constants lie, if there are any.
  std::vector<SourceFile>* files = nullptr;
  // Verify the module before it is returned.
  bool verify = true;
};

// Reads a model file ("-": standard input) into a module with one function @main: its arguments are
// the graph's inputs that have no initializer, in order, its results the graph's outputs; their
// names are `core.name` in arg_attrs and res_attrs. Weights stay in the mapped file, which must not
// be truncated while the module lives. A node of another domain than ONNX's becomes
// the operation `<domain>.<OpType>` if that is registered in the Context; an attribute that its
// definition does not have is an error (a warning where ONNX's own nodes have one too many). Nodes
// that have no counterpart become opaque ops `onnx.<OpType>` (reported as remarks); every op is
// located at its node. Contradictions between declared and inferred types are warnings. REQUIRES:
// RegisterAllDialects(context), and no other import into the same Context at a time, for an import
// may hold diagnostics back.
absl::StatusOr<OwnedOp> ImportOnnx(Context& context, const std::string& path,
                                   const ImportOptions& options = {});

// The same for the bytes of the model file `path` (mapped_file.h), which may be one that can be
// read only once.
absl::StatusOr<OwnedOp> ImportOnnxFromFile(Context& context, const FileBytes& file,
                                           const std::string& path,
                                           const ImportOptions& options = {});

// The same for a model in memory. `owner` keeps the bytes; without one they are copied.
absl::StatusOr<OwnedOp> ImportOnnxFromBytes(Context& context, std::span<const std::byte> bytes,
                                            std::shared_ptr<const void> owner = nullptr,
                                            const ImportOptions& options = {});

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_IMPORTER_H_
