// Files of named tensors in the format safetensors.
//
// Source of the format: https://github.com/huggingface/safetensors, "Format". Eight bytes have the
// size of a header in JSON, little-endian; the bytes of all tensors follow it.
#ifndef TENON_FRONTENDS_CPP_PARAMETERS_SAFETENSORS_H_
#define TENON_FRONTENDS_CPP_PARAMETERS_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/base/dtype.h"
#include "ir/base/limits.h"
#include "ir/base/source_file.h"
#include "ir/core/constants/blob.h"

namespace tenon {

// A tensor of a file.
struct SafeTensor {
  std::string name;                   // unique in the file
  DType dtype = DType::kInvalid;      // of the elements
  std::vector<int64_t> dims;          // empty for a scalar
  std::shared_ptr<const Blob> bytes;  // row-major, little-endian, of exactly the size
};

// The contents of a file.
struct SafeTensors {
  std::vector<SafeTensor> tensors;  // sorted by name
  SourceFile source;                // of a regular file, whose mapping the tensors share
};

// Maps a file. Its tensors refer to the mapping, so it must not be truncated meanwhile. While some
// are in use, others who read the same file get the same bytes. NotFound if
// the file cannot be read. InvalidArgument if the header is not JSON, has a name twice or an
// element type that Tenon lacks. InvalidArgument if the bytes of tensors overlap, leave a gap or
// lie outside of the file, or a bool is neither 0 nor 1. ResourceExhausted beyond `limits`, or for
// a header above 100 MB.
absl::StatusOr<SafeTensors> ReadSafeTensors(const std::string& path, const Limits& limits = {});
// The same for a file in memory. Messages call it `name`; `owner` keeps `file` alive.
absl::StatusOr<SafeTensors> ParseSafeTensors(std::span<const std::byte> file,
                                             std::shared_ptr<const void> owner,
                                             const std::string& name);

// Writes a file: tensors by size of their elements and name, the first one at a multiple of 64
// bytes. Unimplemented for an element type that the format lacks; InvalidArgument if a name is
// there twice, or the file cannot be written.
absl::Status WriteSafeTensors(const std::string& path, std::span<const SafeTensor> tensors);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_PARAMETERS_SAFETENSORS_H_
