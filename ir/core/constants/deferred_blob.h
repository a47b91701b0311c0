// Contents of large constants that are computed only when they are read.
#ifndef TENON_IR_CORE_CONSTANTS_DEFERRED_BLOB_H_
#define TENON_IR_CORE_CONSTANTS_DEFERRED_BLOB_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "ir/core/attribute.h"
#include "ir/core/constants/blob.h"

namespace tenon {

// Bytes that are computed from other blobs, the sources. The sources may lie in the mapped model
// file, so that the computed bytes need no memory until they are read. A cache recognizes the
// result by `recipe` and the sources, without computing it. Immutable and thread-safe.
class DeferredBlob {
 public:
  // `fill` writes all `size` bytes; it may run in any thread, more than once. It returns false if
  // it runs out of memory. Its output must depend on the bytes of `sources` and on `recipe` alone.
  // Put all parameters of the computation into `recipe`, and rename it when the computation
  // changes: caches on disk outlive programs.
  DeferredBlob(std::string recipe, std::vector<std::shared_ptr<const Blob>> sources, size_t size,
               std::function<bool(std::byte*)> fill);
  // The same for bytes of which any part can be computed alone: `fill` writes those from `first`
  // on. `first` and the end of the part lie between elements.
  using FillRange = std::function<bool(size_t first, std::span<std::byte> to)>;
  DeferredBlob(std::string recipe, std::vector<std::shared_ptr<const Blob>> sources, size_t size,
               FillRange fill);

  const std::string& recipe() const { return recipe_; }
  std::span<const std::shared_ptr<const Blob>> sources() const { return sources_; }
  size_t size() const { return size_; }
  // Writes all size() bytes to `to`. Returns false if there is no memory for the computation; `to`
  // then holds unspecified bytes. The pages of sources in mapped files are dropped afterward.
  [[nodiscard]] bool CopyTo(std::byte* to) const;
  // True if parts can be computed alone.
  bool in_pieces() const { return has_whole() || fill_range_ != nullptr; }
  // Writes the bytes from `first` on to `to`. Returns false as CopyTo does. Requires in_pieces(),
  // and that the part begins and ends between elements.
  [[nodiscard]] bool CopyRange(size_t first, std::span<std::byte> to) const;
  // Calls `use` with all bytes in order, in pieces of a multiple of 64 bytes, except for the last.
  // Keeps none of them, and needs memory for one piece if in_pieces(), otherwise for all. Stops
  // where `use` returns false. Returns false then, and if there is no memory.
  [[nodiscard]] bool ForEachPiece(absl::FunctionRef<bool(std::span<const std::byte>)> use) const;
  // Returns the bytes, computed by this call and not kept, or those of an earlier Whole(). Null if
  // there is no memory.
  std::shared_ptr<const Blob> Bytes() const;
  // Returns the bytes, computed by the first call and kept. Throws std::bad_alloc if there is no
  // memory for them; so do all functions below.
  const std::shared_ptr<const Blob>& Whole() const;
  bool has_whole() const { return has_whole_.load(std::memory_order_relaxed); }
  // As Blob::content_hash. Computes the bytes once and does not keep them.
  const std::string& content_hash() const;
  // If all bytes repeat their first `element` bytes (1, 2, 4 or 8), returns those; otherwise an
  // empty span. Computes the bytes once and does not keep them.
  std::span<const std::byte> RepeatedElement(size_t element) const;

 private:
  void Inspect() const;

  const std::string recipe_;
  const std::vector<std::shared_ptr<const Blob>> sources_;
  const size_t size_;
  const std::function<bool(std::byte*)> fill_;
  const FillRange fill_range_;  // null: all at once, by fill_
  mutable std::once_flag once_;
  mutable std::shared_ptr<const Blob> whole_;
  mutable std::atomic<bool> has_whole_{false};
  mutable std::once_flag inspect_once_;
  mutable std::string hash_;
  mutable std::array<std::byte, 8> first_;
  mutable size_t repeated_ = 0;  // the sum of the sizes of elements that repeat
};

// Returns Elements of static type `type` with the bytes of `deferred`. raw_bytes() and blob()
// compute and keep them (Whole). Requires more than Attribute::kInlineBytes bytes.
Attribute DeferredElements(Context& context, Type type,
                           std::shared_ptr<const DeferredBlob> deferred);

// Returns the deferred contents of `elements`; null if the contents are stored.
std::shared_ptr<const DeferredBlob> DeferredBlobOf(Attribute elements);

// StoredBytes is raw_bytes().size() and IsLargeElements is blob() != nullptr, both without
// computing any bytes. IsLargeElements is false for null and for other kinds.
size_t StoredBytes(Attribute elements);
bool IsLargeElements(Attribute elements);

// The content hash of large elements. Deferred bytes are computed for it and not kept.
const std::string& ContentHash(Attribute large);
// If `elements` are deferred and all equal, returns the bytes of one element; otherwise an empty
// span. Such elements print as a splat.
std::span<const std::byte> RepeatedElement(Attribute elements);

}  // namespace tenon

#endif  // TENON_IR_CORE_CONSTANTS_DEFERRED_BLOB_H_
