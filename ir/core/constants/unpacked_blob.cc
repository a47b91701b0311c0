#include "ir/core/constants/unpacked_blob.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon {

std::shared_ptr<const DeferredBlob> UnpackedBlob(ElementOrder order, ConstantBytes packed,
                                                 size_t size) {
  TENON_CHECK(Fits(order, size, packed.size()));
  std::string recipe = fmt::format("unpacked: {}{}", order.Text(), packed.OfRecipe());
  std::vector<std::shared_ptr<const Blob>> sources = packed.sources();
  if (packed.stored() != nullptr) {
    auto fill = [order = std::move(order), packed = packed.stored()](size_t first,
                                                                     std::span<std::byte> to) {
      UnpackRange(order, packed->bytes().data(), first, to);
      packed->DropPages();
      return true;
    };
    return std::make_shared<const DeferredBlob>(std::move(recipe), std::move(sources), size,
                                                DeferredBlob::FillRange(std::move(fill)));
  }
  // Each part may need bytes from everywhere.
  auto fill = [order = std::move(order), packed = std::move(packed), size](std::byte* to) {
    const std::shared_ptr<const Blob> bytes = packed.Bytes();
    if (bytes != nullptr) Unpack(order, bytes->bytes().data(), to, size);
    return bytes != nullptr;
  };
  return std::make_shared<const DeferredBlob>(std::move(recipe), std::move(sources), size,
                                              std::move(fill));
}

}  // namespace tenon
