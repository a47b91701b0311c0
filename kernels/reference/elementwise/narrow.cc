// Reference kernels of q.encode and q.decode.
#include "ir/base/narrow_number.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"

namespace tenon::kernels {
namespace {

NarrowRounding RoundingOf(q::EncodeRounding rounding) {
  switch (rounding) {
    case q::EncodeRounding::kNearest:
      return NarrowRounding::kNearest;
    case q::EncodeRounding::kUp:
      return NarrowRounding::kUp;
    case q::EncodeRounding::kDown:
      break;
  }
  return NarrowRounding::kDown;
}

// Integers keep their lowest bits, which a double may not hold.
void KeepLowBits(const TensorView& x, const TensorView& out) {
  const int64_t n = out.numel();
  uint8_t* to = out.as<uint8_t>();
  for (int64_t i = 0; i < n; ++i) to[i] = LowBits(out.dtype, static_cast<uint64_t>(IndexAt(x, i)));
}

KernelStatus Encode(const RunArgs& args) {
  const auto& attrs = args.get<q::EncodeAttrs>();
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  if (!IsNarrow(out.dtype)) return UnsupportedDtype(out.dtype);
  if (IsInt(x.dtype) && IsNarrowInt(out.dtype) && !attrs.saturate) {
    KeepLowBits(x, out);
    return KernelStatus::Ok();
  }
  const NarrowRounding rounding = RoundingOf(attrs.rounding);
  const int64_t n = out.numel();
  uint8_t* to = out.as<uint8_t>();
  for (int64_t i = 0; i < n; ++i)
    to[i] = DoubleToNarrow(out.dtype, DoubleAt(x, i), attrs.saturate, rounding);
  return KernelStatus::Ok();
}

KernelStatus Decode(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  if (!IsNarrow(x.dtype)) return UnsupportedDtype(x.dtype);
  return DispatchNumber(out.dtype, [&](auto tag) {
    using To = typename decltype(tag)::type;
    To numbers[256];
    for (int code = 0; code < 256; ++code)
      numbers[code] = Convert<To>(NarrowToDouble(x.dtype, static_cast<uint8_t>(code)));
    const uint8_t* from = x.as<uint8_t>();
    To* to = out.as<To>();
    const int64_t n = out.numel();
    for (int64_t i = 0; i < n; ++i) to[i] = numbers[from[i]];
    return KernelStatus::Ok();
  });
}

}  // namespace

Kernel RefEncode() { return {.op = "q.encode", .name = "ref.encode", .run = Encode}; }
Kernel RefDecode() { return {.op = "q.decode", .name = "ref.decode", .run = Decode}; }

}  // namespace tenon::kernels
