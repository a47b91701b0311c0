#include "kernels/kernel.h"

#include <algorithm>
#include <cstdlib>

namespace tenon::kernels {

PackedBytes PrepareArgs::Pack(std::span<const int> from, std::string_view layout, size_t bytes,
                              const std::function<void(std::byte*)>& fill) const {
  if (weights != nullptr) return weights->Pack(from, layout, bytes, fill);
  const size_t size = (std::max<size_t>(bytes, 1) + 63) / 64 * 64;
  std::shared_ptr<std::byte> memory(static_cast<std::byte*>(std::aligned_alloc(64, size)),
                                    std::free);
  if (memory != nullptr) fill(memory.get());
  return memory;
}

}  // namespace tenon::kernels
