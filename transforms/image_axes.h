// Permutations that move the channels of images: axis 1 of [N, C, spatial…] to the end and back.
#ifndef TENON_TRANSFORMS_IMAGE_AXES_H_
#define TENON_TRANSFORMS_IMAGE_AXES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/attribute.h"
#include "ir/core/builder.h"

namespace tenon {

using Permutation = std::vector<int64_t>;

// transpose(x, ChannelsLast(rank)) has x's channels last; transpose(y, ChannelsFirst(rank)) has y's
// last axis as its channels.
Permutation ChannelsLast(int64_t rank);
Permutation ChannelsFirst(int64_t rank);

// The permutation that does `first`, then `second`.
Permutation Compose(std::span<const int64_t> first, std::span<const int64_t> second);
bool IsIdentity(std::span<const int64_t> perm);

// Does permuting x's axes keep its elements in their order: are only axes of one element moved?
bool KeepsOrder(Type x, std::span<const int64_t> perm);

// x with its axes permuted: x itself, a reshape where that is enough, or a transpose.
absl::StatusOr<Value> Permuted(OpBuilder& builder, Location location, Value x,
                               std::span<const int64_t> perm);

// The slots of an operation that works along the axes of an image with its channels first,
// rewritten for channels last: axes, pads, sizes and the like. Null where the operation is not of
// that kind, or does not do so for this image of rank `rank`.
struct ChannelsLastForm {
  std::vector<Attribute> slots;
  // The result has the same axes either way, because the ones that differ are gone.
  bool same_result = false;
};
std::optional<ChannelsLastForm> AlongAxes(Operation& op, int64_t rank);

// A reshape of x that splits its axes, a transpose of that by `perm`, and a reshape of that to
// `result` that joins axes: pixels and channels change places (depth to space, channel shuffle).
// The same from channels last to channels last. Null where that is not what the reshapes do, where
// the batch does not remain, or where no channels of x become channels of the result.
struct PixelMove {
  std::vector<DimExpr> split;
  Permutation perm;
  std::vector<DimExpr> joined;
};
std::optional<PixelMove> ChannelsLastMove(Type x, Type split, std::span<const int64_t> perm,
                                          Type result);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_IMAGE_AXES_H_
