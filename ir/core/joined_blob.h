// Large constants side by side, not yet put together.
#ifndef TENON_IR_CORE_JOINED_BLOB_H_
#define TENON_IR_CORE_JOINED_BLOB_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ir/core/attribute.h"
#include "ir/core/blob.h"

namespace tenon {

// What a concatenation of constants is: `rows` times the next run of bytes of each part in turn. A
// part's runs are all of its size / rows. Who can, reads the parts, which may lie in a model's
// file; the bytes together are made when somebody asks for them. Immutable and thread-safe.
class JoinedBlob {
 public:
  // REQUIRES: rows > 0 divides the size of each part.
  JoinedBlob(size_t rows, std::vector<std::shared_ptr<const Blob>> parts);

  size_t rows() const { return rows_; }
  std::span<const std::shared_ptr<const Blob>> parts() const { return parts_; }
  size_t size() const { return size_; }
  // Writes all size() bytes, a part after the other, whose pages of a file leave the memory then.
  void CopyTo(std::byte* to) const;
  // The bytes together, made by the first call and kept.
  const std::shared_ptr<const Blob>& Whole() const;
  bool has_whole() const { return has_whole_.load(std::memory_order_relaxed); }
  // Of the bytes together, which are not kept for it. Computed by the first call.
  const std::string& content_hash() const;

 private:
  size_t rows_;
  std::vector<std::shared_ptr<const Blob>> parts_;
  size_t size_ = 0;
  mutable std::once_flag once_;
  mutable std::shared_ptr<const Blob> whole_;
  mutable std::atomic<bool> has_whole_{false};
  mutable std::once_flag hash_once_;
  mutable std::string hash_;
};

// Elements whose bytes are those of `joined`, as any others: their raw_bytes() and blob() are the
// bytes together. REQUIRES: a part whose elements are not all equal, which makes them more than
// Attribute::kInlineBytes.
Attribute JoinedElements(Context& context, Type type, std::shared_ptr<const JoinedBlob> joined);

// The parts of elements that are kept so; null for all others.
std::shared_ptr<const JoinedBlob> JoinedBlobOf(Attribute elements);

// As raw_bytes().size(), and as blob() != nullptr, without putting anything together.
size_t StoredBytes(Attribute elements);
bool IsLargeElements(Attribute elements);

}  // namespace tenon

#endif  // TENON_IR_CORE_JOINED_BLOB_H_
