// Contents of large constants that are made when somebody reads them.
#ifndef TENON_IR_CORE_DEFERRED_BLOB_H_
#define TENON_IR_CORE_DEFERRED_BLOB_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ir/core/attribute.h"
#include "ir/core/blob.h"

namespace tenon {

// Bytes that follow from other blobs, its sources, which may lie in a model's file. Who makes
// something of them can have them for a while; who has made it before knows it again by the recipe
// and the sources, and makes none. Immutable and thread-safe.
class DeferredBlob {
 public:
  // `fill` writes all `size` bytes, in any thread; false if it needs memory that there is not. What
  // it writes is a function of the bytes of the sources, which `recipe` names: with all that the
  // function depends on, and another name if it changes, because files outlive programs.
  DeferredBlob(std::string recipe, std::vector<std::shared_ptr<const Blob>> sources, size_t size,
               std::function<bool(std::byte*)> fill);

  const std::string& recipe() const { return recipe_; }
  std::span<const std::shared_ptr<const Blob>> sources() const { return sources_; }
  size_t size() const { return size_; }
  // Writes all size() bytes. The pages of sources in a file leave the memory then. False: there is
  // no memory for it, and `to` holds anything.
  [[nodiscard]] bool CopyTo(std::byte* to) const;
  // The bytes, made by this call and not kept unless there is a Whole() already. Null: there is no
  // memory.
  std::shared_ptr<const Blob> Bytes() const;
  // The bytes, made by the first call and kept. REQUIRES memory for them, as all below.
  const std::shared_ptr<const Blob>& Whole() const;
  bool has_whole() const { return has_whole_.load(std::memory_order_relaxed); }
  // As of a Blob. The bytes are not kept for it.
  const std::string& content_hash() const;
  // The first `element` bytes, 1, 2, 4 or 8, if all the bytes are copies of them; else none. The
  // bytes are not kept for it.
  std::span<const std::byte> RepeatedElement(size_t element) const;

 private:
  void Inspect() const;

  const std::string recipe_;
  const std::vector<std::shared_ptr<const Blob>> sources_;
  const size_t size_;
  const std::function<bool(std::byte*)> fill_;
  mutable std::once_flag once_;
  mutable std::shared_ptr<const Blob> whole_;
  mutable std::atomic<bool> has_whole_{false};
  mutable std::once_flag inspect_once_;
  mutable std::string hash_;
  mutable std::array<std::byte, 8> first_;
  mutable size_t repeated_ = 0;  // the sum of the sizes of elements that repeat
};

// What a concatenation of constants is: `rows` times the next run of bytes of each part in turn. A
// part's runs are all of its size / rows. REQUIRES: rows > 0 divides the size of each part.
std::shared_ptr<const DeferredBlob> JoinBlobs(size_t rows,
                                              std::vector<std::shared_ptr<const Blob>> parts);

// Elements whose bytes are those of `deferred`, as any others: their raw_bytes() and blob() are its
// Whole(). REQUIRES: more than Attribute::kInlineBytes.
Attribute DeferredElements(Context& context, Type type,
                           std::shared_ptr<const DeferredBlob> deferred);

// How elements that are kept so are made; null for all others.
std::shared_ptr<const DeferredBlob> DeferredBlobOf(Attribute elements);

// As raw_bytes().size(), and as blob() != nullptr, without making any bytes.
size_t StoredBytes(Attribute elements);
bool IsLargeElements(Attribute elements);

// Of large elements, as blob()->content_hash(). What is made for it is not kept.
const std::string& ContentHash(Attribute large);
// The one element of which deferred elements are copies: made before, they would be a splat, and
// their text is that of one. Empty for all others.
std::span<const std::byte> RepeatedElement(Attribute elements);

}  // namespace tenon

#endif  // TENON_IR_CORE_DEFERRED_BLOB_H_
