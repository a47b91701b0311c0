// Immutable shared bytes: the contents of large constants.
#ifndef TENON_IR_CORE_CONSTANTS_BLOB_H_
#define TENON_IR_CORE_CONSTANTS_BLOB_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tenon {

// Bytes that `owner` keeps alive: a heap buffer or a mapped file. Immutable and thread-safe. Hold
// it by std::shared_ptr.
class Blob {
 public:
  // Returns a 64-byte aligned copy of `bytes`. Throws std::bad_alloc without memory.
  static std::shared_ptr<const Blob> Copy(std::span<const std::byte> bytes);
  // Allocates `size` bytes, aligned to 64, and calls `fill` once to write them. Throws
  // std::bad_alloc without memory.
  static std::shared_ptr<const Blob> Make(size_t size, const std::function<void(std::byte*)>& fill);
  // Shares `bytes` without a copy; `owner` keeps them alive. Any alignment.
  static std::shared_ptr<const Blob> Borrow(std::span<const std::byte> bytes,
                                            std::shared_ptr<const void> owner);
  // The same for a read-only mapping of a file, whose pages can leave memory and be read again.
  static std::shared_ptr<const Blob> OfFile(std::span<const std::byte> bytes,
                                            std::shared_ptr<const void> owner);

  std::span<const std::byte> bytes() const { return bytes_; }  // Valid while the blob lives.
  size_t size() const { return bytes_.size(); }                // In bytes.
  // True if the bytes are those of a mapped file.
  bool of_file() const { return of_file_; }
  // Returns the largest power of two, at most 4096, that divides the address of the bytes.
  size_t alignment() const;
  // Returns the XXH3-128 hash of the bytes as 32 hexadecimal digits. The first call reads all bytes
  // and keeps the result.
  const std::string& content_hash() const;
  // Hint that all bytes have been read and are not needed soon. Takes the pages of a mapped file
  // out of memory; the next read loads them again. Does nothing for other blobs.
  void DropPages() const;

  // Prefer the functions above.
  Blob(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, bool of_file = false)
      : bytes_(bytes), owner_(std::move(owner)), of_file_(of_file) {}

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  const bool of_file_;
  mutable std::once_flag hash_once_;
  mutable std::string hash_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_CONSTANTS_BLOB_H_
