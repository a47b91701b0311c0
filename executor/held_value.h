// Values that regions are given and make, and memory for them that is kept from run to run.
#ifndef TENON_EXECUTOR_HELD_VALUE_H_
#define TENON_EXECUTOR_HELD_VALUE_H_

#include <memory>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "executor/tensor.h"

namespace tenon {

// A dense tensor and what keeps its bytes alive. Another one is assigned without an allocation.
struct HeldValue {
  DType dtype = DType::kInvalid;
  absl::InlinedVector<int64_t, 6> shape;
  void* data = nullptr;
  std::shared_ptr<const void> owner;  // null: somebody else's business

  void Set(const kernels::TensorView& view, std::shared_ptr<const void> of);
  kernels::TensorView view() const { return {data, dtype, shape}; }
  Tensor tensor() const { return Tensor::Borrow(dtype, shape, data, owner); }
};

// Blocks of memory for one value, which a computation makes again and again. A block is free when
// nobody else holds it. Not thread-safe.
class HeldMemory {
 public:
  // The first block that is free, made anew where it is too small. So a sequence of requests that
  // comes again, with blocks let go at the same points, allocates nothing.
  absl::StatusOr<std::shared_ptr<std::byte>> Take(size_t bytes);
  // Blocks that others hold are theirs alone from here on.
  void GiveAway();

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;
    size_t capacity = 0;
  };
  std::vector<Block> blocks_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_HELD_VALUE_H_
