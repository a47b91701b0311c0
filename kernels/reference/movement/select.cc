// Reference kernels that select by value: positions that are not zero, distinct elements; and
// reversal up to a length.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "kernels/calls/found_results.h"
#include "kernels/calls/unique_slices.h"
#include "kernels/checked_index.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

KernelStatus NonZero(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  const int64_t n = x.numel(), count = out.shape[1];
  StridedWalk<0> walk(x.shape, {});
  int64_t found = 0;
  for (int64_t i = 0; i < n; ++i, walk.Next()) {
    if (DoubleAt(x, i) == 0) continue;
    if (found == count) return KernelStatus::Internal("more elements than were counted");
    for (int64_t axis = 0; axis < x.rank(); ++axis) {
      out.as<int64_t>()[axis * count + found] = walk.index()[axis];
    }
    ++found;
  }
  return KernelStatus::Ok();
}

KernelStatus Unique(const RunArgs& args) {
  const auto& attrs = args.get<ten::UniqueAttrs>();
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  UniqueSlices own;
  const auto* kept = KeptOf<UniqueSlices>(args);
  if (kept == nullptr) {
    own = FindUniqueSlices(x, attrs.axis, attrs.flat, attrs.sorted);
    kept = &own;
  }
  const UniqueSlices& slices = *kept;
  const size_t axis = attrs.flat ? 0 : static_cast<size_t>(attrs.axis);
  const int64_t extent = attrs.flat ? x.numel() : x.shape[axis];
  const int64_t outer = attrs.flat ? 1 : Product(x.shape.first(axis));
  const int64_t inner = attrs.flat ? 1 : Product(x.shape.subspan(axis + 1));
  const int64_t bytes = inner * static_cast<int64_t>(SizeOf(x.dtype));
  const auto count = static_cast<int64_t>(slices.first.size());
  for (int64_t o = 0; o < outer && bytes > 0; ++o) {
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(out.as<char>() + (o * count + i) * bytes,
                  x.as<char>() + (o * extent + slices.first[i]) * bytes, bytes);
    }
  }
  const std::vector<int64_t>* lists[] = {&slices.first, &slices.inverse, &slices.counts};
  for (int i = 0; i < 3; ++i) {
    std::copy(lists[i]->begin(), lists[i]->end(), args.outputs[1 + i].as<int64_t>());
  }
  return KernelStatus::Ok();
}

KernelStatus ReverseSequence(const RunArgs& args) {
  const auto& attrs = args.get<ten::ReverseSequenceAttrs>();
  const TensorView &x = args.inputs[0], &lengths = args.inputs[1], &out = args.outputs[0];
  const int64_t batch_axis = attrs.batch_axis, time_axis = attrs.time_axis, n = x.numel();
  if (batch_axis < 0 || batch_axis >= x.rank() || time_axis < 0 || time_axis >= x.rank()) {
    return KernelStatus::Invalid(
        "batch_axis and time_axis are not axes of x (expected two of them)");
  }
  if (lengths.numel() != x.shape[batch_axis]) {
    return KernelStatus::Invalid("lengths has " + std::to_string(lengths.numel()) +
                                 " elements for a batch of " + std::to_string(x.shape[batch_axis]) +
                                 " (expected one for each)");
  }
  for (int64_t b = 0; b < lengths.numel(); ++b) {
    KernelStatus status = CheckLength(b, IndexAt(lengths, b), x.shape[time_axis]);
    if (!status.ok()) return status;
  }
  const int64_t stride = RowMajorStrides(x.shape)[time_axis];
  return DispatchSize(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    StridedWalk<0> walk(x.shape, {});
    for (int64_t i = 0; i < n; ++i, walk.Next()) {
      const int64_t t = walk.index()[time_axis];
      const int64_t length = IndexAt(lengths, walk.index()[batch_axis]);
      const int64_t from = t < length ? length - 1 - t : t;
      out.as<T>()[i] = x.as<T>()[i + (from - t) * stride];
    }
    return KernelStatus::Ok();
  });
}

// -1, 0 or 1, NaN above all numbers.
template <typename C>
int Order(C a, C b) {
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan || b_nan) return static_cast<int>(a_nan) - static_cast<int>(b_nan);
  return a < b ? -1 : a > b ? 1 : 0;
}

template <typename T>
UniqueSlices FindUnique(const T* x, int64_t outer, int64_t extent, int64_t inner, bool sorted) {
  const auto compare = [&](int64_t a, int64_t b) {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const int order = Order(static_cast<Compute<T>>(x[(o * extent + a) * inner + i]),
                                static_cast<Compute<T>>(x[(o * extent + b) * inner + i]));
        if (order != 0) return order;
      }
    }
    return 0;
  };
  std::vector<int64_t> order(extent);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const int c = compare(a, b);
    return c != 0 ? c < 0 : a < b;
  });
  UniqueSlices slices;
  slices.inverse.resize(extent);
  for (int64_t i = 0; i < extent; ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) {
      slices.first.push_back(order[i]);
      slices.counts.push_back(0);
    }
    ++slices.counts.back();
    slices.inverse[order[i]] = static_cast<int64_t>(slices.first.size()) - 1;
  }
  if (sorted) return slices;
  // By first appearance.
  std::vector<int64_t> by_first(slices.first.size()), rank(slices.first.size());
  std::iota(by_first.begin(), by_first.end(), 0);
  std::sort(by_first.begin(), by_first.end(),
            [&](int64_t a, int64_t b) { return slices.first[a] < slices.first[b]; });
  UniqueSlices result;
  for (size_t i = 0; i < by_first.size(); ++i) {
    result.first.push_back(slices.first[by_first[i]]);
    result.counts.push_back(slices.counts[by_first[i]]);
    rank[by_first[i]] = static_cast<int64_t>(i);
  }
  for (int64_t i : slices.inverse) result.inverse.push_back(rank[i]);
  return result;
}

}  // namespace

UniqueSlices FindUniqueSlices(const TensorView& x, int64_t axis, bool flat, bool sorted) {
  const int64_t outer = flat ? 1 : Product(x.shape.first(axis));
  const int64_t extent = flat ? x.numel() : x.shape[axis];
  const int64_t inner = flat ? 1 : Product(x.shape.subspan(axis + 1));
  UniqueSlices slices;
  // Every dtype is dispatched.
  (void)DispatchAny(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    slices = FindUnique(x.as<T>(), outer, extent, inner, sorted);
    return KernelStatus::Ok();
  });
  return slices;
}

Kernel RefNonzero() { return {.op = "ten.nonzero", .name = "ref.nonzero", .run = NonZero}; }

Kernel RefReverseSequence() {
  return {.op = "ten.reverse_sequence", .name = "ref.reverse_sequence", .run = ReverseSequence};
}

Kernel RefUnique() { return {.op = "ten.unique", .name = "ref.unique", .run = Unique}; }

}  // namespace tenon::kernels
