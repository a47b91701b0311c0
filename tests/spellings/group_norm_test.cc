// GroupNorm with SiLU, as diffusion models are exported: the operator of opset 18 with a scale for
// each group, that of opset 21 with one for each channel, and InstanceNormalization of groups.
#include "tests/spellings/spelling.h"

namespace tenon::spellings::diffusion {
namespace {

constexpr int64_t kChannels = 8, kGroups = 4;

V Image(Graph& g) { return g.In({B(), kChannels, 3, 3}); }
V Silu(Graph& g, const V& x) { return g.Op("Mul", {x, g.Op("Sigmoid", {x})}); }
V PerChannel(Graph& g, const V& x) {
  return g.Add(g.Mul(x, g.Param({kChannels, 1, 1})), g.Param({kChannels, 1, 1}));
}
// The operator; the scale has an element for each group before opset 21.
V Operator(Graph& g, const V& x) {
  const int64_t n = g.style().opset >= 21 ? kChannels : kGroups;
  return g.Op("GroupNormalization", {x, g.Param({n}), g.Param({n})}, {{"num_groups", kGroups}});
}
// Reshape, InstanceNormalization, Reshape.
V OfInstances(Graph& g, const V& x, const V& scale, const V& bias) {
  V rows = g.Reshape(x, {0, kGroups, -1});
  V norm = g.Op("InstanceNormalization", {rows, scale, bias}, {{"epsilon", 1e-5}});
  return g.Op("Reshape", {norm, g.Op("Shape", {x})});
}
V OfInstances(Graph& g, const V& x) {
  return PerChannel(g, OfInstances(g, x, g.Fill({kGroups}, 1), g.Fill({kGroups}, 0)));
}

const Spelling kGroupNorms[] = {
    {"OperatorOfGroups", "nn.group_norm", [](Graph& g) { g.Out(Operator(g, Image(g))); }, 18},
    {"OperatorOfGroupsSilu", "fused.group_norm",
     [](Graph& g) { g.Out(Silu(g, Operator(g, Image(g)))); }, 18},
    {"OperatorOfChannels", "nn.group_norm", [](Graph& g) { g.Out(Operator(g, Image(g))); }, 21},
    {"OperatorOfChannelsSilu", "fused.group_norm",
     [](Graph& g) { g.Out(Silu(g, Operator(g, Image(g)))); }, 21},
    {"OperatorSumSilu", "fused.group_norm",
     [](Graph& g) {
       V sum = g.Add(Image(g), Image(g));
       g.Out(Silu(g, Operator(g, sum)));
       g.Out(sum);
     },
     21},
    {"OperatorSiluQuotient", "fused.group_norm",
     [](Graph& g) {
       V y = Operator(g, Image(g));
       g.Out(g.Div(y, g.Add(1.0, g.Op("Exp", {g.Op("Neg", {y})}))));
     },
     18},
    {"InstancesSilu", "fused.group_norm",
     [](Graph& g) { g.Out(Silu(g, OfInstances(g, Image(g)))); }},
    {"InstancesWithScaleOfGroups", "nn.group_norm",
     [](Graph& g) { g.Out(OfInstances(g, Image(g), g.Param({kGroups}), g.Param({kGroups}))); }},
    {"InstancesWithScaleOfGroupsSilu", "fused.group_norm",
     [](Graph& g) {
       g.Out(Silu(g, OfInstances(g, Image(g), g.Param({kGroups}), g.Param({kGroups}))));
     }},
};
TENON_SPELLINGS(GroupNorms, kGroupNorms);

// Channels last, as TensorFlow and Flax have them: [B, H, W, G, C / G].
V LastChannels(Graph& g) { return g.In({B(), 3, 3, kChannels}); }
V Grouped(Graph& g, const V& x) { return g.Reshape(x, {0, 3, 3, kGroups, kChannels / kGroups}); }
V Joined(Graph& g, const V& x) { return g.Reshape(x, {0, 3, 3, kChannels}); }
V MeanOfGroups(Graph& g, const V& x, const Ints& axes = {-4, -3, -1}) {
  return g.Reduce("ReduceMean", x, axes, 5);
}
V NormOfGroups(Graph& g, const V& y, const Ints& axes = {-4, -3, -1}) {
  V centered = g.Sub(y, MeanOfGroups(g, y, axes));
  V variance = MeanOfGroups(g, g.Mul(centered, centered), axes);
  return g.Div(centered, g.Op("Sqrt", {g.Add(variance, 1e-5)}));
}

const Spelling kLastChannels[] = {
    {"JoinedThenScaled", "nn.group_norm ten.transpose ten.transpose",
     [](Graph& g) {
       V norm = Joined(g, NormOfGroups(g, Grouped(g, LastChannels(g))));
       g.Out(g.Add(g.Mul(norm, g.Param({kChannels})), g.Param({kChannels})));
     }},
    {"ScaledThenJoined", "nn.group_norm ten.transpose ten.transpose",
     [](Graph& g) {
       const Ints each = {1, 1, 1, kGroups, kChannels / kGroups};
       V norm = NormOfGroups(g, Grouped(g, LastChannels(g)));
       g.Out(Joined(g, g.Add(g.Mul(norm, g.Param(each)), g.Param(each))));
     }},
    {"WithoutScale", "nn.group_norm ten.transpose ten.transpose",
     [](Graph& g) { g.Out(Joined(g, NormOfGroups(g, Grouped(g, LastChannels(g))))); }},
    // Near miss: the mean of each pixel's group.
    {"OfEachPixel", "!nn.group_norm",
     [](Graph& g) { g.Out(Joined(g, NormOfGroups(g, Grouped(g, LastChannels(g)), {-1}))); }, 11,
     false},
};
TENON_SPELLINGS(GroupNormsOfLastChannels, kLastChannels);

// f16, with parts in f32.
V HalfImage(Graph& g) { return g.In({B(), kChannels, 3, 3}, DType::kF16); }
V Half(Graph& g, const V& x) { return g.Cast(x, DType::kF16); }
V Wide(Graph& g, const V& x) { return g.Cast(x, DType::kF32); }

const Spelling kCasts[] = {
    {"NormInCasts", "nn.group_norm",
     [](Graph& g) { g.Out(Half(g, Operator(g, Wide(g, HalfImage(g))))); }, 21, false},
    {"NormAndSiluInCasts", "fused.group_norm",
     [](Graph& g) { g.Out(Half(g, Silu(g, Operator(g, Wide(g, HalfImage(g)))))); }, 21, false},
    {"EachInCasts", "fused.group_norm",
     [](Graph& g) {
       V y = Half(g, Operator(g, Wide(g, HalfImage(g))));
       g.Out(Half(g, Silu(g, Wide(g, y))));
     },
     21, false},
    {"SigmoidInCasts", "fused.group_norm",
     [](Graph& g) {
       V y = Half(g, Operator(g, Wide(g, HalfImage(g))));
       g.Out(g.Op("Mul", {y, Half(g, g.Op("Sigmoid", {Wide(g, y)}))}));
     },
     21, false},
};
TENON_SPELLINGS(GroupNormsInCasts, kCasts);

}  // namespace
}  // namespace tenon::spellings::diffusion
