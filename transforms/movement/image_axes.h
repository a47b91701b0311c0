// Permutations that move the channels of images: axis 1 of [N, C, spatial…] to the end and back.
#ifndef TENON_TRANSFORMS_MOVEMENT_IMAGE_AXES_H_
#define TENON_TRANSFORMS_MOVEMENT_IMAGE_AXES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/attribute.h"
#include "ir/core/builder.h"

namespace tenon {

using Permutation = std::vector<int64_t>;

// transpose(x, ChannelsLast(rank)) moves the channels of x to the end. transpose(y,
// ChannelsFirst(rank)) moves the last axis of y to axis 1.
Permutation ChannelsLast(int64_t rank);
Permutation ChannelsFirst(int64_t rank);

// Returns the permutation that applies `first`, then `second`.
Permutation Compose(std::span<const int64_t> first, std::span<const int64_t> second);
bool IsIdentity(std::span<const int64_t> perm);

// True if permuting the axes of x keeps its elements in order: only axes of one element move.
bool KeepsOrder(Type x, std::span<const int64_t> perm);

// Returns x with its axes permuted: x itself, a reshape where that suffices, or a transpose. Errors
// are those of OpBuilder::CreateInferred.
absl::StatusOr<Value> Permuted(OpBuilder& builder, Location location, Value x,
                               std::span<const int64_t> perm);

// The attributes of an op on images with channels first, rewritten for channels last: axes, pads,
// sizes and so on. Returns nullopt if the op does not work along such axes, or not for images of
// rank `rank`.
struct ChannelsLastForm {
  std::vector<Attribute> slots;
  // The result has the same axes either way, because the op removes those that differ.
  bool same_result = false;
};
std::optional<ChannelsLastForm> AlongAxes(Operation& op, int64_t rank);

// A reshape of x that splits axes, a transpose by `perm`, and a reshape that joins axes to
// `result`: depth to space, or channel shuffle. Returns the same for channels last. Returns nullopt
// if the ops are not of that kind, if the batch axis moves, or if no channels of x become channels
// of the result.
struct PixelMove {
  std::vector<DimExpr> split;
  Permutation perm;
  std::vector<DimExpr> joined;
};
std::optional<PixelMove> ChannelsLastMove(Type x, Type split, std::span<const int64_t> perm,
                                          Type result);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_MOVEMENT_IMAGE_AXES_H_
