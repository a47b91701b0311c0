// Reference kernels of ops on the bits of integers.
#include <cstring>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/elementwise/map.h"

namespace tenon::kernels {
namespace {

template <typename F>
KernelStatus ZipBits(const RunArgs& args, F f) {
  return DispatchInt(args.inputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return Zip<T, T>(args, [&](T a, T b) { return static_cast<T>(f(a, b)); });
  });
}

// Signed numbers shift right arithmetically, and left as their bits.
template <typename T>
T Shift(T a, T b, bool left) {
  constexpr uint64_t kBits = 8 * sizeof(T);
  const uint64_t by = static_cast<uint64_t>(b);
  if (left) return by >= kBits ? T{0} : static_cast<T>(static_cast<uint64_t>(a) << by);
  if (by >= kBits) return a < T{0} ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> by);
}

KernelStatus CopyBits(const RunArgs& args) {
  const size_t bytes = static_cast<size_t>(args.outputs[0].bytes());
  if (bytes > 0 && args.outputs[0].data != args.inputs[0].data) {
    std::memcpy(args.outputs[0].data, args.inputs[0].data, bytes);
  }
  return KernelStatus::Ok();
}

Kernel Bits(const char* op, const char* name, RunFn run, uint32_t inplace_mask) {
  return {.op = op, .name = name, .run = run, .inplace_mask = inplace_mask};
}

}  // namespace

Kernel RefBitShift() {
  return Bits(
      "ten.bit_shift", "ref.bit_shift",
      [](const RunArgs& args) {
        const bool left = args.get<ten::BitShiftAttrs>().direction == ten::BitShiftDirection::kLeft;
        return ZipBits(args, [left](auto a, auto b) { return Shift(a, b, left); });
      },
      3);
}

Kernel RefBitcast() { return Bits("ten.bitcast", "ref.bitcast", CopyBits, 1); }

Kernel RefBitwiseAnd() {
  return Bits(
      "ten.bitwise_and", "ref.bitwise_and",
      [](const RunArgs& args) { return ZipBits(args, [](auto a, auto b) { return a & b; }); }, 3);
}

Kernel RefBitwiseNot() {
  return Bits(
      "ten.bitwise_not", "ref.bitwise_not",
      [](const RunArgs& args) {
        return DispatchInt(args.inputs[0].dtype, [&](auto tag) {
          using T = typename decltype(tag)::type;
          return Map<T>(args, [](T v) { return static_cast<T>(~v); });
        });
      },
      1);
}

Kernel RefBitwiseOr() {
  return Bits(
      "ten.bitwise_or", "ref.bitwise_or",
      [](const RunArgs& args) { return ZipBits(args, [](auto a, auto b) { return a | b; }); }, 3);
}

Kernel RefBitwiseXor() {
  return Bits(
      "ten.bitwise_xor", "ref.bitwise_xor",
      [](const RunArgs& args) { return ZipBits(args, [](auto a, auto b) { return a ^ b; }); }, 3);
}

}  // namespace tenon::kernels
