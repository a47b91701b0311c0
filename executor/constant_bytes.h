// The bytes of a large constant, as kernels want them, in memory only while they are needed.
#ifndef TENON_EXECUTOR_CONSTANT_BYTES_H_
#define TENON_EXECUTOR_CONSTANT_BYTES_H_

#include <cstddef>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "ir/core/blob.h"

namespace tenon {

// A slice of a model file is rarely aligned, and once a kernel has packed it nobody reads it again.
// So the aligned copy has its address from the beginning, but takes memory only while somebody
// holds it; the pages of the file are given back as soon as they have been read. Thread-safe.
class ConstantBytes {
 public:
  // `mapped`: the blob lies in a read-only mapping of a file.
  static absl::StatusOr<std::shared_ptr<ConstantBytes>> Make(std::shared_ptr<const Blob> blob,
                                                             size_t alignment, bool mapped);
  ~ConstantBytes();
  ConstantBytes(const ConstantBytes&) = delete;
  ConstantBytes& operator=(const ConstantBytes&) = delete;

  // The same at all times. What is there may be read between Hold and Release, and after Pin.
  void* data() const { return data_; }
  // False, and nothing held, if the bytes have been given up.
  bool Hold();
  void Release();
  // Holds for good. False if there is nothing left to hold.
  bool Pin();

  // Each user that will read the bytes a limited number of times says so, and when it is done.
  // After the last one the bytes are given up, unless they are pinned or a file has them.
  void AddUser();
  void RemoveUser();

  // For users that read at any alignment: the bytes themselves.
  std::shared_ptr<const Blob> blob() const { return blob_; }

 private:
  ConstantBytes(std::shared_ptr<const Blob> blob, bool mapped)
      : blob_(std::move(blob)), size_(blob_->size()), mapped_(mapped) {}

  std::shared_ptr<const Blob> blob_;  // null: given up
  const size_t size_;
  const bool mapped_;
  void* data_ = nullptr;
  void* copy_ = nullptr;  // where the blob's own bytes are not aligned
  std::mutex mutex_;
  int holders_ = 0, users_ = 0;
  bool pinned_ = false;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_CONSTANT_BYTES_H_
