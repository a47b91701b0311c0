#include "executor/control/held_value.h"

#include <algorithm>

#include "executor/memory/lasting_memory.h"
#include "ir/base/check.h"

namespace tenon {
namespace {

// What grows step by step gets room for more.
size_t Grown(size_t bytes, size_t capacity) { return std::max(bytes, capacity + capacity / 2); }

}  // namespace

void HeldValue::Set(const kernels::TensorView& view, std::shared_ptr<const void> of) {
  dtype = view.dtype;
  shape.assign(view.shape.begin(), view.shape.end());
  data = view.data;
  owner = std::move(of);
}

absl::StatusOr<std::shared_ptr<std::byte>> HeldMemory::Take(size_t bytes) {
  const auto is_free = [](const Block& block) {
    return block.memory == nullptr || block.memory.use_count() == 1;
  };
  auto block = std::find_if(blocks_.begin(), blocks_.end(), is_free);
  if (block == blocks_.end()) block = blocks_.insert(blocks_.end(), Block());
  if (block->memory == nullptr || block->capacity < bytes) {
    const size_t capacity = Grown(bytes, block->capacity);
    *block = Block();  // the old one goes first
    TENON_ASSIGN_OR_RETURN(block->memory, AllocateLasting(capacity));
    block->capacity = capacity;
  }
  return block->memory;
}

void HeldMemory::GiveAway() {
  for (Block& block : blocks_) {
    if (block.memory.use_count() > 1) block = Block();
  }
}

}  // namespace tenon
