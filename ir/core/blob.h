// Immutable shared bytes: the contents of large constants.
#ifndef TENON_IR_CORE_BLOB_H_
#define TENON_IR_CORE_BLOB_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tenon {

// Bytes owned by whatever `owner` keeps alive (a heap buffer, a mapped file). Immutable and
// thread-safe. The content hash is computed once, when first asked for.
class Blob {
 public:
  // Takes the bytes; 64-byte aligned.
  static std::shared_ptr<const Blob> Copy(std::span<const std::byte> bytes);
  // A 64-byte aligned buffer that `fill` writes once.
  static std::shared_ptr<const Blob> Make(size_t size, const std::function<void(std::byte*)>& fill);
  // Borrowed bytes, valid as long as `owner`. Their alignment is what the address has.
  static std::shared_ptr<const Blob> Borrow(std::span<const std::byte> bytes,
                                            std::shared_ptr<const void> owner);
  // The same, of a read-only mapping of a file.
  static std::shared_ptr<const Blob> OfFile(std::span<const std::byte> bytes,
                                            std::shared_ptr<const void> owner);

  std::span<const std::byte> bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  // Its bytes are those of a file: the memory that they take may be given up at any time.
  bool of_file() const { return of_file_; }
  // Largest power of two, at most 4096, that divides the address.
  size_t alignment() const;
  // 32 hex digits of XXH3-128 over the bytes.
  const std::string& content_hash() const;
  // For who has read all of it and does not expect to soon again: bytes of a file leave the memory
  // until somebody reads them.
  void DropPages() const;

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

#endif  // TENON_IR_CORE_BLOB_H_
