#include "ir/core/constants/unpacked_blob.h"

#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon {

std::shared_ptr<const DeferredBlob> UnpackedBlob(ElementOrder order,
                                                 std::shared_ptr<const Blob> packed, size_t size) {
  TENON_CHECK(Fits(order, size, packed->size()));
  std::string recipe = fmt::format("unpacked: {}", order.Text());
  std::vector<std::shared_ptr<const Blob>> sources = {packed};
  auto fill = [order = std::move(order), packed = std::move(packed), size](std::byte* to) {
    Unpack(order, packed->bytes().data(), to, size);
    packed->DropPages();
    return true;
  };
  return std::make_shared<const DeferredBlob>(std::move(recipe), std::move(sources), size,
                                              std::move(fill));
}

}  // namespace tenon
