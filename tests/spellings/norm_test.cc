// LayerNorm, RMSNorm, GroupNorm, and what only looks like them.
#include "tests/spellings/spelling.h"

namespace tenon::spellings::norm {
namespace {

constexpr int64_t kH = 16;
constexpr double kEps = 1e-5;

V X(Graph& g) { return g.In({B(), S(), kH}); }
V Scale(Graph& g) { return g.Param({kH}, 0.5, 1.5); }
V Bias(Graph& g) { return g.Param({kH}); }

// One way to take a quotient x / r, and so on: spellings are products of such choices.
using Quotient = V (*)(Graph&, const V& x, const V& r);
V Divided(Graph& g, const V& x, const V& r) { return g.Div(x, g.Op("Sqrt", {r})); }
V TimesReciprocal(Graph& g, const V& x, const V& r) {
  return g.Mul(x, g.Op("Reciprocal", {g.Op("Sqrt", {r})}));
}
V TimesOneOver(Graph& g, const V& x, const V& r) { return g.Mul(x, g.Div(1.0, g.Op("Sqrt", {r}))); }
V DividedByPower(Graph& g, const V& x, const V& r) { return g.Div(x, g.Pow(r, 0.5)); }
V TimesPower(Graph& g, const V& x, const V& r) { return g.Mul(x, g.Pow(r, -0.5)); }
V TimesRootOfReciprocal(Graph& g, const V& x, const V& r) {
  return g.Mul(x, g.Op("Sqrt", {g.Op("Reciprocal", {r})}));
}
V TimesReciprocalPower(Graph& g, const V& x, const V& r) {
  return g.Mul(x, g.Op("Reciprocal", {g.Pow(r, 0.5)}));
}
constexpr Quotient kQuotients[] = {
    Divided,    TimesReciprocal,       TimesOneOver,        DividedByPower,
    TimesPower, TimesRootOfReciprocal, TimesReciprocalPower};
const char* const kQuotientNames[] = {"Div",      "Reciprocal",       "OneOver",        "DivPow",
                                      "PowMinus", "SqrtOfReciprocal", "ReciprocalOfPow"};

using Square = V (*)(Graph&, const V& x);
V Power(Graph& g, const V& x) { return g.Pow(x, 2.0); }
V Product(Graph& g, const V& x) { return g.Mul(x, x); }
constexpr Square kSquares[] = {Power, Product};

// mean of y over the last axis
using MeanOf = V (*)(Graph&, const V& y);
V PlainMean(Graph& g, const V& y) { return g.Mean(y); }
V SumOverCount(Graph& g, const V& y) {
  return g.Div(g.Reduce("ReduceSum", y, {-1}, 3), static_cast<double>(kH));
}
V SumTimesInverse(Graph& g, const V& y) {
  return g.Mul(g.Reduce("ReduceSum", y, {-1}, 3), 1.0 / kH);
}
V MeanThenUnsqueeze(Graph& g, const V& y) {
  return g.Unsqueeze(g.Reduce("ReduceMean", y, {-1}, 3, false), {-1});
}
constexpr MeanOf kMeans[] = {PlainMean, SumOverCount, SumTimesInverse, MeanThenUnsqueeze};

V WithEps(Graph& g, const V& v) { return g.Add(v, kEps); }
V Affine(Graph& g, const V& x) { return g.Add(g.Mul(x, Scale(g)), Bias(g)); }

V Normalised(Graph& g, const V& x, Quotient quotient, Square square, MeanOf mean) {
  V centered = g.Sub(x, mean(g, x));
  return quotient(g, centered, WithEps(g, mean(g, square(g, centered))));
}
V RmsNormalised(Graph& g, const V& x, Quotient quotient, Square square, MeanOf mean) {
  return quotient(g, x, WithEps(g, mean(g, square(g, x))));
}

std::vector<Spelling> LayerNorms() {
  std::vector<Spelling> all;
  static std::vector<std::string> names;
  names.reserve(200);
  auto add = [&](std::string name, std::function<void(Graph&)> build, const char* ops,
                 int min_opset = 11) {
    names.push_back(std::move(name));
    all.push_back({names.back().c_str(), ops, std::move(build), min_opset});
  };
  for (size_t q = 0; q < std::size(kQuotients); ++q) {
    for (size_t s = 0; s < std::size(kSquares); ++s) {
      for (size_t m = 0; m < std::size(kMeans); ++m) {
        if (m > 0 && q + s > 0 && q != m) continue;  // every choice, not every product
        const std::string name =
            std::string(kQuotientNames[q]) + (s == 0 ? "Pow" : "Mul") + "Mean" + std::to_string(m);
        add(
            "Layer" + name,
            [=](Graph& g) {
              g.Out(Affine(g, Normalised(g, X(g), kQuotients[q], kSquares[s], kMeans[m])));
            },
            "nn.layer_norm");
        add(
            "Rms" + name,
            [=](Graph& g) {
              g.Out(g.Mul(RmsNormalised(g, X(g), kQuotients[q], kSquares[s], kMeans[m]), Scale(g)));
            },
            "nn.rms_norm");
      }
    }
  }
  add(
      "LayerDoubleSub",
      [](Graph& g) {
        V x = X(g), mean = g.Mean(x), a = g.Sub(x, mean), b = g.Sub(x, mean);
        g.Out(Affine(g, Divided(g, a, WithEps(g, g.Mean(Power(g, b))))));
      },
      "nn.layer_norm");
  add(
      "LayerTwoMeans",
      [](Graph& g) {
        V x = X(g), a = g.Sub(x, g.Mean(x)), b = g.Sub(x, g.Mean(x));
        g.Out(Affine(g, Divided(g, a, WithEps(g, g.Mean(g.Mul(a, b))))));
      },
      "nn.layer_norm");
  add(
      "LayerCenteredTwice",
      [](Graph& g) {
        V x = X(g), centered = g.Sub(x, g.Mean(x));
        V again = g.Sub(centered, g.Mean(centered));
        g.Out(Affine(g, Divided(g, centered, WithEps(g, g.Mean(Power(g, again))))));
      },
      "nn.layer_norm");
  add(
      "LayerOfCentered",
      [](Graph& g) {
        V x = X(g), centered = g.Sub(x, g.Mean(x));
        g.Out(g.Op("LayerNormalization", {centered, Scale(g), Bias(g)}));
      },
      "nn.layer_norm ten.reduce_mean ten.sub", 17);
  add(
      "LayerCenteredMoreExactly",
      [](Graph& g) {
        V x = X(g), centered = g.Sub(x, g.Mean(x));
        V again = g.Sub(centered, g.Mean(centered));
        g.Out(Affine(g, Divided(g, again, WithEps(g, g.Mean(Power(g, again))))));
      },
      "nn.layer_norm ten.reduce_mean ten.sub");
  add(
      "LayerBoundedVariance",
      [](Graph& g) {
        V x = X(g), mean = g.Mean(x);
        V variance = g.Sub(g.Mean(Product(g, x)), Product(g, mean));
        V r = WithEps(g, g.Op("Max", {0.0, variance}));
        V factor = g.Mul(g.Op("Reciprocal", {g.Op("Sqrt", {r})}), Scale(g));
        g.Out(g.Add(g.Mul(g.Sub(x, mean), factor), Bias(g)));
      },
      "nn.layer_norm", 12);
  add(
      "RmsOfMagnitude",
      [](Graph& g) {
        V x = X(g);
        g.Out(Divided(g, x, WithEps(g, g.Mean(Power(g, g.Op("Abs", {x}))))));
      },
      "nn.rms_norm");
  add(
      "RmsUnsqueezedRoot",
      [](Graph& g) {
        V x = X(g), mean = g.Reduce("ReduceMean", Power(g, x), {-1}, 3, false);
        g.Out(g.Div(x, g.Unsqueeze(g.Op("Sqrt", {WithEps(g, mean)}), {-1})));
      },
      "nn.rms_norm");
  add(
      "LayerNegatedSub",
      [](Graph& g) {
        V x = X(g), mean = g.Mean(x);
        V centered = g.Add(x, g.Op("Neg", {mean}));
        g.Out(Affine(g, Divided(g, centered, WithEps(g, g.Mean(Power(g, centered))))));
      },
      "nn.layer_norm");
  add(
      "LayerSquareOfDifferenceTheOtherWay",
      [](Graph& g) {
        V x = X(g), mean = g.Mean(x), back = g.Sub(mean, x);
        g.Out(Affine(g, Divided(g, g.Sub(x, mean), WithEps(g, g.Mean(Power(g, back))))));
      },
      "nn.layer_norm");
  add(
      "LayerNoAffine", [](Graph& g) { g.Out(Normalised(g, X(g), Divided, Power, PlainMean)); },
      "nn.layer_norm");
  add(
      "LayerScaleOnly",
      [](Graph& g) { g.Out(g.Mul(Normalised(g, X(g), Divided, Power, PlainMean), Scale(g))); },
      "nn.layer_norm");
  add(
      "LayerBiasOnly",
      [](Graph& g) { g.Out(g.Add(Normalised(g, X(g), Divided, Power, PlainMean), Bias(g))); },
      "nn.layer_norm");
  add(
      "LayerWideAffine",
      [](Graph& g) {
        V y = Normalised(g, X(g), Divided, Power, PlainMean);
        g.Out(g.Add(g.Mul(y, g.Param({1, 1, kH})), g.Param({1, kH})));
      },
      "nn.layer_norm");
  add(
      "LayerScaleIntoQuotient",
      [](Graph& g) {
        V x = X(g), centered = g.Sub(x, g.Mean(x));
        V r = g.Op("Reciprocal", {g.Op("Sqrt", {WithEps(g, g.Mean(Power(g, centered)))})});
        g.Out(g.Add(g.Mul(centered, g.Mul(r, Scale(g))), Bias(g)));
      },
      "nn.layer_norm");
  add(
      "LayerScaleFirst",
      [](Graph& g) {
        V x = X(g), centered = g.Sub(x, g.Mean(x));
        V root = g.Op("Sqrt", {WithEps(g, g.Mean(Power(g, centered)))});
        g.Out(g.Add(g.Div(g.Mul(Scale(g), centered), root), Bias(g)));
      },
      "nn.layer_norm");
  auto keras = [](Graph& g, Quotient quotient, bool scale, bool bias) {
    V x = X(g), mean = g.Mean(x), centered = g.Sub(x, mean);
    V inv = quotient(g, 1.0, WithEps(g, g.Mean(Product(g, centered))));
    if (scale) inv = g.Mul(inv, Scale(g));
    V shift = g.Mul(mean, inv);
    if (bias) return g.Out(g.Add(g.Mul(x, inv), g.Sub(Bias(g), shift)));
    g.Out(g.Sub(g.Mul(x, inv), shift));
  };
  add(
      "LayerKeras", [=](Graph& g) { keras(g, TimesReciprocal, true, true); }, "nn.layer_norm");
  add(
      "LayerKerasPower", [=](Graph& g) { keras(g, TimesPower, true, true); }, "nn.layer_norm");
  add(
      "LayerKerasDivided", [=](Graph& g) { keras(g, Divided, true, true); }, "nn.layer_norm");
  add(
      "LayerKerasNoScale", [=](Graph& g) { keras(g, Divided, false, true); }, "nn.layer_norm");
  add(
      "LayerKerasNoBias", [=](Graph& g) { keras(g, Divided, true, false); }, "nn.layer_norm");
  add(
      "LayerVarianceOfSquares",  // E[x^2] - E[x]^2 cancels: it stays as it is
      [](Graph& g) {
        V x = X(g), mean = g.Mean(x);
        V variance = g.Sub(g.Mean(Power(g, x)), Power(g, mean));
        g.Out(Affine(g, Divided(g, g.Sub(x, mean), WithEps(g, variance))));
      },
      "!nn.rms_norm");
  add(
      "LayerTwoAxes",
      [](Graph& g) {
        V x = g.In({B(), 4, 6}), centered = g.Sub(x, g.Mean(x, {-2, -1}));
        V y = Divided(g, centered, WithEps(g, g.Mean(Power(g, centered), {-2, -1})));
        g.Out(g.Add(g.Mul(y, g.Param({4, 6})), g.Param({4, 6})));
      },
      "nn.layer_norm");
  add(
      "LayerThreeAxesUnsorted",
      [](Graph& g) {
        V x = g.In({B(), 3, 4, 6}), centered = g.Sub(x, g.Mean(x, {-1, -2, -3}, 4));
        V y = Divided(g, centered, WithEps(g, g.Mean(Power(g, centered), {-1, -2, -3}, 4)));
        g.Out(g.Add(g.Mul(y, g.Param({3, 4, 6})), g.Param({3, 4, 6})));
      },
      "nn.layer_norm");
  add(
      "LayerChannelsFirst",
      [](Graph& g) {
        V x = g.In({B(), 8, 4, 6}), centered = g.Sub(x, g.Mean(x, {-3}, 4));
        V y = Divided(g, centered, WithEps(g, g.Mean(Power(g, centered), {-3}, 4)));
        g.Out(g.Add(g.Mul(y, g.Param({8, 1, 1})), g.Param({8, 1, 1})));
      },
      "nn.layer_norm");
  add(
      "LayerInTransposes",
      [](Graph& g) {
        V x = g.Transpose(g.In({B(), 8, 4, 6}), {0, 2, 3, 1});
        V centered = g.Sub(x, g.Mean(x, {-1}, 4));
        V y = Divided(g, centered, WithEps(g, g.Mean(Power(g, centered), {-1}, 4)));
        y = g.Add(g.Mul(y, g.Param({8})), g.Param({8}));
        g.Out(g.Transpose(y, {0, 3, 1, 2}));
      },
      "nn.layer_norm");
  add(
      "LayerOp",
      [](Graph& g) {
        g.Out(g.Op("LayerNormalization", {X(g), Scale(g), Bias(g)}, {{"axis", int64_t{-1}}}));
      },
      "nn.layer_norm", 17);
  add(
      "LayerOpThenAffine",
      [](Graph& g) {
        V y = g.Op("LayerNormalization", {X(g), g.Fill({kH}, 1), g.Fill({kH}, 0)});
        g.Out(Affine(g, y));
      },
      "nn.layer_norm", 17);
  add(
      "LayerOpScaleThenBias",
      [](Graph& g) {
        g.Out(g.Add(g.Op("LayerNormalization", {X(g), Scale(g)}), Bias(g)));
      },
      "nn.layer_norm", 17);
  add(
      "RmsNoScale", [](Graph& g) { g.Out(RmsNormalised(g, X(g), Divided, Power, PlainMean)); },
      "nn.rms_norm");
  add(
      "RmsScaleFirst",
      [](Graph& g) {
        V x = X(g), root = g.Op("Sqrt", {WithEps(g, g.Mean(Power(g, x)))});
        g.Out(g.Div(g.Mul(x, Scale(g)), root));
      },
      "nn.rms_norm");
  add(
      "RmsScaleIntoQuotient",
      [](Graph& g) {
        V x = X(g), r = g.Op("Reciprocal", {g.Op("Sqrt", {WithEps(g, g.Mean(Power(g, x)))})});
        g.Out(g.Mul(g.Mul(r, Scale(g)), x));
      },
      "nn.rms_norm");
  add(
      "RmsGemma",  // 1 + w
      [](Graph& g) {
        V y = RmsNormalised(g, X(g), TimesReciprocal, Power, PlainMean);
        g.Out(g.Mul(y, g.Add(Scale(g), 1.0)));
      },
      "nn.rms_norm");
  add(
      "RmsFromNorm",  // x / sqrt(|x|^2 / n + eps)
      [](Graph& g) {
        V x = X(g), norm = g.Reduce("ReduceL2", x, {-1}, 3);
        g.Out(g.Mul(Divided(g, x, WithEps(g, g.Div(Power(g, norm), double{kH}))), Scale(g)));
      },
      "nn.rms_norm");
  add(
      "RmsFromSumSquare",
      [](Graph& g) {
        V x = X(g), sum = g.Reduce("ReduceSumSquare", x, {-1}, 3);
        g.Out(g.Mul(Divided(g, x, WithEps(g, g.Div(sum, double{kH}))), Scale(g)));
      },
      "nn.rms_norm");
  add(
      "RmsOfHeads",  // QK norm
      [](Graph& g) {
        V x = g.Reshape(g.In({B(), S(), kH}), {0, 0, 4, 4});
        V y = Divided(g, x, WithEps(g, g.Mean(Power(g, x), {-1}, 4)));
        g.Out(g.Mul(y, g.Param({4})));
      },
      "nn.rms_norm ten.reshape");
  add(
      "RmsOp",
      [](Graph& g) {
        g.Out(g.Op("RMSNormalization", {X(g), Scale(g)}));
      },
      "nn.rms_norm", 23);
  add(
      "RmsOpThenScale",
      [](Graph& g) {
        g.Out(g.Mul(g.Op("RMSNormalization", {X(g), g.Fill({kH}, 1)}), Scale(g)));
      },
      "nn.rms_norm", 23);
  return all;
}

TENON_SPELLINGS(Norm, LayerNorms());

// Mixed precision: the statistics in f32, everything else in f16.
const Spelling kCasts[] = {
    {"RmsCasts", "nn.rms_norm",
     [](Graph& g) {
       V x = g.In({B(), S(), kH}, DType::kF16), y = g.Cast(x, DType::kF32);
       V n = TimesReciprocal(g, y, WithEps(g, g.Mean(Power(g, y))));
       V w = g.Cast(Scale(g), DType::kF16);
       g.Out(g.Mul(w, g.Cast(n, DType::kF16)));
     },
     11, false},
    {"RmsCastsScaleInside", "nn.rms_norm",
     [](Graph& g) {
       V x = g.In({B(), S(), kH}, DType::kF16), y = g.Cast(x, DType::kF32);
       V n = TimesReciprocal(g, y, WithEps(g, g.Mean(Power(g, y))));
       g.Out(g.Cast(g.Mul(Scale(g), n), DType::kF16));
     },
     11, false},
    {"LayerCasts", "nn.layer_norm",
     [](Graph& g) {
       V x = g.In({B(), S(), kH}, DType::kF16), y = g.Cast(x, DType::kF32);
       V n = Normalised(g, y, Divided, Power, PlainMean);
       g.Out(g.Cast(Affine(g, n), DType::kF16));
     },
     11, false},
    {"LayerCastsAffineOutside", "nn.layer_norm",
     [](Graph& g) {
       V x = g.In({B(), S(), kH}, DType::kF16), y = g.Cast(x, DType::kF32);
       V n = g.Cast(Normalised(g, y, Divided, Power, PlainMean), DType::kF16);
       V w = g.Cast(Scale(g), DType::kF16), b = g.Cast(Bias(g), DType::kF16);
       g.Out(g.Add(g.Mul(n, w), b));
     },
     11, false},
    {"LayerOpInCasts", "nn.layer_norm",
     [](Graph& g) {
       V x = g.Cast(g.In({B(), S(), kH}, DType::kF16), DType::kF32);
       g.Out(g.Cast(g.Op("LayerNormalization", {x, Scale(g), Bias(g)}), DType::kF16));
     },
     17, false},
};
using CastNorm = SpellingTest;
TEST_P(CastNorm, Fuses) { Check(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, CastNorm, ::testing::ValuesIn(kCasts), SpellingName);

// GroupNorm: groups are normalised like a row.
V Grouped(Graph& g, const V& x) { return g.Reshape(x, {0, 2, -1}); }
V Ungrouped(Graph& g, const V& y, const V& x) { return g.Op("Reshape", {y, g.Op("Shape", {x})}); }
V ChannelAffine(Graph& g, const V& x) {
  return g.Add(g.Mul(x, g.Param({8, 1, 1})), g.Param({8, 1, 1}));
}
// The root of the number of elements, over that of their sum of squares.
const Spelling kSums[] = {
    {"RootOfCount", "nn.rms_norm",
     [](Graph& g) {
       V x = X(g), sum = g.Reduce("ReduceSum", Power(g, x), {-1}, 3);
       g.Out(g.Mul(Divided(g, g.Mul(x, 4.0), WithEps(g, sum)), Scale(g)));
     }},
    {"RootOfCountBehindTheQuotient", "nn.rms_norm",
     [](Graph& g) {
       V x = X(g), sum = g.Reduce("ReduceSum", Power(g, x), {-1}, 3);
       g.Out(g.Mul(Divided(g, x, WithEps(g, sum)), 4.0));
     }},
    {"AnotherFactor", "!nn.rms_norm",
     [](Graph& g) {
       V x = X(g), sum = g.Reduce("ReduceSum", Power(g, x), {-1}, 3);
       g.Out(Divided(g, g.Mul(x, 3.0), WithEps(g, sum)));
     }},
};
TENON_SPELLINGS(NormOfSum, kSums);

const Spelling kGroups[] = {
    {"InstanceNormOfGroups", "nn.group_norm",
     [](Graph& g) {
       V x = g.In({B(), 8, 4, 4});
       V y = g.Op("InstanceNormalization", {Grouped(g, x), g.Fill({2}, 1), g.Fill({2}, 0)});
       g.Out(ChannelAffine(g, Ungrouped(g, y, x)));
     }},
    {"GroupNormFromParts", "nn.group_norm",
     [](Graph& g) {
       V x = g.In({B(), 8, 4, 4}), y = Grouped(g, x);
       y = Normalised(g, y, Divided, Power, PlainMean);
       g.Out(ChannelAffine(g, Ungrouped(g, y, x)));
     }},
    {"GroupNormFiveAxes", "nn.group_norm",
     [](Graph& g) {
       V x = g.In({B(), 8, 4, 4}), y = g.Reshape(x, {0, 2, 4, 4, 4});
       V centered = g.Sub(y, g.Mean(y, {-3, -2, -1}, 5));
       y = Divided(g, centered, WithEps(g, g.Mean(Power(g, centered), {-3, -2, -1}, 5)));
       g.Out(ChannelAffine(g, Ungrouped(g, y, x)));
     }},
    {"GroupNormalizationOp", "nn.group_norm",
     [](Graph& g) {
       V x = g.In({B(), 8, 4, 4});
       g.Out(g.Op("GroupNormalization", {x, g.Param({8}), g.Param({8})},
                  {{"num_groups", int64_t{2}}}));
     },
     21},
    {"GroupNormSilu", "fused.group_norm",
     [](Graph& g) {
       V x = g.In({B(), 8, 4, 4});
       V y = g.Op("InstanceNormalization", {Grouped(g, x), g.Fill({2}, 1), g.Fill({2}, 0)});
       y = ChannelAffine(g, Ungrouped(g, y, x));
       g.Out(g.Mul(y, g.Op("Sigmoid", {y})));
     }},
    {"InstanceNorm", "nn.group_norm",
     [](Graph& g) {
       V x = g.In({B(), 8, 4, 4});
       g.Out(g.Op("InstanceNormalization", {x, g.Param({8}), g.Param({8})}));
     }},
};
using GroupNorm = SpellingTest;
TEST_P(GroupNorm, Fuses) { Check(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, GroupNorm, ::testing::ValuesIn(kGroups), SpellingName);

constexpr char kNoNorm[] = "!nn.layer_norm nn.rms_norm";
const Spelling kMisses[] = {
    {"CubeInsteadOfSquare", kNoNorm,
     [](Graph& g) {
       V x = X(g), c = g.Sub(x, g.Mean(x));
       g.Out(g.Div(c, g.Op("Sqrt", {g.Add(g.Op("Abs", {g.Mean(g.Pow(c, 3.0))}), kEps)})));
     }},
    {"MiddleAxis", "!nn.layer_norm",
     [](Graph& g) {
       V x = X(g), c = g.Sub(x, g.Mean(x, {-2}));
       g.Out(Divided(g, c, WithEps(g, g.Mean(Power(g, c), {-1}))));
     }},
    {"MeansOverDifferentAxes", "!nn.layer_norm",
     [](Graph& g) {
       V x = X(g), c = g.Sub(x, g.Mean(x, {-1}));
       g.Out(Divided(g, c, WithEps(g, g.Mean(Power(g, c), {-2, -1}))));
     }},
    {"EpsilonIsAnInput", kNoNorm,
     [](Graph& g) {
       V x = X(g), eps = g.Op("Abs", {g.In({1})});
       g.Out(Divided(g, x, g.Add(g.Mean(Power(g, x)), g.Add(eps, 0.5))));
     }},
    {"EpsilonPerChannel", kNoNorm,
     [](Graph& g) {
       V x = X(g);
       g.Out(Divided(g, x, g.Add(g.Mean(Power(g, x)), g.Param({kH}, 0.1, 0.2))));
     }},
    {"EpsilonOutsideTheRoot", kNoNorm,
     [](Graph& g) {
       V x = X(g);
       g.Out(g.Div(x, WithEps(g, g.Op("Sqrt", {g.Mean(Power(g, x))}))));
     }},
    {"SumInsteadOfMean", kNoNorm,
     [](Graph& g) {
       V x = X(g);
       g.Out(Divided(g, x, WithEps(g, g.Reduce("ReduceSum", Power(g, x), {-1}, 3))));
     }},
    {"SumOverAnotherCount", kNoNorm,
     [](Graph& g) {
       V x = X(g);
       V mean = g.Div(g.Reduce("ReduceSum", Power(g, x), {-1}, 3), double{kH - 1});
       g.Out(Divided(g, x, WithEps(g, mean)));
     }},
    {"OtherNumerator", kNoNorm,
     [](Graph& g) {
       V x = X(g);
       g.Out(Divided(g, X(g), WithEps(g, g.Mean(Power(g, x)))));
     }},
    {"CenteredByAnother", "!nn.layer_norm",
     [](Graph& g) {
       V x = X(g), c = g.Sub(x, g.Mean(X(g)));
       g.Out(Divided(g, c, WithEps(g, g.Mean(Power(g, c)))));
     }},
    {"MeanOfCenteredPlusOne", "!nn.layer_norm",
     [](Graph& g) {
       V x = X(g), c = g.Sub(x, g.Mean(x));
       g.Out(Divided(g, g.Add(c, 1.0), WithEps(g, g.Mean(Power(g, c)))));
     }},
    {"ScaleOfTheWrongAxis", "nn.rms_norm ten.mul",
     [](Graph& g) {
       V x = g.In({B(), kH, kH});
       g.Out(g.Mul(Divided(g, x, WithEps(g, g.Mean(Power(g, x)))), g.Param({kH, 1})));
     }},
    {"NormUsedTwice", "nn.rms_norm ten.mul",
     [](Graph& g) {
       V y = RmsNormalised(g, X(g), Divided, Power, PlainMean);
       g.Out(y);
       g.Out(g.Mul(y, Scale(g)));
     }},
    {"InnerSumIsAnOutput", "!nn.layer_norm",
     [](Graph& g) {
       V x = X(g), c = g.Sub(x, g.Mean(x)), variance = g.Mean(Power(g, c));
       g.Out(Divided(g, c, WithEps(g, variance)));
       g.Out(variance);
     }},
};
using NormNearMiss = SpellingTest;
TEST_P(NormNearMiss, StaysAndIsEqual) { Check(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, NormNearMiss, ::testing::ValuesIn(kMisses), SpellingName);

}  // namespace
}  // namespace tenon::spellings::norm
