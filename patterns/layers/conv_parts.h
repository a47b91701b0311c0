// Patterns shared by the rules of convolutions. Private to patterns.
#ifndef TENON_PATTERNS_LAYERS_CONV_PARTS_H_
#define TENON_PATTERNS_LAYERS_CONV_PARTS_H_

#include "patterns/prelude.h"

namespace tenon::pattern {

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

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_LAYERS_CONV_PARTS_H_
