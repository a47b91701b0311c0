// Reference kernels of elementwise ops with several operands, broadcast by numpy's rules.
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/reference/elementwise/map.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

template <typename F>
KernelStatus ZipNumber(const RunArgs& args, F f) {
  return DispatchNumber(args.inputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return Zip<T, T>(args, f);
  });
}

template <typename F>
KernelStatus ZipCompare(const RunArgs& args, F f) {
  return DispatchAny(args.inputs[0].dtype,
                     [&](auto tag) { return Zip<typename decltype(tag)::type, uint8_t>(args, f); });
}

// Integer +, -, * wrap around.
template <typename T, typename F>
T Arithmetic(T a, T b, F f) {
  if constexpr (std::is_floating_point_v<T>) {
    return f(a, b);
  } else {
    return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  }
}

bool AnyZero(const TensorView& view) {
  const int64_t n = view.numel();
  for (int64_t i = 0; i < n; ++i) {
    if (IndexAt(view, i) == 0) return true;
  }
  return false;
}

KernelStatus CheckDivisor(const RunArgs& args) {
  if (IsInt(args.inputs[1].dtype) && args.outputs[0].numel() > 0 && AnyZero(args.inputs[1])) {
    return KernelStatus::Invalid("integer division by zero: the second operand holds a zero");
  }
  return KernelStatus::Ok();
}

template <typename T>
T Divide(T a, T b) {
  if constexpr (std::is_signed_v<T> && !std::is_floating_point_v<T>) {
    // The most negative number over -1 wraps; the hardware would trap.
    if (b == T{-1}) return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a));
  }
  return static_cast<T>(a / b);
}

template <typename T>
T Modulo(T a, T b, bool fmod) {
  if constexpr (std::is_floating_point_v<T>) {
    T r = std::fmod(a, b);
    if (!fmod && r != 0 && (r < 0) != (b < 0)) r += b;
    return r;
  } else if constexpr (std::is_signed_v<T>) {
    if (b == T{-1}) return 0;
    T r = static_cast<T>(a % b);
    if (!fmod && r != 0 && (r < 0) != (b < 0)) r = static_cast<T>(r + b);
    return r;
  } else {
    return static_cast<T>(a % b);
  }
}

template <typename T>
T Max(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return a < b ? b : a;
}

template <typename T>
T Min(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return b < a ? b : a;
}

template <typename T>
T IntegerPower(T base, int64_t exponent, bool is_unsigned) {
  if (exponent < 0 && !is_unsigned) {  // truncated 1 / base^|exponent|
    if (base == T{1}) return 1;
    if (std::is_signed_v<T> && base == static_cast<T>(-1)) return exponent % 2 == 0 ? 1 : base;
    return 0;
  }
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (auto rest = static_cast<uint64_t>(exponent); rest > 0; rest >>= 1, square *= square) {
    if ((rest & 1) != 0) result *= square;
  }
  return static_cast<T>(result);
}

// A float to the power of an integer, which no float type holds: its last bit decides the sign.
double SignedPower(double base, const TensorView& exponent, int64_t i) {
  const double size = std::pow(std::fabs(base), DoubleAt(exponent, i));
  return std::signbit(base) && (IndexAt(exponent, i) & 1) != 0 ? -size : size;
}

KernelStatus Pow(const RunArgs& args) {
  const TensorView& exponent = args.inputs[1];
  const TensorView& out = args.outputs[0];
  return DispatchNumber(args.inputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* a = args.inputs[0].as<T>();
    T* result = out.as<T>();
    StridedWalk<2> walk(out.shape, {BroadcastStrides(args.inputs[0].shape, out.shape),
                                    BroadcastStrides(exponent.shape, out.shape)});
    const int64_t n = out.numel();
    for (int64_t i = 0; i < n; ++i, walk.Next()) {
      const T base = a[walk[0]];
      if constexpr (kIsFloat<T>) {
        using C = Compute<T>;
        if (!IsFloat(exponent.dtype)) {
          result[i] =
              static_cast<T>(static_cast<C>(SignedPower(static_cast<C>(base), exponent, walk[1])));
          continue;
        }
        const C e = static_cast<C>(DoubleAt(exponent, walk[1]));
        result[i] = static_cast<T>(std::pow(static_cast<C>(base), e));
      } else if (IsFloat(exponent.dtype)) {
        result[i] = Convert<T>(std::pow(static_cast<double>(base), DoubleAt(exponent, walk[1])));
      } else {
        result[i] = IntegerPower(base, IndexAt(exponent, walk[1]), exponent.dtype == DType::kU64);
      }
    }
    return KernelStatus::Ok();
  });
}

KernelStatus Fma(const RunArgs& args) {
  return DispatchFloat(args.inputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    const T* a = args.inputs[0].as<T>();
    const T* b = args.inputs[1].as<T>();
    const T* c = args.inputs[2].as<T>();
    T* result = args.outputs[0].as<T>();
    ForEachBroadcast<3>(args, [&](int64_t i, const auto& at) {
      result[i] = static_cast<T>(
          std::fma(static_cast<C>(a[at[0]]), static_cast<C>(b[at[1]]), static_cast<C>(c[at[2]])));
    });
    return KernelStatus::Ok();
  });
}

KernelStatus Where(const RunArgs& args) {
  const TensorView& out = args.outputs[0];
  return DispatchSize(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const uint8_t* condition = args.inputs[0].as<uint8_t>();
    const T* a = args.inputs[1].as<T>();
    const T* b = args.inputs[2].as<T>();
    T* result = out.as<T>();
    ForEachBroadcast<3>(args, [&](int64_t i, const auto& at) {
      result[i] = condition[at[0]] != 0 ? a[at[1]] : b[at[2]];
    });
    return KernelStatus::Ok();
  });
}

// Either operand's buffer may be the result's when their sizes agree.
Kernel Broadcasting(const char* op, const char* name, RunFn run) {
  return {.op = op, .name = name, .run = run, .inplace_mask = 3};
}

}  // namespace

Kernel RefAdd() {
  return Broadcasting("ten.add", "ref.add", [](const RunArgs& args) {
    return ZipNumber(args, [](auto a, auto b) {
      return Arithmetic(a, b, [](auto x, auto y) { return x + y; });
    });
  });
}

Kernel RefAnd() {
  return Broadcasting("ten.and", "ref.and", [](const RunArgs& args) {
    return Zip<uint8_t, uint8_t>(args, [](uint8_t a, uint8_t b) { return a != 0 && b != 0; });
  });
}

Kernel RefDiv() {
  return Broadcasting("ten.div", "ref.div", [](const RunArgs& args) {
    if (KernelStatus status = CheckDivisor(args); !status.ok()) return status;
    return ZipNumber(args, [](auto a, auto b) { return Divide(a, b); });
  });
}

Kernel RefEqual() {
  return Broadcasting("ten.equal", "ref.equal", [](const RunArgs& args) {
    return ZipCompare(args, [](auto a, auto b) { return a == b; });
  });
}

Kernel RefFma() { return {.op = "ten.fma", .name = "ref.fma", .run = Fma, .inplace_mask = 7}; }

Kernel RefGreater() {
  return Broadcasting("ten.greater", "ref.greater", [](const RunArgs& args) {
    return ZipCompare(args, [](auto a, auto b) { return a > b; });
  });
}

Kernel RefGreaterEqual() {
  return Broadcasting("ten.greater_equal", "ref.greater_equal", [](const RunArgs& args) {
    return ZipCompare(args, [](auto a, auto b) { return a >= b; });
  });
}

Kernel RefLess() {
  return Broadcasting("ten.less", "ref.less", [](const RunArgs& args) {
    return ZipCompare(args, [](auto a, auto b) { return a < b; });
  });
}

Kernel RefLessEqual() {
  return Broadcasting("ten.less_equal", "ref.less_equal", [](const RunArgs& args) {
    return ZipCompare(args, [](auto a, auto b) { return a <= b; });
  });
}

Kernel RefMax() {
  return Broadcasting("ten.max", "ref.max", [](const RunArgs& args) {
    return ZipNumber(args, [](auto a, auto b) { return Max(a, b); });
  });
}

Kernel RefMin() {
  return Broadcasting("ten.min", "ref.min", [](const RunArgs& args) {
    return ZipNumber(args, [](auto a, auto b) { return Min(a, b); });
  });
}

Kernel RefMod() {
  return Broadcasting("ten.mod", "ref.mod", [](const RunArgs& args) {
    if (KernelStatus status = CheckDivisor(args); !status.ok()) return status;
    const bool fmod = args.get<ten::ModAttrs>().fmod;
    return ZipNumber(args, [fmod](auto a, auto b) { return Modulo(a, b, fmod); });
  });
}

Kernel RefMul() {
  return Broadcasting("ten.mul", "ref.mul", [](const RunArgs& args) {
    return ZipNumber(args, [](auto a, auto b) {
      return Arithmetic(a, b, [](auto x, auto y) { return x * y; });
    });
  });
}

Kernel RefOr() {
  return Broadcasting("ten.or", "ref.or", [](const RunArgs& args) {
    return Zip<uint8_t, uint8_t>(args, [](uint8_t a, uint8_t b) { return a != 0 || b != 0; });
  });
}

Kernel RefPow() { return {.op = "ten.pow", .name = "ref.pow", .run = Pow, .inplace_mask = 1}; }

Kernel RefSub() {
  return Broadcasting("ten.sub", "ref.sub", [](const RunArgs& args) {
    return ZipNumber(args, [](auto a, auto b) {
      return Arithmetic(a, b, [](auto x, auto y) { return x - y; });
    });
  });
}

Kernel RefWhere() {
  return {.op = "ten.where", .name = "ref.where", .run = Where, .inplace_mask = 6};
}

Kernel RefXor() {
  return Broadcasting("ten.xor", "ref.xor", [](const RunArgs& args) {
    return Zip<uint8_t, uint8_t>(args, [](uint8_t a, uint8_t b) { return (a != 0) != (b != 0); });
  });
}

}  // namespace tenon::kernels
