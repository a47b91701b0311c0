// GELU, SiLU, hard-swish, mish and gated activations.
#include "tests/spellings/spelling.h"

namespace tenon::spellings::activation {
namespace {

constexpr double kSqrt2 = 1.4142135623730951, kSqrt2OverPi = 0.7978845608028654;

V X(Graph& g) { return g.In({B(), S(), 16}); }
V Unary(Graph& g, const char* op, const V& x) { return g.Op(op, {x}); }
V Erf(Graph& g, const V& x) { return Unary(g, "Erf", x); }
V Sigmoid(Graph& g, const V& x) { return Unary(g, "Sigmoid", x); }

// The factor 0.5 in x * (1 + f) * 0.5, wherever it may be.
enum Half { kLast, kOnX, kOnSum, kOnXDivided, kLastDivided, kDistributed, kOnSumDivided };
constexpr Half kHalves[] = {kLast,        kOnX,         kOnSum,       kOnXDivided,
                            kLastDivided, kDistributed, kOnSumDivided};
V HalfProduct(Graph& g, const V& x, const V& f, Half half) {
  switch (half) {
    case kLast:
      return g.Mul(g.Mul(x, g.Add(f, 1.0)), 0.5);
    case kOnX:
      return g.Mul(g.Mul(x, 0.5), g.Add(f, 1.0));
    case kOnSum:
      return g.Mul(x, g.Mul(g.Add(f, 1.0), 0.5));
    case kOnXDivided:
      return g.Mul(g.Div(x, 2.0), g.Add(f, 1.0));
    case kLastDivided:
      return g.Div(g.Mul(x, g.Add(f, 1.0)), 2.0);
    case kDistributed:
      return g.Mul(x, g.Add(g.Mul(f, 0.5), 0.5));
    case kOnSumDivided:
      return g.Mul(x, g.Div(g.Add(1.0, f), 2.0));
  }
  return x;
}

enum Argument { kDivided, kMultiplied, kRootOfTwo, kPrecise, kInverseRoot };
V ErfArgument(Graph& g, const V& x, Argument argument) {
  switch (argument) {
    case kDivided:
      return g.Div(x, 1.41421354);
    case kMultiplied:
      return g.Mul(x, 0.70710677);
    case kRootOfTwo:
      return g.Div(x, Unary(g, "Sqrt", 2.0));
    case kPrecise:
      return g.Div(x, kSqrt2);
    case kInverseRoot:
      return g.Mul(x, g.Div(1.0, Unary(g, "Sqrt", 2.0)));
  }
  return x;
}

V Cube(Graph& g, const V& x, int form) {
  return form == 0   ? g.Pow(x, 3.0)
         : form == 1 ? g.Mul(x, g.Mul(x, x))
         : form == 2 ? g.Mul(g.Pow(x, 2.0), x)
                     : g.Mul(g.Mul(x, x), x);
}

V TanhArgument(Graph& g, const V& x, int form) {
  switch (form) {
    case 0:
    case 1:
    case 2:
    case 3:
      return g.Mul(g.Add(x, g.Mul(Cube(g, x, form), 0.044715)), kSqrt2OverPi);
    case 4:  // Megatron
      return g.Mul(g.Mul(x, 0.79788456), g.Add(g.Mul(g.Mul(x, 0.044715), x), 1.0));
    case 5:
      return g.Mul(g.Mul(x, kSqrt2OverPi), g.Add(g.Mul(g.Mul(x, x), 0.044715), 1.0));
    case 6:
      return g.Mul(kSqrt2OverPi, g.Mul(x, g.Add(1.0, g.Mul(0.044715, g.Pow(x, 2.0)))));
    case 7:  // both numbers multiplied out
      return g.Add(g.Mul(x, kSqrt2OverPi), g.Mul(Cube(g, x, 1), kSqrt2OverPi * 0.044715));
    case 8:
      return g.Mul(x, g.Add(g.Mul(g.Mul(x, x), kSqrt2OverPi * 0.044715), kSqrt2OverPi));
    case 9:
      return g.Mul(g.Add(x, g.Mul(g.Mul(g.Mul(0.044715, x), x), x)), kSqrt2OverPi);
    default:
      return g.Mul(g.Mul(x, g.Add(g.Mul(g.Mul(x, x), 0.044715), 1.0)), Unary(g, "Sqrt", 2 / M_PI));
  }
}

std::vector<Spelling> Gelus() {
  std::vector<Spelling> all;
  static std::vector<std::string> names;
  names.reserve(300);
  auto add = [&](std::string name, std::function<void(Graph&)> build, const char* ops = "nn.gelu",
                 int min_opset = 11) {
    names.push_back(std::move(name));
    all.push_back({names.back().c_str(), ops, std::move(build), min_opset});
  };
  for (Half half : kHalves) {
    for (Argument a : {kDivided, kMultiplied, kRootOfTwo, kPrecise, kInverseRoot}) {
      if (half > kOnSum && a > kMultiplied) continue;
      add("GeluErf" + std::to_string(half) + std::to_string(a), [=](Graph& g) {
        V x = X(g);
        g.Out(HalfProduct(g, x, Erf(g, ErfArgument(g, x, a)), half));
      });
    }
    for (int form = 0; form <= 10; ++form) {
      if (half > kOnSum && form > 1) continue;
      add("GeluTanh" + std::to_string(half) + std::to_string(form), [=](Graph& g) {
        V x = X(g);
        g.Out(HalfProduct(g, x, Unary(g, "Tanh", TanhArgument(g, x, form)), half));
      });
    }
  }
  // A number that follows becomes one with the half.
  for (Half half : {kLast, kOnX, kOnSum, kLastDivided}) {
    for (const bool outer : {false, true}) {
      add(
          "GeluErfScaled" + std::to_string(half) + std::to_string(outer),
          [=](Graph& g) {
            V x = g.Op("MatMul", {X(g), g.Param({16, 16})});
            V y = HalfProduct(g, x, Erf(g, ErfArgument(g, x, kDivided)), half);
            g.Out(outer ? g.Mul(1.7015, y) : g.Mul(y, 0.3));
          },
          "fused.linear ten.mul");
      add(
          "GeluTanhScaled" + std::to_string(half) + std::to_string(outer),
          [=](Graph& g) {
            V x = g.Op("MatMul", {X(g), g.Param({16, 16})});
            V y = HalfProduct(g, x, Unary(g, "Tanh", TanhArgument(g, x, 0)), half);
            g.Out(outer ? g.Mul(1.7015, y) : g.Mul(y, 0.3));
          },
          "fused.linear ten.mul");
    }
  }
  // The gate times something else before the half.
  add(
      "GeluOfProduct",
      [](Graph& g) {
        V x = X(g), u = X(g);
        V y = g.Add(1.0, Erf(g, g.Div(x, kSqrt2)));
        g.Out(g.Mul(g.Mul(g.Mul(u, x), 0.5), y));
      },
      "fused.gated");
  add("GeluErfc", [](Graph& g) {  // x * (1 - erf(-x / sqrt(2))) / 2
    V x = X(g);
    V erfc = g.Sub(1.0, Erf(g, g.Mul(x, -1 / kSqrt2)));
    g.Out(g.Mul(g.Mul(x, 0.5), erfc));
  });
  add("GeluErfcNegated", [](Graph& g) {
    V x = X(g);
    V erfc = g.Sub(1.0, Erf(g, g.Div(Unary(g, "Neg", x), kSqrt2)));
    g.Out(g.Mul(x, g.Mul(erfc, 0.5)));
  });
  add("GeluOfComplement", [](Graph& g) {  // x * (1 - (1 - erf) / 2)
    V x = X(g), rest = g.Sub(1.0, Erf(g, g.Div(x, kSqrt2)));
    g.Out(g.Mul(x, g.Sub(1.0, g.Mul(rest, 0.5))));
  });
  add("GeluPhi", [](Graph& g) {
    V x = X(g);
    V phi = g.Add(0.5, g.Mul(0.5, Erf(g, g.Div(x, kSqrt2))));
    g.Out(g.Mul(phi, x));
  });
  add("GeluDistributed", [](Graph& g) {  // (x + x * erf) / 2
    V x = X(g);
    g.Out(g.Mul(g.Add(x, g.Mul(x, Erf(g, g.Div(x, kSqrt2)))), 0.5));
  });
  add("GeluOfHalf", [](Graph& g) {  // h + h * erf
    V x = X(g), half = g.Mul(x, 0.5);
    g.Out(g.Add(half, g.Mul(half, Erf(g, g.Div(x, kSqrt2)))));
  });
  add("GeluTanhAsSigmoid", [](Graph& g) {  // x * sigmoid(2 u)
    V x = X(g);
    V u = TanhArgument(g, x, 0);
    g.Out(g.Mul(x, Sigmoid(g, g.Mul(u, 2.0))));
  });
  add(
      "GeluOp", [](Graph& g) { g.Out(Unary(g, "Gelu", X(g))); }, "nn.gelu", 20);
  add(
      "GeluOpTanh",
      [](Graph& g) {
        g.Out(g.Op("Gelu", {X(g)}, {{"approximate", std::string("tanh")}}));
      },
      "nn.gelu", 20);
  for (int form = 0; form < 4; ++form) {
    add("QuickGelu" + std::to_string(form), [=](Graph& g) {
      V x = X(g);
      V z = form == 1 ? g.Mul(1.7020000219, x) : g.Mul(x, 1.702);
      if (form == 2)  // x / (1 + exp(-1.702 x))
        return g.Out(g.Div(x, g.Add(Unary(g, "Exp", Unary(g, "Neg", z)), 1.0)));
      if (form == 3) return g.Out(g.Div(x, g.Add(Unary(g, "Exp", g.Mul(x, -1.702)), 1.0)));
      g.Out(g.Mul(x, Sigmoid(g, z)));
    });
  }
  return all;
}
TENON_SPELLINGS(Gelu, Gelus());

V SigmoidForm(Graph& g, const V& x, int form) {
  V down = Unary(g, "Exp", Unary(g, "Neg", x));
  switch (form) {
    case 0:
      return Sigmoid(g, x);
    case 1:
      return g.Div(1.0, g.Add(down, 1.0));
    case 2:
      return Unary(g, "Reciprocal", g.Add(1.0, down));
    case 3:  // (1 + tanh(x / 2)) / 2
      return g.Mul(g.Add(Unary(g, "Tanh", g.Mul(x, 0.5)), 1.0), 0.5);
    case 4:
      return g.Add(g.Mul(Unary(g, "Tanh", g.Div(x, 2.0)), 0.5), 0.5);
    default:
      return g.Pow(g.Add(1.0, Unary(g, "Exp", g.Mul(x, -1.0))), -1.0);
  }
}

V Softplus(Graph& g, const V& x, int form) {
  V up = Unary(g, "Exp", x);
  return form == 0 ? Unary(g, "Softplus", x) : Unary(g, "Log", g.Add(up, 1.0));
}

// relu6(x + 3)
V Six(Graph& g, const V& x, int form) {
  V y = g.Add(x, 3.0);
  switch (form) {
    case 0:
      return g.Op("Clip", {y, g.Number(0, g.style().half ? DType::kF16 : DType::kF32),
                           g.Number(6, g.style().half ? DType::kF16 : DType::kF32)});
    case 1:
      return g.Either("Min", g.Either("Max", y, 0.0), 6.0);
    case 2:
      return g.Either("Max", g.Either("Min", y, 6.0), 0.0);
    default:
      return g.Either("Min", Unary(g, "Relu", y), 6.0);
  }
}

std::vector<Spelling> Others() {
  std::vector<Spelling> all;
  static std::vector<std::string> names;
  names.reserve(300);
  auto add = [&](std::string name, std::function<void(Graph&)> build, const char* ops,
                 int min_opset = 11) {
    names.push_back(std::move(name));
    all.push_back({names.back().c_str(), ops, std::move(build), min_opset});
  };
  for (int form = 0; form < 6; ++form) {
    add(
        "Silu" + std::to_string(form),
        [=](Graph& g) {
          V x = X(g);
          g.Out(g.Mul(x, SigmoidForm(g, x, form)));
        },
        "nn.silu");
    add(
        "Sigmoid" + std::to_string(form), [=](Graph& g) { g.Out(SigmoidForm(g, X(g), form)); },
        "ten.sigmoid");
  }
  add(
      "SiluQuotient",
      [](Graph& g) {
        V x = X(g);
        g.Out(g.Div(x, g.Add(1.0, Unary(g, "Exp", Unary(g, "Neg", x)))));
      },
      "nn.silu");
  add(
      "SwishOp", [](Graph& g) { g.Out(Unary(g, "Swish", X(g))); }, "nn.silu", 24);
  for (int form = 0; form < 4; ++form) {
    const std::string n = std::to_string(form);
    add(
        "HardSwishDivideLast" + n,
        [=](Graph& g) {
          V x = X(g);
          g.Out(g.Div(g.Mul(x, Six(g, x, form)), 6.0));
        },
        "ten.hard_swish");
    add(
        "HardSwishDivideGate" + n,
        [=](Graph& g) {
          V x = X(g);
          g.Out(g.Mul(x, g.Div(Six(g, x, form), 6.0)));
        },
        "ten.hard_swish");
    add(
        "HardSwishMultiplyLast" + n,
        [=](Graph& g) {
          V x = X(g);
          g.Out(g.Mul(g.Mul(x, Six(g, x, form)), 1.0 / 6));
        },
        "ten.hard_swish");
    add(
        "HardSwishDivideX" + n,
        [=](Graph& g) {
          V x = X(g);
          g.Out(g.Mul(g.Div(x, 6.0), Six(g, x, form)));
        },
        "ten.hard_swish");
    add(
        "HardSwishMultiplyX" + n,
        [=](Graph& g) {
          V x = X(g);
          g.Out(g.Mul(g.Mul(x, 1.0 / 6), Six(g, x, form)));
        },
        "ten.hard_swish");
    add(
        "HardSigmoid" + n, [=](Graph& g) { g.Out(g.Mul(Six(g, X(g), form), 1.0 / 6)); },
        "ten.hard_sigmoid");
  }
  add(
      "HardSwishOfHardSigmoid",
      [](Graph& g) {
        V x = X(g);
        g.Out(g.Mul(x, g.Op("HardSigmoid", {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}})));
      },
      "ten.hard_swish");
  add(
      "HardSwishClipToOne",
      [](Graph& g) {
        V x = X(g);
        g.Out(g.Mul(x, g.Either("Min", g.Either("Max", g.Add(g.Div(x, 6.0), 0.5), 0.0), 1.0)));
      },
      "ten.hard_swish");
  add(
      "HardSwishClipToOneTimes",
      [](Graph& g) {
        V x = X(g);
        V y = g.Add(g.Mul(x, 1.0 / 6), 0.5);
        g.Out(g.Mul(x, g.Either("Max", g.Either("Min", y, 1.0), 0.0)));
      },
      "ten.hard_swish");
  add(
      "HardSwishOp", [](Graph& g) { g.Out(Unary(g, "HardSwish", X(g))); }, "ten.hard_swish", 14);
  add(
      "MishOp", [](Graph& g) { g.Out(Unary(g, "Mish", X(g))); }, "nn.mish", 18);
  for (int form = 0; form < 2; ++form) {
    add(
        "Mish" + std::to_string(form),
        [=](Graph& g) {
          V x = X(g);
          g.Out(g.Mul(x, Unary(g, "Tanh", Softplus(g, x, form))));
        },
        "nn.mish");
  }
  add(
      "ReluOfMax", [](Graph& g) { g.Out(g.Either("Max", X(g), 0.0)); }, "ten.relu");
  add(
      "Relu6OfMinMax", [](Graph& g) { g.Out(g.Either("Min", g.Either("Max", X(g), 0.0), 6.0)); },
      "ten.clip");
  add(
      "Relu6OfMaxMin", [](Graph& g) { g.Out(g.Either("Max", g.Either("Min", X(g), 6.0), 0.0)); },
      "ten.clip");
  add(
      "LeakyReluOfMax",
      [](Graph& g) {
        V x = X(g);
        g.Out(g.Either("Max", x, g.Mul(x, 0.1)));
      },
      "ten.leaky_relu");
  add(
      "LeakyReluOfWhere",
      [](Graph& g) {
        V x = X(g);
        g.Out(g.Op("Where", {g.Op("Greater", {x, 0.0}), x, g.Mul(x, 0.1)}));
      },
      "ten.leaky_relu");
  add(
      "LeakyReluOfMirrored",
      [](Graph& g) {
        V x = X(g);
        g.Out(g.Sub(Unary(g, "Relu", x), g.Mul(Unary(g, "Relu", Unary(g, "Neg", x)), 0.1)));
      },
      "ten.leaky_relu");
  add(
      "LeakyReluOfNegativeFactor",
      [](Graph& g) {
        V x = X(g);
        g.Out(g.Add(Unary(g, "Relu", x), g.Mul(Unary(g, "Relu", Unary(g, "Neg", x)), -0.1)));
      },
      "ten.leaky_relu");
  add(
      "LeakyReluOfBothBounds",
      [](Graph& g) {
        V x = X(g);
        g.Out(g.Add(g.Either("Max", x, 0.0), g.Mul(g.Either("Min", x, 0.0), 0.1)));
      },
      "ten.leaky_relu");
  return all;
}
TENON_SPELLINGS(Activation, Others());

const Spelling kMisses[] = {
    {"QuickGeluOfAnotherNumber", "!nn.gelu nn.silu",
     [](Graph& g) {
       V x = X(g);
       g.Out(g.Mul(x, Sigmoid(g, g.Mul(x, 1.8))));
     }},
    {"ErfOfAnotherScale", "!nn.gelu",
     [](Graph& g) {
       V x = X(g);
       g.Out(HalfProduct(g, x, Erf(g, g.Div(x, 1.5)), kLast));
     }},
    {"GeluWithoutHalf", "!nn.gelu",
     [](Graph& g) {
       V x = X(g);
       g.Out(g.Mul(x, g.Add(Erf(g, g.Div(x, kSqrt2)), 1.0)));
     }},
    {"GeluOfMinusOne", "!nn.gelu",
     [](Graph& g) {
       V x = X(g);
       g.Out(g.Mul(g.Mul(x, g.Sub(Erf(g, g.Div(x, kSqrt2)), 1.0)), 0.5));
     }},
    {"GeluOfTwoValues", "!nn.gelu",
     [](Graph& g) { g.Out(HalfProduct(g, X(g), Erf(g, g.Div(X(g), kSqrt2)), kLast)); }},
    {"TanhOfAnotherCube", "!nn.gelu",
     [](Graph& g) {
       V x = X(g);
       V u = g.Mul(g.Add(x, g.Mul(g.Pow(x, 3.0), 0.05)), kSqrt2OverPi);
       g.Out(HalfProduct(g, x, Unary(g, "Tanh", u), kLast));
     }},
    {"TanhOfTheFourthPower", "!nn.gelu",
     [](Graph& g) {
       V x = X(g);
       V u = g.Mul(g.Add(x, g.Mul(g.Pow(x, 4.0), 0.044715)), kSqrt2OverPi);
       g.Out(HalfProduct(g, x, Unary(g, "Tanh", u), kLast));
     }},
    {"HardSwishOfFive", "!ten.hard_swish ten.hard_sigmoid",
     [](Graph& g) {
       V x = X(g);
       g.Out(g.Div(g.Mul(x, g.Either("Min", Unary(g, "Relu", g.Add(x, 3.0)), 5.0)), 6.0));
     }},
    {"SiluOfMinus", "!nn.silu",
     [](Graph& g) {
       V x = X(g);
       g.Out(g.Mul(x, Sigmoid(g, Unary(g, "Neg", x))));
     }},
};
using ActivationNearMiss = SpellingTest;
TEST_P(ActivationNearMiss, StaysAndIsEqual) { Check(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, ActivationNearMiss, ::testing::ValuesIn(kMisses), SpellingName);

// ---- gated -------------------------------------------------------------------------------------

constexpr int64_t kH = 16, kF = 24;

V Dense(Graph& g, const V& x, int64_t in, int64_t out) {
  return g.Op("MatMul", {x, g.Param({in, out}, -0.4, 0.4)});
}
V DenseWithBias(Graph& g, const V& x, int64_t in, int64_t out) {
  return g.Add(Dense(g, x, in, out), g.Param({out}));
}
V Silu(Graph& g, const V& x) { return g.Mul(x, Sigmoid(g, x)); }
V Gelu_(Graph& g, const V& x) { return HalfProduct(g, x, Erf(g, g.Div(x, kSqrt2)), kLast); }
V GeluTanh(Graph& g, const V& x) {
  return HalfProduct(g, x, Unary(g, "Tanh", TanhArgument(g, x, 0)), kOnX);
}

const Spelling kGated[] = {
    {"SwiGlu", "fused.gated fused.linear fused.linear",
     [](Graph& g) {
       V x = X(g);
       g.Out(g.Mul(Silu(g, Dense(g, x, kH, kF)), Dense(g, x, kH, kF)));
     }},
    {"SwiGluUpFirst", "fused.gated fused.linear fused.linear",
     [](Graph& g) {
       V x = X(g);
       V up = Dense(g, x, kH, kF);
       g.Out(g.Mul(up, Silu(g, Dense(g, x, kH, kF))));
     }},
    {"SwiGluWithBiasAndDown", "fused.gated fused.linear fused.linear fused.linear",
     [](Graph& g) {
       V x = X(g);
       V y = g.Mul(Silu(g, DenseWithBias(g, x, kH, kF)), DenseWithBias(g, x, kH, kF));
       g.Out(DenseWithBias(g, y, kF, kH));
     }},
    {"SwiGluGatesMultipliedFirst", "fused.gated fused.linear fused.linear",
     [](Graph& g) {  // gate * (sigmoid(gate) * up)
       V x = X(g);
       V gate = Dense(g, x, kH, kF), up = Dense(g, x, kH, kF);
       g.Out(g.Mul(gate, g.Mul(Sigmoid(g, gate), up)));
     }},
    {"SwiGluUpTimesGateFirst", "fused.gated fused.linear fused.linear",
     [](Graph& g) {  // (gate * up) * sigmoid(gate)
       V x = X(g);
       V gate = Dense(g, x, kH, kF), up = Dense(g, x, kH, kF);
       g.Out(g.Mul(g.Mul(gate, up), Sigmoid(g, gate)));
     }},
    {"SwiGluSplit", "fused.gated fused.linear",
     [](Graph& g) {
       auto half = g.Halves(Dense(g, X(g), kH, 2 * kF), -1, 2 * kF);
       g.Out(g.Mul(Silu(g, half[0]), half[1]));
     }},
    {"SwiGluSplitSecondGates", "fused.gated fused.linear",
     [](Graph& g) {
       auto half = g.Halves(Dense(g, X(g), kH, 2 * kF), 2, 2 * kF);
       g.Out(g.Mul(half[0], Silu(g, half[1])));
     }},
    {"SwiGluSlices", "fused.gated fused.linear",
     [](Graph& g) {
       V y = Dense(g, X(g), kH, 2 * kF);
       V gate = g.Slice(y, 0, kF, -1), up = g.Slice(y, kF, int64_t{1} << 40, -1);
       g.Out(g.Mul(up, Silu(g, gate)));
     }},
    {"SwiGluOfInput", "fused.gated",
     [](Graph& g) {
       auto half = g.Halves(g.In({B(), S(), 2 * kF}), -1, 2 * kF);
       g.Out(g.Mul(Silu(g, half[0]), half[1]));
     }},
    {"GeGlu", "fused.gated fused.linear",
     [](Graph& g) {
       auto half = g.Halves(DenseWithBias(g, X(g), kH, 2 * kF), -1, 2 * kF);
       g.Out(g.Mul(half[0], Gelu_(g, half[1])));
     }},
    {"GeGluFirstHalf", "fused.gated fused.linear",
     [](Graph& g) {
       auto half = g.Halves(DenseWithBias(g, X(g), kH, 2 * kF), -1, 2 * kF);
       g.Out(g.Mul(Gelu_(g, half[0]), half[1]));
     }},
    {"GeGluTanh", "fused.gated fused.linear fused.linear",
     [](Graph& g) {  // T5 v1.1
       V x = X(g);
       g.Out(g.Mul(GeluTanh(g, Dense(g, x, kH, kF)), Dense(g, x, kH, kF)));
     }},
    {"ReGlu", "fused.gated fused.linear fused.linear",
     [](Graph& g) {
       V x = X(g);
       g.Out(g.Mul(Unary(g, "Relu", Dense(g, x, kH, kF)), Dense(g, x, kH, kF)));
     }},
    {"Glu", "fused.gated",
     [](Graph& g) {
       auto half = g.Halves(g.In({B(), S(), 2 * kF}), -1, 2 * kF);
       g.Out(g.Mul(half[0], Sigmoid(g, half[1])));
     }},
    // Near misses.
    {"GateIsUsedElsewhere", "fused.linear fused.linear ten.mul",
     [](Graph& g) {
       V x = X(g);
       V gate = Silu(g, Dense(g, x, kH, kF));
       g.Out(gate);
       g.Out(g.Mul(gate, Dense(g, x, kH, kF)));
     }},
    {"GateBroadcasts", "!fused.gated",
     [](Graph& g) {  // squeeze and excite
       V x = X(g);
       g.Out(g.Mul(x, Sigmoid(g, g.Mean(x, {-2}))));
     }},
    {"HalvesOverlap", "fused.gated ten.slice ten.slice",
     [](Graph& g) {
       V y = g.In({B(), S(), 2 * kF});
       g.Out(g.Mul(Silu(g, g.Slice(y, 0, kF, -1)), g.Slice(y, kF - 1, 2 * kF - 1, -1)));
     }},
    {"HalvesOfAnotherAxis", "!ten.silu",
     [](Graph& g) {
       auto half = g.Halves(g.In({B(), 6, kF}), 1, 6);
       g.Out(g.Mul(Silu(g, half[0]), half[1]));
     }},
};
using Gated = SpellingTest;
TEST_P(Gated, Fuses) { Check(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, Gated, ::testing::ValuesIn(kGated), SpellingName);

}  // namespace
}  // namespace tenon::spellings::activation
