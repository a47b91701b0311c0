// GELU, SiLU, softplus, mish and hard-swish as people write them: with differences, negated
// arguments, quotients and factors in other places, and in f32 between casts.
#include <cmath>

#include "tests/spellings/spelling.h"

namespace tenon::spellings::forms {
namespace {

constexpr double kSqrt2 = 1.4142135623730951, kSqrt2OverPi = 0.7978845608028654, kCubic = 0.044715;

V X(Graph& g) { return g.In({B(), S(), 16}); }
// Elements whose size is bounded, which proofs find.
V Bounded(Graph& g) { return g.Op("Softmax", {X(g)}, {{"axis", int64_t{-1}}}); }
V Unary(Graph& g, const char* op, const V& x) { return g.Op(op, {x}); }
V Neg(Graph& g, const V& x) { return Unary(g, "Neg", x); }
V Exp(Graph& g, const V& x) { return Unary(g, "Exp", x); }
V Sigmoid(Graph& g, const V& x) { return Unary(g, "Sigmoid", x); }
V Clip(Graph& g, const V& x, double low, double high) {
  return g.Either("Min", g.Either("Max", x, low), high);
}

// ---- GELU --------------------------------------------------------------------------------------

V Erf(Graph& g, const V& x) { return Unary(g, "Erf", g.Div(x, kSqrt2)); }
V ErfOfNeg(Graph& g, const V& x) { return Unary(g, "Erf", g.Mul(Neg(g, x), 1 / kSqrt2)); }
V Cubic(Graph& g, const V& x) {
  return g.Mul(g.Add(x, g.Mul(g.Pow(x, 3.0), kCubic)), kSqrt2OverPi);
}
V Tanh(Graph& g, const V& x) { return Unary(g, "Tanh", Cubic(g, x)); }
V TanhOfNeg(Graph& g, const V& x) { return Unary(g, "Tanh", Neg(g, Cubic(g, x))); }

// A GELU of x, where f is the function and n is the function of -x.
using Form = V (*)(Graph& g, const V& x, const V& f, const V& n);
struct Named {
  const char* name;
  Form form;
};

const Named kForms[] = {
    {"HalfTimesOneMinusNegated", [](Graph& g, const V& x, const V&,
                                    const V& n) { return g.Mul(g.Mul(x, 0.5), g.Sub(1.0, n)); }},
    {"HalfMinusHalfNegated",
     [](Graph& g, const V& x, const V&, const V& n) {
       V half = g.Mul(x, 0.5);
       return g.Sub(half, g.Mul(half, n));
     }},
    {"NegatedMinusOne", [](Graph& g, const V& x, const V&,
                           const V& n) { return g.Mul(g.Mul(g.Sub(n, 1.0), x), -0.5); }},
    {"MinusHalfTimesNegatedMinusOne",
     [](Graph& g, const V& x, const V&, const V& n) {
       return g.Mul(g.Mul(x, -0.5), g.Sub(n, 1.0));
     }},
    {"NegOfNegatedMinusOne",
     [](Graph& g, const V& x, const V&, const V& n) {
       return Neg(g, g.Mul(g.Mul(x, 0.5), g.Sub(n, 1.0)));
     }},
    {"MinusMinusOne", [](Graph& g, const V& x, const V& f,
                         const V&) { return g.Mul(g.Mul(x, 0.5), g.Sub(f, -1.0)); }},
    {"HalfMinusHalfOfNegated", [](Graph& g, const V& x, const V&,
                                  const V& n) { return g.Mul(x, g.Sub(0.5, g.Mul(n, 0.5))); }},
    {"HalfMinusQuotientOfNegated", [](Graph& g, const V& x, const V&,
                                      const V& n) { return g.Mul(x, g.Sub(0.5, g.Div(n, 2.0))); }},
    {"HalfOfRestFromOne", [](Graph& g, const V& x, const V& f,
                             const V&) { return g.Mul(x, g.Sub(1.0, g.Mul(g.Sub(1.0, f), 0.5))); }},
    {"HalfOfMinusOneAndOne",
     [](Graph& g, const V& x, const V& f, const V&) {
       return g.Mul(x, g.Add(1.0, g.Mul(g.Sub(f, 1.0), 0.5)));
     }},
    {"QuotientOfRestFromOne",
     [](Graph& g, const V& x, const V& f, const V&) {
       return g.Mul(x, g.Sub(1.0, g.Div(g.Sub(1.0, f), 2.0)));
     }},
    {"OneMinusHalfOfNegatedAndOne",
     [](Graph& g, const V& x, const V&, const V& n) {
       return g.Mul(x, g.Sub(1.0, g.Mul(g.Add(n, 1.0), 0.5)));
     }},
    {"HalfOfDifferenceOfProducts",
     [](Graph& g, const V& x, const V&, const V& n) { return g.Mul(0.5, g.Sub(x, g.Mul(n, x))); }},
    {"QuotientOfDifferenceOfProducts",
     [](Graph& g, const V& x, const V&, const V& n) { return g.Div(g.Sub(x, g.Mul(x, n)), 2.0); }},
    {"HalfOfProductAndHalf",
     [](Graph& g, const V& x, const V& f, const V&) {
       return g.Add(g.Mul(g.Mul(x, f), 0.5), g.Mul(x, 0.5));
     }},
    {"MinusMinusHalf", [](Graph& g, const V& x, const V& f,
                          const V&) { return g.Mul(x, g.Sub(g.Mul(f, 0.5), -0.5)); }},
    {"QuotientOfTwo", [](Graph& g, const V& x, const V& f,
                         const V&) { return g.Div(x, g.Div(2.0, g.Add(1.0, f))); }},
    {"HalfFirst", [](Graph& g, const V& x, const V&,
                     const V& n) { return g.Mul(0.5, g.Mul(x, g.Sub(1.0, n))); }},
};

// x - x * (1 - f) / 2: NaN of infinity, where GELU is infinite. So x must be finite.
const Named kRests[] = {
    {"XMinusHalfTimesRest", [](Graph& g, const V& x, const V& f,
                               const V&) { return g.Sub(x, g.Mul(g.Mul(x, 0.5), g.Sub(1.0, f))); }},
    {"XMinusHalfOfProduct", [](Graph& g, const V& x, const V& f,
                               const V&) { return g.Sub(x, g.Div(g.Mul(x, g.Sub(1.0, f)), 2.0)); }},
    {"XMinusProductWithHalfOfRest",
     [](Graph& g, const V& x, const V& f, const V&) {
       return g.Sub(x, g.Mul(x, g.Mul(g.Sub(1.0, f), 0.5)));
     }},
    {"XMinusHalfTimesNegatedAndOne",
     [](Graph& g, const V& x, const V&, const V& n) {
       return g.Sub(x, g.Mul(g.Mul(x, 0.5), g.Add(1.0, n)));
     }},
    {"XAndHalfTimesMinusOne",
     [](Graph& g, const V& x, const V& f, const V&) {
       return g.Add(x, g.Mul(g.Mul(x, 0.5), g.Sub(f, 1.0)));
     }},
};

std::vector<Spelling> Gelus() {
  std::vector<Spelling> all;
  static std::vector<std::string> names;
  names.reserve(200);
  const auto add = [&](std::string name, const char* ops, std::function<void(Graph&)> build) {
    names.push_back(std::move(name));
    all.push_back({names.back().c_str(), ops, std::move(build)});
  };
  for (const bool tanh : {false, true}) {
    const auto f = tanh ? Tanh : Erf, n = tanh ? TanhOfNeg : ErfOfNeg;
    const std::string kind = tanh ? "Tanh" : "Erf";
    for (const Named& form : kForms) {
      add(kind + form.name, "nn.gelu", [=](Graph& g) {
        V x = X(g);
        g.Out(form.form(g, x, f(g, x), n(g, x)));
      });
    }
    for (const Named& form : kRests) {
      add(kind + form.name, "nn.gelu nn.softmax", [=](Graph& g) {
        V x = Bounded(g);
        g.Out(form.form(g, x, f(g, x), n(g, x)));
      });
      add(kind + form.name + "OfAnything", "!nn.gelu", [=](Graph& g) {
        V x = X(g);
        g.Out(form.form(g, x, f(g, x), n(g, x)));
      });
    }
  }
  return all;
}
TENON_SPELLINGS(GeluForms, Gelus());

// sqrt(2 / pi) * (x + 0.044715 x^3)
V CubicForm(Graph& g, const V& x, int form) {
  const double k = kSqrt2OverPi, c = kCubic;
  V square = g.Mul(x, x);
  switch (form) {
    case 0:
      return g.Div(g.Add(x, g.Mul(g.Pow(x, 3.0), c)), std::sqrt(M_PI / 2));
    case 1:
      return g.Mul(g.Sub(x, g.Mul(g.Pow(x, 3.0), -c)), k);
    case 2:
      return g.Mul(k, g.Add(x, g.Mul(g.Mul(c, square), x)));
    case 3:
      return g.Mul(k, g.Add(x, g.Mul(x, g.Mul(square, c))));
    case 4:
      return g.Add(g.Mul(x, k), g.Mul(g.Mul(square, k * c), x));
    case 5:
      return g.Add(g.Mul(x, k), g.Mul(square, g.Mul(x, k * c)));
    default:
      return g.Mul(g.Add(g.Mul(square, c * k), k), x);
  }
}

std::vector<Spelling> Cubics() {
  std::vector<Spelling> all;
  static std::vector<std::string> names;
  names.reserve(100);
  const auto add = [&](std::string name, std::function<void(Graph&)> build) {
    names.push_back(std::move(name));
    all.push_back({names.back().c_str(), "nn.gelu", std::move(build)});
  };
  for (int form = 0; form < 7; ++form) {
    const std::string n = std::to_string(form);
    add("Tanh" + n, [=](Graph& g) {
      V x = X(g);
      g.Out(g.Mul(g.Mul(x, 0.5), g.Add(Unary(g, "Tanh", CubicForm(g, x, form)), 1.0)));
    });
    add("Sigmoid" + n, [=](Graph& g) {
      V x = X(g);
      g.Out(g.Mul(x, Sigmoid(g, g.Mul(CubicForm(g, x, form), 2.0))));
    });
    add("Exp" + n, [=](Graph& g) {
      V x = X(g);
      g.Out(g.Div(x, g.Add(1.0, Exp(g, g.Mul(CubicForm(g, x, form), -2.0)))));
    });
    add("Complement" + n, [=](Graph& g) {
      V x = X(g);
      g.Out(g.Mul(x, g.Sub(1.0, Sigmoid(g, g.Mul(CubicForm(g, x, form), -2.0)))));
    });
  }
  return all;
}
TENON_SPELLINGS(CubicForms, Cubics());

// ---- sigmoids ----------------------------------------------------------------------------------

const struct {
  const char* name;
  V (*of)(Graph& g, const V& x);
} kSigmoids[] = {
    {"Complement", [](Graph& g, const V& x) { return g.Sub(1.0, Sigmoid(g, Neg(g, x))); }},
    {"ComplementOfMultiple",
     [](Graph& g, const V& x) { return g.Sub(1.0, Sigmoid(g, g.Mul(x, -1.0))); }},
    {"ComplementOfQuotient",
     [](Graph& g, const V& x) { return g.Sub(1.0, g.Div(1.0, g.Add(1.0, Exp(g, x)))); }},
    {"ReciprocalOfExp",
     [](Graph& g, const V& x) { return g.Div(1.0, g.Add(1.0, g.Div(1.0, Exp(g, x)))); }},
    {"MinusMinusOne",
     [](Graph& g, const V& x) { return g.Div(1.0, g.Sub(Exp(g, Neg(g, x)), -1.0)); }},
    {"FromZero",
     [](Graph& g, const V& x) { return g.Div(1.0, g.Add(1.0, Exp(g, g.Sub(0.0, x)))); }},
    {"TanhQuotient",
     [](Graph& g, const V& x) { return g.Div(g.Add(Unary(g, "Tanh", g.Div(x, 2.0)), 1.0), 2.0); }},
    {"TanhOfNegative",
     [](Graph& g, const V& x) { return g.Mul(0.5, g.Sub(1.0, Unary(g, "Tanh", g.Mul(x, -0.5)))); }},
    {"HalfMinusTanh",
     [](Graph& g, const V& x) { return g.Sub(0.5, g.Mul(0.5, Unary(g, "Tanh", g.Mul(x, -0.5)))); }},
};

std::vector<Spelling> Sigmoids() {
  std::vector<Spelling> all;
  static std::vector<std::string> names;
  names.reserve(100);
  const auto add = [&](std::string name, const char* ops, std::function<void(Graph&)> build) {
    names.push_back(std::move(name));
    all.push_back({names.back().c_str(), ops, std::move(build)});
  };
  for (const auto& [name, of] : kSigmoids) {
    add(std::string("Sigmoid") + name, "ten.sigmoid", [=](Graph& g) { g.Out(of(g, X(g))); });
    add(std::string("Silu") + name, "nn.silu", [=](Graph& g) {
      V x = X(g);
      g.Out(g.Mul(x, of(g, x)));
    });
    add(std::string("QuickGelu") + name, "nn.gelu", [=](Graph& g) {
      V x = X(g);
      g.Out(g.Mul(x, of(g, g.Mul(x, 1.702))));
    });
  }
  add("SiluOfNeg", "nn.silu", [](Graph& g) {
    V x = X(g);
    g.Out(Neg(g, g.Mul(Neg(g, x), Sigmoid(g, x))));
  });
  add("SiluQuotientOfExp", "nn.silu", [](Graph& g) {
    V x = X(g);
    g.Out(g.Div(x, g.Add(g.Div(1.0, Exp(g, x)), 1.0)));
  });
  add("SiluRest", "nn.silu nn.softmax", [](Graph& g) {
    V x = Bounded(g);
    g.Out(g.Sub(x, g.Mul(x, Sigmoid(g, Neg(g, x)))));
  });
  add("SiluRestOfAnything", "!nn.silu", [](Graph& g) {
    V x = X(g);
    g.Out(g.Sub(x, g.Mul(x, Sigmoid(g, Neg(g, x)))));
  });
  add("SigmoidQuotient", "nn.softmax ten.sigmoid", [](Graph& g) {
    V e = Exp(g, Bounded(g));
    g.Out(g.Div(e, g.Add(e, 1.0)));
  });
  add("SiluProductQuotient", "nn.silu nn.softmax", [](Graph& g) {
    V x = Bounded(g), e = Exp(g, x);
    g.Out(g.Div(g.Mul(x, e), g.Add(1.0, e)));
  });
  add("QuickGeluDivided", "nn.gelu", [](Graph& g) {
    V x = X(g);
    g.Out(g.Mul(x, Sigmoid(g, g.Div(x, 1 / 1.702))));
  });
  return all;
}
TENON_SPELLINGS(SigmoidForms, Sigmoids());

// ---- softplus, mish, hard-swish ----------------------------------------------------------------

const Spelling kOthers[] = {
    {"SoftplusLog", "ten.softplus",
     [](Graph& g) { g.Out(Unary(g, "Log", g.Add(1.0, Exp(g, X(g))))); }},
    {"SoftplusMinusMinusOne", "ten.softplus",
     [](Graph& g) { g.Out(Unary(g, "Log", g.Sub(Exp(g, X(g)), -1.0))); }},
    {"SoftplusOfSigmoid", "ten.softplus",
     [](Graph& g) { g.Out(Neg(g, Unary(g, "Log", Sigmoid(g, Neg(g, X(g)))))); }},
    {"SoftplusOfQuotient", "ten.softplus",
     [](Graph& g) { g.Out(Neg(g, Unary(g, "Log", g.Div(1.0, g.Add(1.0, Exp(g, X(g))))))); }},
    {"SoftplusOfComplement", "ten.softplus",
     [](Graph& g) { g.Out(Neg(g, Unary(g, "Log", g.Sub(1.0, Sigmoid(g, X(g)))))); }},
    {"SoftplusOfSize", "ten.softplus",
     [](Graph& g) {
       V x = X(g);
       V down = Unary(g, "Log", g.Add(1.0, Exp(g, Neg(g, Unary(g, "Abs", x)))));
       g.Out(g.Add(g.Either("Max", x, 0.0), down));
     }},
    {"SoftplusOfSizeRelu", "ten.softplus",
     [](Graph& g) {
       V x = X(g);
       V down = Unary(g, "Softplus", Neg(g, Unary(g, "Abs", x)));
       g.Out(g.Add(Unary(g, "Relu", x), down));
     }},
    {"SoftplusOfNegative", "nn.softmax ten.softplus",
     [](Graph& g) {
       V x = Bounded(g);
       g.Out(g.Add(x, Unary(g, "Log", g.Add(1.0, Exp(g, Neg(g, x))))));
     }},
    {"MishOfSize", "nn.mish",
     [](Graph& g) {
       V x = X(g);
       V down = Unary(g, "Log", g.Add(1.0, Exp(g, Neg(g, Unary(g, "Abs", x)))));
       g.Out(g.Mul(x, Unary(g, "Tanh", g.Add(Unary(g, "Relu", x), down))));
     }},
    {"MishOfExp", "nn.mish nn.softmax",
     [](Graph& g) {
       V x = Bounded(g), e = Exp(g, x), n = g.Mul(e, g.Add(e, 2.0));
       g.Out(g.Mul(x, g.Div(n, g.Add(n, 2.0))));
     }},
    {"MishOfSquares", "nn.mish nn.softmax",
     [](Graph& g) {
       V x = Bounded(g), e = Exp(g, x), n = g.Add(g.Mul(e, e), g.Mul(e, 2.0));
       g.Out(g.Div(g.Mul(x, n), g.Add(n, 2.0)));
     }},
    {"HardSwishQuotientInside", "ten.hard_swish",
     [](Graph& g) {
       V x = X(g);
       g.Out(g.Mul(x, Clip(g, g.Div(g.Add(x, 3.0), 6.0), 0, 1)));
     }},
    {"HardSwishProductInside", "ten.hard_swish",
     [](Graph& g) {
       V x = X(g);
       g.Out(g.Mul(x, Clip(g, g.Mul(g.Add(x, 3.0), 1.0 / 6), 0, 1)));
     }},
    {"HardSwishMinusMinusHalf", "ten.hard_swish",
     [](Graph& g) {
       V x = X(g);
       g.Out(g.Mul(x, Clip(g, g.Sub(g.Div(x, 6.0), -0.5), 0, 1)));
     }},
};
TENON_SPELLINGS(OtherForms, kOthers);

// Spellings that patterns/README.md lists as those that no rule takes.
const Spelling kLeft[] = {
    {"SoftplusBehindABound", "!ten.softplus",
     [](Graph& g) {
       V x = X(g);
       g.Out(
           g.Op("Where", {g.Op("Greater", {x, 20.0}), x, Unary(g, "Log", g.Add(1.0, Exp(g, x)))}));
     },
     13, false},
    {"GeluOfSize", "!nn.gelu",
     [](Graph& g) {
       V x = X(g), size = Unary(g, "Abs", x);
       g.Out(g.Add(g.Mul(x, 0.5), g.Mul(g.Mul(size, 0.5), Erf(g, size))));
     },
     11, false},
    {"GeluOfHalf", "!nn.gelu",
     [](Graph& g) {
       V z = g.Mul(X(g), 0.5);
       g.Out(g.Mul(z, g.Add(1.0, Unary(g, "Erf", g.Mul(z, kSqrt2)))));
     },
     11, false},
    {"TanhOfSigmoid", "!ten.tanh",
     [](Graph& g) { g.Out(g.Sub(g.Mul(Sigmoid(g, g.Mul(X(g), 2.0)), 2.0), 1.0)); }, 11, false},
    {"SigmoidOfSoftplus", "!ten.sigmoid",
     [](Graph& g) { g.Out(Exp(g, Neg(g, Unary(g, "Softplus", Neg(g, X(g)))))); }, 11, false},
    {"SigmoidOfBranches", "!nn.silu",
     [](Graph& g) {
       V x = X(g), e = Exp(g, x);
       V low = g.Div(e, g.Add(1.0, e)), high = g.Div(1.0, g.Add(1.0, Exp(g, Neg(g, x))));
       g.Out(g.Mul(x, g.Op("Where", {g.Op("Less", {x, 0.0}), low, high})));
     },
     13, false},
    {"MishOfSquare", "!nn.mish",
     [](Graph& g) {
       V x = X(g), s = g.Pow(g.Add(1.0, Exp(g, x)), 2.0);
       g.Out(g.Mul(x, g.Sub(1.0, g.Div(2.0, g.Add(s, 1.0)))));
     },
     11, false},
    {"HardSwishOfBounded", "!ten.hard_swish",
     [](Graph& g) {
       V x = X(g);
       g.Out(g.Mul(x, g.Add(g.Div(Clip(g, x, -3, 3), 6.0), 0.5)));
     },
     11, false},
    {"ReluOfSize", "!ten.relu",
     [](Graph& g) {
       V x = X(g);
       g.Out(g.Mul(g.Add(x, Unary(g, "Abs", x)), 0.5));
     },
     11, false},
};
TENON_SPELLINGS(LeftForms, kLeft);

// ---- casts around ------------------------------------------------------------------------------

// What a model of f16 computes in f32.
template <typename Of>
std::function<void(Graph&)> Widened(const Of& of) {
  return [=](Graph& g) {
    V x = g.Cast(g.In({B(), S(), 16}, DType::kF16), DType::kF32);
    g.Out(g.Cast(of(g, x), DType::kF16));
  };
}

std::vector<Spelling> Casts() {
  std::vector<Spelling> all;
  const auto add = [&](const char* name, const char* ops, std::function<void(Graph&)> build) {
    all.push_back({name, ops, std::move(build), 13, false});
  };
  add("Sigmoid", "ten.sigmoid", Widened([](Graph& g, const V& x) { return Sigmoid(g, x); }));
  add("Relu", "ten.relu", Widened([](Graph& g, const V& x) { return Unary(g, "Relu", x); }));
  add("Silu", "nn.silu", Widened([](Graph& g, const V& x) { return g.Mul(x, Sigmoid(g, x)); }));
  add("SiluQuotient", "nn.silu",
      Widened([](Graph& g, const V& x) { return g.Div(x, g.Add(1.0, Exp(g, Neg(g, x)))); }));
  add("GeluErf", "nn.gelu",
      Widened([](Graph& g, const V& x) { return g.Mul(g.Mul(x, 0.5), g.Add(Erf(g, x), 1.0)); }));
  add("GeluTanh", "nn.gelu",
      Widened([](Graph& g, const V& x) { return g.Mul(g.Mul(x, 0.5), g.Add(Tanh(g, x), 1.0)); }));
  add("QuickGelu", "nn.gelu",
      Widened([](Graph& g, const V& x) { return g.Mul(x, Sigmoid(g, g.Mul(x, 1.702))); }));
  add("Mish", "nn.mish", Widened([](Graph& g, const V& x) {
        return g.Mul(x, Unary(g, "Tanh", Unary(g, "Softplus", x)));
      }));
  add("HardSwish", "ten.hard_swish", Widened([](Graph& g, const V& x) {
        return g.Mul(x, Clip(g, g.Div(g.Add(x, 3.0), 6.0), 0, 1));
      }));
  add("SigmoidOnly", "nn.silu", [](Graph& g) {  // x * f16(sigmoid(f32(x)))
    V x = g.In({B(), S(), 16}, DType::kF16);
    g.Out(g.Op("Mul", {x, g.Cast(Sigmoid(g, g.Cast(x, DType::kF32)), DType::kF16)}));
  });
  return all;
}
TENON_SPELLINGS(CastForms, Casts());

}  // namespace
}  // namespace tenon::spellings::forms
