#include "frontends/debug/compare_outputs.h"

namespace tenon {

Difference OutputComparer::Compare(std::span<const Tensor> actual, std::span<const Tensor> expected,
                                   size_t i) const {
  for (const StringPorts& ports : strings_) {
    if (i != ports.first && i != ports.first + 1) continue;
    return CompareStrings(actual.subspan(ports.first, 2), expected.subspan(ports.first, 2));
  }
  return compare_(actual[i], expected[i]);
}

}  // namespace tenon
