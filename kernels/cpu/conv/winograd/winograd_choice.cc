#include "kernels/cpu/conv/winograd/winograd_choice.h"

#include <algorithm>

#include "ir/base/ceil_div.h"

namespace tenon::kernels::cpu {
namespace {

// All costs count multiply-adds of one number.
constexpr double kWeightCost = 13.5;  // to read a weight from memory, where computing does not hide
                                      // it: 9.5 bytes against 32 multiply-adds a cycle
constexpr double kTransformCost = 12;  // of an element of the transformed image or of the sums
constexpr double kGain = 0.85;         // of the direct cost that is to be left at most
constexpr int64_t kFewest = 32;        // channels and filters, for products of a fair depth
constexpr int64_t kFewestTiles = 4;    // a group of them reads weights together

double Cost(const ImageGeometry& image, double products, double weights) {
  const auto size = static_cast<double>(image.channels * image.filters);
  return size * std::max(products, kWeightCost * weights);
}

}  // namespace

int WinogradTileSize(const ImageGeometry& image) {
  if (image.channels < kFewest || image.filters < kFewest) return 0;
  const auto pixels = static_cast<double>(image.batch * image.height * image.width);
  double least = kGain * Cost(image, 9 * pixels, 9);
  int best = 0;
  for (int size : {2, 4}) {
    const int64_t tiles = image.batch * CeilDiv(image.height, size) * CeilDiv(image.width, size);
    if (tiles < kFewestTiles) continue;
    const double points = (size + 2) * (size + 2), products = points * static_cast<double>(tiles);
    const double cost =
        Cost(image, products, points) +
        kTransformCost * products * static_cast<double>(image.channels + image.filters) / 2;
    if (cost < least) least = cost, best = size;
  }
  return best;
}

}  // namespace tenon::kernels::cpu
