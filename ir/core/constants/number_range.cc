#include "ir/core/constants/number_range.h"

#include <cstring>
#include <mutex>
#include <span>

#include "ir/base/guarded_read.h"
#include "ir/core/constants/constant_bytes.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/type.h"

namespace tenon {
namespace {

void Include(NumberRange& range, double x) {
  if (std::isnan(x)) {
    range.has_nan = true;
  } else if (std::isinf(x)) {
    range.has_infinity = true;
  } else {
    range.lowest = std::min(range.lowest, x);
    range.highest = std::max(range.highest, x);
    if (x == 0) range.has_zero = true;
    if (x != 0) range.smallest = std::min(range.smallest, std::abs(x));
  }
}

void Include(NumberRange& range, const NumberRange& other) {
  range.lowest = std::min(range.lowest, other.lowest);
  range.highest = std::max(range.highest, other.highest);
  range.smallest = std::min(range.smallest, other.smallest);
  range.has_zero |= other.has_zero;
  range.has_infinity |= other.has_infinity;
  range.has_nan |= other.has_nan;
}

// f32 is what large constants are: several independent extremes, which compilers keep in vectors.
NumberRange RangeOfFloats(const std::byte* bytes, size_t n) {
  constexpr size_t kLanes = 16;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float lowest[kLanes], highest[kLanes], smallest[kLanes];
  uint32_t zero[kLanes] = {}, infinity[kLanes] = {}, nan[kLanes] = {};
  std::fill_n(lowest, kLanes, kInfinity);
  std::fill_n(highest, kLanes, -kInfinity);
  std::fill_n(smallest, kLanes, kInfinity);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    float x[kLanes];
    std::memcpy(x, bytes + i * sizeof(float), sizeof(x));
    for (size_t k = 0; k < kLanes; ++k) {
      const float v = x[k], size = std::fabs(v);
      const bool is_finite = size < kInfinity;
      lowest[k] = is_finite && v < lowest[k] ? v : lowest[k];
      highest[k] = is_finite && v > highest[k] ? v : highest[k];
      smallest[k] = size != 0 && size < smallest[k] ? size : smallest[k];
      zero[k] |= size == 0;
      infinity[k] |= size == kInfinity;
      nan[k] |= v != v;
    }
  }
  NumberRange range;
  for (size_t k = 0; k < kLanes; ++k) {
    range.lowest = std::min<double>(range.lowest, lowest[k]);
    range.highest = std::max<double>(range.highest, highest[k]);
    range.smallest = std::min<double>(range.smallest, smallest[k]);
    range.has_zero |= zero[k] != 0;
    range.has_infinity |= infinity[k] != 0;
    range.has_nan |= nan[k] != 0;
  }
  for (; i < n; ++i) Include(range, LoadAsDouble(DType::kF32, bytes + i * sizeof(float)));
  return range;
}

NumberRange RangeOfBytes(DType dtype, std::span<const std::byte> bytes) {
  const size_t element = SizeOf(dtype), n = bytes.size() / element;
  if (dtype == DType::kF32) return RangeOfFloats(bytes.data(), n);
  NumberRange range;
  for (size_t i = 0; i < n; ++i) Include(range, LoadAsDouble(dtype, bytes.data() + i * element));
  return range;
}

}  // namespace

NumberRange RangeOf(Attribute elements) {
  TENON_CHECK_READ(elements && elements.kind() == Attribute::Kind::kElements);
  const LargeElementsStorage* storage = elements.storage()->large();
  const DType dtype = elements.type().dtype();
  if (storage == nullptr || (!storage->blob && !storage->deferred)) {
    if (elements.type().num_elements() == 0) return {};
    return RangeOfBytes(dtype, elements.raw_bytes());
  }
  ContextImpl& impl = ImplOf(elements.context());
  {
    std::lock_guard<std::mutex> lock(impl.range_mutex);
    const auto known = impl.ranges.find(storage);
    if (known != impl.ranges.end()) return known->second;
  }
  NumberRange range;
  const absl::Status status = ForEachPiece(elements, [&](std::span<const std::byte> piece) {
    Include(range, RangeOfBytes(dtype, piece));
    return absl::OkStatus();
  });
  if (!status.ok()) {
    NumberRange unknown;  // no memory to look at them: they may be anything
    unknown.has_infinity = unknown.has_nan = unknown.has_zero = true;
    return unknown;
  }
  std::lock_guard<std::mutex> lock(impl.range_mutex);
  impl.ranges.emplace(storage, range);
  return range;
}

double SmallestNormal(DType dtype) {
  return dtype == DType::kF16   ? 0x1p-14
         : dtype == DType::kF64 ? std::numeric_limits<double>::min()
                                : std::numeric_limits<float>::min();
}

double LargestFinite(DType dtype) {
  return dtype == DType::kF16    ? 65504
         : dtype == DType::kBF16 ? 255 * 0x1p120
         : dtype == DType::kF64  ? std::numeric_limits<double>::max()
                                 : std::numeric_limits<float>::max();
}

}  // namespace tenon
