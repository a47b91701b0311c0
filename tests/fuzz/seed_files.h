// Files of the tree that a fuzzer begins with, and what all readers of tensors promise.
#ifndef TENON_TESTS_FUZZ_SEED_FILES_H_
#define TENON_TESTS_FUZZ_SEED_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/onnx/file/tensor_data.h"

namespace tenon::fuzz {

// The contents of the files below tests/<folder> whose names end with `extension` and that have
// at most `size` bytes, in the order of their paths.
std::vector<std::string> FilesBelow(std::string_view folder, std::string_view extension,
                                    size_t size);

// What is wrong with a tensor that was read, or with the error: the bytes are as many as the shape
// needs, and can be read. Empty if nothing is.
template <typename Tensor>
std::string CheckTensorData(const absl::StatusOr<Tensor>& tensor) {
  if (!tensor.ok()) return tensor.status().message().empty() ? "an error without a message" : "";
  size_t size = SizeOf(tensor->dtype);
  for (int64_t dim : tensor->dims) size *= static_cast<size_t>(dim);
  if (tensor->blob->size() != size) return "a tensor with too many or too few bytes";
  unsigned sum = 0;
  for (std::byte byte : tensor->blob->bytes()) sum += std::to_integer<unsigned>(byte);
  return sum <= 255 * size ? "" : "bytes that change";
}

}  // namespace tenon::fuzz

#endif  // TENON_TESTS_FUZZ_SEED_FILES_H_
