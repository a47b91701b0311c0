// The bytes of large constants, read in pieces and computed from those of others.
#ifndef TENON_IR_CORE_CONSTANTS_CONSTANT_BYTES_H_
#define TENON_IR_CORE_CONSTANTS_CONSTANT_BYTES_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "ir/core/attribute.h"
#include "ir/core/constants/blob.h"
#include "ir/core/constants/deferred_blob.h"

namespace tenon {

// The bytes of a large constant, stored or deferred: what a recipe reads. Immutable; copies share
// the bytes.
class ConstantBytes {
 public:
  // Stored or deferred bytes; not null.
  ConstantBytes(std::shared_ptr<const Blob> stored);            // NOLINT: the same bytes
  ConstantBytes(std::shared_ptr<const DeferredBlob> deferred);  // NOLINT: the same bytes
  // The bytes of `large`, which must be IsLargeElements.
  explicit ConstantBytes(Attribute large);

  size_t size() const { return stored_ != nullptr ? stored_->size() : deferred_->size(); }
  // The stored bytes; null if they are deferred.
  const std::shared_ptr<const Blob>& stored() const { return stored_; }
  // True if CopyRange may be called.
  bool in_pieces() const { return stored_ != nullptr || deferred_->in_pieces(); }
  // True if all bytes are those of mapped files, or computed from them.
  bool of_files() const;
  // The stored bytes, or those that the deferred ones are computed from.
  std::vector<std::shared_ptr<const Blob>> sources() const;
  // What a recipe that reads these bytes adds to its own: ", of " and their recipe. Empty for
  // stored bytes.
  std::string OfRecipe() const;

  // Returns the bytes, as DeferredBlob::Bytes. Null if there is no memory.
  std::shared_ptr<const Blob> Bytes() const;
  // As DeferredBlob::CopyRange.
  [[nodiscard]] bool CopyRange(size_t first, std::span<std::byte> to) const;

 private:
  std::shared_ptr<const Blob> stored_;
  std::shared_ptr<const DeferredBlob> deferred_;
};

// Concatenates `parts`, viewed as matrices of `rows` rows: each row of the result holds that row of
// every part in turn. Requires rows > 0 and that it divides the size of each part.
std::shared_ptr<const DeferredBlob> JoinBlobs(size_t rows, std::vector<ConstantBytes> parts);

// Calls `use` with the bytes of all elements in order, also of a splat, in pieces of a multiple of
// 64 bytes, except for the last. Deferred bytes are computed for it and not kept, and pages of a
// mapped file are dropped behind it. Returns the first error of `use`, or ResourceExhausted if
// there is no memory.
absl::Status ForEachPiece(Attribute elements,
                          absl::FunctionRef<absl::Status(std::span<const std::byte>)> use);

}  // namespace tenon

#endif  // TENON_IR_CORE_CONSTANTS_CONSTANT_BYTES_H_
