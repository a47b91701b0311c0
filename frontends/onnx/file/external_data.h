// Weights in side files of a model.
#ifndef TENON_FRONTENDS_ONNX_FILE_EXTERNAL_DATA_H_
#define TENON_FRONTENDS_ONNX_FILE_EXTERNAL_DATA_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "frontends/onnx/file/mapped_file.h"
#include "frontends/onnx/onnx.pb.h"

namespace tenon::onnx {

// Opens the side files that a model names, inside of one folder only. Locations must be relative
// and without "..". Symbolic links and files with several hard links are refused unless
// `allow_links`. Each file is mapped once.
class ExternalData {
 public:
  // An empty `root` refuses every file.
  ExternalData(std::string root, bool allow_links)
      : root_(std::move(root)), allow_links_(allow_links) {}

  // Returns the bytes that `tensor` names; exactly `size` of them.
  absl::StatusOr<FileBytes> Read(const onnxpb::TensorProto& tensor, size_t size);

  // The opened files, by location.
  const std::map<std::string, FileBytes>& files() const { return files_; }

 private:
  absl::StatusOr<FileBytes> Open(const std::string& location);

  std::string root_;
  bool allow_links_;
  std::map<std::string, FileBytes> files_;
};

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_FILE_EXTERNAL_DATA_H_
