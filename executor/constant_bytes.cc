#include "executor/constant_bytes.h"

#include <sys/mman.h>

#include <cstring>

#include "executor/file_mappings.h"

namespace tenon {

absl::StatusOr<std::shared_ptr<ConstantBytes>> ConstantBytes::Make(std::shared_ptr<const Blob> blob,
                                                                   size_t alignment, bool mapped) {
  std::shared_ptr<ConstantBytes> constant(new ConstantBytes(std::move(blob), mapped));
  const std::span<const std::byte> bytes = constant->blob_->bytes();
  if (constant->blob_->alignment() >= alignment) {
    // Never written: kernels get constants as inputs only.
    constant->data_ = const_cast<std::byte*>(bytes.data());
    return constant;
  }
  void* copy = mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (copy == MAP_FAILED) return absl::ResourceExhaustedError("no memory for a constant");
  constant->data_ = constant->copy_ = copy;
  return constant;
}

ConstantBytes::~ConstantBytes() {
  if (copy_ != nullptr) munmap(copy_, size_);
}

bool ConstantBytes::Hold() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (blob_ == nullptr) return false;
  if (holders_++ > 0 || copy_ == nullptr) return true;
  std::memcpy(copy_, blob_->bytes().data(), size_);
  if (mapped_) DropPages(blob_->bytes());
  return true;
}

void ConstantBytes::Release() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (--holders_ > 0) return;
  if (copy_ != nullptr) {
    madvise(copy_, size_, MADV_DONTNEED);
  } else if (mapped_) {
    DropPages(blob_->bytes());
  }
  if (users_ == 0 && !mapped_) blob_.reset();
}

bool ConstantBytes::Pin() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (pinned_) return true;
    pinned_ = blob_ != nullptr;
  }
  return Hold();
}

void ConstantBytes::AddUser() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++users_;
}

void ConstantBytes::RemoveUser() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (--users_ == 0 && holders_ == 0 && !mapped_) blob_.reset();
}

}  // namespace tenon
