// Reference kernels of reductions and of running sums.
#include <cmath>
#include <limits>
#include <string>

#include "kernels/checked_index.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

// A fold of elements of type T: Start, Step(accumulator, element), Finish(accumulator, count).
template <typename T>
struct SumFold {
  using Acc = Accumulate<T>;
  static Acc Start() { return 0; }
  static Acc Step(Acc acc, T v) { return acc + static_cast<Acc>(static_cast<Compute<T>>(v)); }
  static T Finish(Acc acc, int64_t) { return static_cast<T>(acc); }
};

template <typename T>
struct MeanFold : SumFold<T> {
  using Acc = Accumulate<T>;
  static T Finish(Acc acc, int64_t count) {
    if constexpr (kIsFloat<T>) {
      return static_cast<T>(acc / static_cast<double>(count));
    } else {
      if (count == 0) return 0;
      // The wrapped sum is read back with T's sign; integers truncate.
      if constexpr (std::is_signed_v<T>) return static_cast<T>(static_cast<int64_t>(acc) / count);
      return static_cast<T>(acc / static_cast<uint64_t>(count));
    }
  }
};

template <typename T>
struct ProdFold : SumFold<T> {
  using Acc = Accumulate<T>;
  static Acc Start() { return 1; }
  static Acc Step(Acc acc, T v) { return acc * static_cast<Acc>(static_cast<Compute<T>>(v)); }
};

template <typename T>
struct L2Fold {
  static double Start() { return 0; }
  static double Step(double acc, T v) {
    const double d = static_cast<double>(static_cast<Compute<T>>(v));
    return acc + d * d;
  }
  static T Finish(double acc, int64_t) { return Convert<T>(std::sqrt(acc)); }
};

// log(sum(e^v)) with a running maximum, so that nothing overflows. An infinite maximum is the
// result.
template <typename T>
struct LogSumExpFold {
  struct Acc {
    double max = -std::numeric_limits<double>::infinity();
    double sum = 0;
  };
  static Acc Start() { return {}; }
  static Acc Step(Acc acc, T v) {
    const double d = static_cast<double>(static_cast<Compute<T>>(v));
    if (std::isnan(d) || std::isnan(acc.max)) {
      acc.max = std::numeric_limits<double>::quiet_NaN();
    } else if (d > acc.max) {
      acc.sum = acc.sum * std::exp(acc.max - d) + 1;
      acc.max = d;
    } else if (d == acc.max) {
      acc.sum += 1;
    } else {
      acc.sum += std::exp(d - acc.max);
    }
    return acc;
  }
  static T Finish(Acc acc, int64_t) {
    return Convert<T>(std::isinf(acc.max) ? acc.max : acc.max + std::log(acc.sum));
  }
};

template <typename T>
struct MaxFold {
  using C = Compute<T>;
  static C Start() {
    if constexpr (kIsFloat<T>) return -std::numeric_limits<C>::infinity();
    return std::numeric_limits<C>::lowest();
  }
  // NaN wins, and stays.
  static C Step(C acc, T v) {
    const C c = static_cast<C>(v);
    return acc < c || c != c ? c : acc;
  }
  static T Finish(C acc, int64_t) { return static_cast<T>(acc); }
};

template <typename T>
struct MinFold : MaxFold<T> {
  using C = Compute<T>;
  static C Start() {
    if constexpr (kIsFloat<T>) return std::numeric_limits<C>::infinity();
    return std::numeric_limits<C>::max();
  }
  static C Step(C acc, T v) {
    const C c = static_cast<C>(v);
    return c < acc || c != c ? c : acc;
  }
};

// Walks the kept axes outside and the reduced axes inside.
template <template <typename> class Fold, typename T>
KernelStatus Reduce(const TensorView& x, const TensorView& out, std::span<const int64_t> axes) {
  const Dims strides = RowMajorStrides(x.shape);
  Dims kept, kept_strides, reduced, reduced_strides;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    bool is_reduced = false;
    for (int64_t a : axes) is_reduced |= NormalizeAxis(a, x.rank()) == axis;
    (is_reduced ? reduced : kept).push_back(x.shape[axis]);
    (is_reduced ? reduced_strides : kept_strides).push_back(strides[axis]);
  }
  const int64_t count = Product(View(reduced)), results = Product(View(kept));
  StridedWalk<1> outer(View(kept), {kept_strides});
  for (int64_t i = 0; i < results; ++i, outer.Next()) {
    auto acc = Fold<T>::Start();
    StridedWalk<1> inner(View(reduced), {reduced_strides});
    for (int64_t j = 0; j < count; ++j, inner.Next()) {
      acc = Fold<T>::Step(acc, x.as<T>()[outer[0] + inner[0]]);
    }
    out.as<T>()[i] = Fold<T>::Finish(acc, count);
  }
  return KernelStatus::Ok();
}

template <template <typename> class Fold, typename Attrs>
KernelStatus RunReduce(const RunArgs& args) {
  return DispatchAny(args.inputs[0].dtype, [&](auto tag) {
    return Reduce<Fold, typename decltype(tag)::type>(args.inputs[0], args.outputs[0],
                                                      args.get<Attrs>().axes);
  });
}

template <template <typename> class Fold>
KernelStatus ReduceOver(const RunArgs& args, std::span<const int64_t> axes) {
  return DispatchAny(args.inputs[0].dtype, [&](auto tag) {
    return Reduce<Fold, typename decltype(tag)::type>(args.inputs[0], args.outputs[0], axes);
  });
}

KernelStatus DynamicReduce(const RunArgs& args) {
  const auto& attrs = args.get<ten::DynamicReduceAttrs>();
  const TensorView &x = args.inputs[0], &list = args.inputs[1];
  Dims axes;
  if (KernelStatus status = ReadAxes(list, x.rank(), axes); !status.ok()) return status;
  if (axes.empty() && !attrs.noop_with_empty_axes) {
    for (int64_t axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  }
  switch (attrs.kind) {
    case ten::DynamicReduceKind::kSum:
      return ReduceOver<SumFold>(args, View(axes));
    case ten::DynamicReduceKind::kMean:
      return ReduceOver<MeanFold>(args, View(axes));
    case ten::DynamicReduceKind::kMax:
      return ReduceOver<MaxFold>(args, View(axes));
    case ten::DynamicReduceKind::kMin:
      return ReduceOver<MinFold>(args, View(axes));
    case ten::DynamicReduceKind::kProd:
      return ReduceOver<ProdFold>(args, View(axes));
    case ten::DynamicReduceKind::kL2:
      return ReduceOver<L2Fold>(args, View(axes));
    case ten::DynamicReduceKind::kLogSumExp:
      return ReduceOver<LogSumExpFold>(args, View(axes));
  }
  return KernelStatus::Internal("no such reduction");
}

// How a running sum or product is made.
struct Running {
  int64_t axis;
  bool product, exclusive, reverse;
};

KernelStatus RunCumulate(const RunArgs& args, const Running& running) {
  const TensorView& x = args.inputs[0];
  if (x.numel() == 0) return KernelStatus::Ok();
  const int64_t axis = running.axis;
  const int64_t extent = x.shape[axis], inner = Product(x.shape.subspan(axis + 1));
  const int64_t outer = Product(x.shape.first(axis));
  return DispatchNumber(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        Accumulate<T> total = running.product ? 1 : 0;
        for (int64_t step = 0; step < extent; ++step) {
          const int64_t position = running.reverse ? extent - 1 - step : step;
          const int64_t at = (o * extent + position) * inner + i;
          const auto v = static_cast<Accumulate<T>>(static_cast<Compute<T>>(x.as<T>()[at]));
          const Accumulate<T> next = running.product ? total * v : total + v;
          args.outputs[0].as<T>()[at] = static_cast<T>(running.exclusive ? total : next);
          total = next;
        }
      }
    }
    return KernelStatus::Ok();
  });
}

KernelStatus CumSum(const RunArgs& args) {
  const auto& attrs = args.get<ten::CumsumAttrs>();
  const int64_t axis = NormalizeAxis(attrs.axis, args.inputs[0].rank());
  return RunCumulate(args, {axis, false, attrs.exclusive, attrs.reverse});
}

KernelStatus Cumulate(const RunArgs& args) {
  const auto& attrs = args.get<ten::CumulateAttrs>();
  const int64_t rank = args.inputs[0].rank();
  Dims axes;
  if (KernelStatus status = ReadAxes(args.inputs[1], rank, axes); !status.ok()) return status;
  if (axes.size() != 1) {
    return KernelStatus::Invalid("axis has " + std::to_string(axes.size()) +
                                 " elements (expected 1)");
  }
  return RunCumulate(args, {axes[0], attrs.product, attrs.exclusive, attrs.reverse});
}

}  // namespace

Kernel RefCumSum() { return {.op = "ten.cumsum", .name = "ref.cumsum", .run = CumSum}; }

Kernel RefCumulate() { return {.op = "ten.cumulate", .name = "ref.cumulate", .run = Cumulate}; }

Kernel RefDynamicReduce() {
  return {.op = "ten.dynamic_reduce", .name = "ref.dynamic_reduce", .run = DynamicReduce};
}

Kernel RefReduceL2() {
  return {
      .op = "ten.reduce_l2", .name = "ref.reduce_l2", .run = RunReduce<L2Fold, ten::ReduceL2Attrs>};
}

Kernel RefReduceLogSumExp() {
  return {.op = "ten.reduce_log_sum_exp",
          .name = "ref.reduce_log_sum_exp",
          .run = RunReduce<LogSumExpFold, ten::ReduceLogSumExpAttrs>};
}

Kernel RefReduceMax() {
  return {.op = "ten.reduce_max",
          .name = "ref.reduce_max",
          .run = RunReduce<MaxFold, ten::ReduceMaxAttrs>};
}

Kernel RefReduceMean() {
  return {.op = "ten.reduce_mean",
          .name = "ref.reduce_mean",
          .run = RunReduce<MeanFold, ten::ReduceMeanAttrs>};
}

Kernel RefReduceMin() {
  return {.op = "ten.reduce_min",
          .name = "ref.reduce_min",
          .run = RunReduce<MinFold, ten::ReduceMinAttrs>};
}

Kernel RefReduceProd() {
  return {.op = "ten.reduce_prod",
          .name = "ref.reduce_prod",
          .run = RunReduce<ProdFold, ten::ReduceProdAttrs>};
}

Kernel RefReduceSum() {
  return {.op = "ten.reduce_sum",
          .name = "ref.reduce_sum",
          .run = RunReduce<SumFold, ten::ReduceSumAttrs>};
}

}  // namespace tenon::kernels
