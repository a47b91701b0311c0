// Patterns shared by the rules of convolutions. Private to patterns.
#ifndef TENON_PATTERNS_LAYERS_CONV_PARTS_H_
#define TENON_PATTERNS_LAYERS_CONV_PARTS_H_

#include <string>

#include "patterns/prelude.h"

namespace tenon::pattern {

// The attributes that a rule of convolutions copies to its result.
struct ConvAttrs {
  Attr<I64s> strides{"strides"}, pads{"pads"}, dilations{"dilations"};
  Attr<I64s> output_padding{"output_padding"};
  Attr<int64_t> group{"group"};
  Attr<std::string> auto_pad{"auto_pad"};
  // `made` with those of them that its operation has.
  template <typename Args>
  Args Of(Args made) const {
    made.strides = strides;
    made.pads = pads;
    made.dilations = dilations;
    made.group = group;
    if constexpr (requires { made.output_padding; }) {
      made.output_padding = output_padding;
    } else {
      made.auto_pad = auto_pad;
    }
    return made;
  }
  nn::ConvArgs args() const { return Of(nn::ConvArgs()); }
  fused::ConvArgs fused_args() const { return Of(fused::ConvArgs()); }
};

// The shape of b is that of one value a channel of x, or b is one number.
inline Condition IsPerChannelOrNumber(const char* words, const Val& b, const Val& x) {
  return If(words, Or(IsPerChannel(b, x), And(IsNumber(b, x), Compare(RankOf(x), ">", 2))));
}

// [M, 1, …], one axis less than x has: against this all such shapes broadcast to the same elements.
inline Term ChannelShape(const Val& x) {
  return ListOf({ExtentOf(x, 1), Spread(Ones(RankOf(x) - 2))});
}

inline Term ChannelsOf(const Val& x) { return ListOf({ExtentOf(x, 1)}); }

// A number for each channel of x, or for all, as [M].
inline Val AsChannels(const Val& b, const Val& x) {
  return Reshape(Expand(b, {.shape = ChannelShape(x)}), {.shape = ChannelsOf(x)});
}

// The rules of joined_convs.cc.
RuleSet JoinedConvRules();

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_LAYERS_CONV_PARTS_H_
