// Values that enter and leave regions, and memory for them that is kept between runs.
#ifndef TENON_EXECUTOR_CONTROL_HELD_VALUE_H_
#define TENON_EXECUTOR_CONTROL_HELD_VALUE_H_

#include <memory>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "executor/tensor.h"

namespace tenon {

// A dense tensor and the owner of its bytes. Assigning another one allocates nothing.
struct HeldValue {
  DType dtype = DType::kInvalid;
  absl::InlinedVector<int64_t, 6> shape;
  void* data = nullptr;
  std::shared_ptr<const void> owner;  // null: the bytes belong to somebody else

  void Set(const kernels::TensorView& view, std::shared_ptr<const void> of);
  kernels::TensorView view() const { return {data, dtype, shape}; }
  Tensor tensor() const { return Tensor::Borrow(dtype, shape, data, owner); }
};

// Blocks of memory for a value that is computed again and again. A block is free when nobody else
// holds it. Not thread-safe.
class HeldMemory {
 public:
  // Returns the first free block, reallocated if it is too small. A repeated sequence of requests
  // and releases allocates nothing.
  absl::StatusOr<std::shared_ptr<std::byte>> Take(size_t bytes);
  // Leaves blocks that others hold to them.
  void GiveAway();

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;
    size_t capacity = 0;
  };
  std::vector<Block> blocks_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_CONTROL_HELD_VALUE_H_
