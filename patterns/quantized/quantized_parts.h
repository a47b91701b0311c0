// The parts of rules for bytes that stand for numbers. Private to patterns.
#ifndef TENON_PATTERNS_QUANTIZED_QUANTIZED_PARTS_H_
#define TENON_PATTERNS_QUANTIZED_QUANTIZED_PARTS_H_

#include "ir/core/attribute.h"
#include "ir/core/operation.h"
#include "patterns/facts/numbers.h"
#include "patterns/prelude.h"

namespace tenon::pattern {

// The negated offset is a number that the bytes have.
inline Condition IsZeroPoint(const Attr<float>& offset, DType dtype) {
  const int least = dtype == DType::kU8 ? -255 : -127, most = dtype == DType::kU8 ? 0 : 128;
  return If("the zero point is a byte",
            offset == FloorOf(offset) && offset <= most && offset >= least);
}

// Bytes as numbers, (bytes + offset) * scale, in the ways that they are written when some of it is
// nothing.
struct Bytes {
  Bytes(const char* name, const char* offset_name, const char* scale_name, DType type,
        bool is_constant)
      : bytes(is_constant ? Const(name) : Val(name)),
        offset(offset_name),
        scale(scale_name),
        dtype(type) {}

  Condition Holds() const { return DTypeIs(bytes, dtype) && IsZeroPoint(offset, dtype); }
  Val Zero() const { return Cast(Splat(-Term(offset)), {.to = dtype}); }

  Val bytes;
  Attr<float> offset, scale;
  DType dtype;
  Val numbers = Cast(bytes, {.to = DType::kF32});
  Val sum = Add(numbers, Splat(offset));
  Val centred = AnyOf(sum, numbers.Let(offset, 0.0f));
  Val product = Mul(centred, Splat(scale));
  Val scaled = AnyOf(product, centred.Let(scale, 1.0f));
};

// The product of two scales; none where f32 does not have it as it has both.
inline Term ProductOfScales(const Term& x, const Term& w) { return HeldProduct(DType::kF32, x, w); }

inline Term FiniteScale(const Attr<float>& x) { return ProductOfScales(x, 1.0); }

// The same of the scales of all columns.
inline Condition HasProducts(const Val& scales, const Attr<float>& x) {
  return If("f32 holds the products of the scales as normal numbers",
            And(Exists(ProductOfScales(SmallestSize(scales), x)),
                Exists(ProductOfScales(LargestSize(scales), x))));
}

// The attributes that nn.conv and q.conv share; images have their channels first.
struct ByteConvAttrs {
  Attr<I64s> strides{"strides"}, pads{"pads"}, dilations{"dilations"};
  Attr<int64_t> group{"group"};
  Attr<std::string> auto_pad{"auto_pad"};
  nn::ConvArgs OfFloats() const {
    return {.strides = strides,
            .pads = pads,
            .dilations = dilations,
            .group = group,
            .auto_pad = auto_pad};
  }
  q::ConvArgs To(DType to) const {
    return {.to = to,
            .strides = strides,
            .pads = pads,
            .dilations = dilations,
            .group = group,
            .auto_pad = auto_pad};
  }
};

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_QUANTIZED_QUANTIZED_PARTS_H_
