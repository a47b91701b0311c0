// Operations that only move the elements of one tensor, as a map from pieces to pieces.
#ifndef TENON_TRANSFORMS_MOVEMENT_MOVEMENT_REGION_H_
#define TENON_TRANSFORMS_MOVEMENT_MOVEMENT_REGION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/core/operation.h"

namespace tenon {

// For each result of movements in a block: the tensor from which all its elements come.
class MovementSources {
 public:
  // Adds the operations of a block; operands must come before users.
  void Add(Block& block);
  // The source of a value; the value itself if it is no result of a movement.
  Value Of(Value value) const;

 private:
  absl::flat_hash_map<ValueImpl*, Value> sources_;
};

// All movements between `root` and the tensor from which its elements come.
class MovementRegion {
 public:
  MovementRegion(Value root, const MovementSources& sources) : root_(root), sources_(sources) {}

  // Collects them. False if nothing would be gained, because pieces are short or copies have other
  // users.
  bool Build();

  // After Build: the position in the result for each piece of a sample of the source. A sample is
  // one index of a symbolic outermost extent; the whole tensor if that extent is a number.
  const std::vector<int64_t>& Table();
  Value source() const { return source_; }
  DimExpr samples() const { return sample_; }  // 1: the tensor is one sample
  int64_t piece() const { return piece_; }     // in elements
  int64_t PiecesOf(Type type) const { return SampleSize(type) / piece_; }

 private:
  using Indices = std::vector<int64_t>;

  bool ChooseSample();
  bool HoldsSamples(const Operation& op) const;
  bool SavesCopies();
  bool Collect();

  std::optional<int64_t> Outer(Type type) const;
  Indices SampleDims(Type type) const;
  int64_t SampleSize(Type type) const;
  int64_t PieceOf(Operation& op) const;

  const Indices& IndicesOf(Value value);
  Indices Moved(Value value);
  Indices Transposed(Operation& op);
  Indices Window(Value x, Value value, int64_t axis, int64_t start, int64_t step);
  Indices Joined(Operation& op);
  Indices Picked(Operation& op);

  Value root_;
  const MovementSources& sources_;
  Value source_;
  DimExpr sample_;
  int64_t piece_ = 0;
  int64_t min_piece_bytes_ = 0;  // what SavesCopies asks of a piece
  std::vector<Operation*> ops_;  // operands before users
  absl::flat_hash_set<const Operation*> inside_;
  absl::flat_hash_map<ValueImpl*, Indices> indices_;
};

}  // namespace tenon

#endif  // TENON_TRANSFORMS_MOVEMENT_MOVEMENT_REGION_H_
