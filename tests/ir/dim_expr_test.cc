#include "ir/core/dims/dim_expr.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <span>

#include "ir/core/context/context.h"
#include "ir/core/dims/dim_expr_rewrite.h"

namespace tenon {
namespace {

class DimExprTest : public testing::Test {
 protected:
  DimExpr N(int64_t value) { return DimExpr::Constant(context_, value); }
  DimExpr S(const char* name) { return DimExpr::Symbol(context_, name); }
  DimExpr P(const char* text) {
    std::optional<DimExpr> e = DimExpr::Parse(context_, text);
    EXPECT_TRUE(e.has_value()) << text;
    return e ? *e : DimExpr::Unknown(context_);
  }
  std::optional<int64_t> Eval(DimExpr e, std::map<std::string, int64_t, std::less<>> values) {
    return e.Evaluate([&](std::string_view name) -> std::optional<int64_t> {
      auto it = values.find(name);
      if (it == values.end()) return std::nullopt;
      return it->second;
    });
  }
  Context context_;
};

TEST_F(DimExprTest, NormalForm) {
  DimExpr a = S("a"), b = S("b");
  EXPECT_EQ(a + b, b + a);
  EXPECT_EQ(a * b, b * a);
  EXPECT_EQ((a + b) * (a + b), a * a + (a * b) * 2 + b * b);
  EXPECT_EQ(a + b - a, b);
  EXPECT_EQ(a - a, N(0));
  EXPECT_EQ(a * N(0), N(0));
  EXPECT_EQ(a * N(1), a);
  EXPECT_EQ((a + 3) - 3, a);
  EXPECT_EQ(N(2) + N(3), N(5));
  EXPECT_NE(a, b);
}

TEST_F(DimExprTest, NumbersThatDoNotFitAreUnknown) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE((N(kMost) + N(1)).is_unknown());
  EXPECT_TRUE((N(kLeast) - N(1)).is_unknown());
  EXPECT_TRUE((N(kMost) - N(-1)).is_unknown());
  EXPECT_TRUE((N(0) - N(kLeast)).is_unknown());
  EXPECT_EQ(N(kLeast) - N(kLeast), N(0));
  EXPECT_TRUE((N(kLeast) * N(-1)).is_unknown());
  EXPECT_EQ(N(kLeast) - N(0), N(kLeast));
  EXPECT_EQ(N(kMost) * N(0), N(0));
  EXPECT_EQ(N(kMost) - N(kMost), N(0));
  EXPECT_TRUE(Min(S("a") * kLeast, S("b") * kLeast + 1).is_unknown());
  EXPECT_TRUE(Min(S("a") * -1, S("b") + kLeast).is_unknown());
}

TEST_F(DimExprTest, NothingAddedOrTakenOnceIsTheSame) {
  const DimExpr unknown = DimExpr::Unknown(context_);
  for (const DimExpr e : {N(7), S("a"), S("a") * 2 + S("b") - 1, P("a floordiv 2"), unknown}) {
    EXPECT_EQ(e + 0, e);
    EXPECT_EQ(N(0) + e, e);
    EXPECT_EQ(e - 0, e);
    EXPECT_EQ(e * 1, e);
    EXPECT_EQ(N(1) * e, e);
  }
  const std::array<DimExpr, 4> dims = {N(2), S("a"), N(3), S("b") + 1};
  EXPECT_EQ(Product(context_, dims), S("a") * S("b") * 6 + S("a") * 6);
  EXPECT_EQ(Product(context_, std::span(dims).first(0)), N(1));
  EXPECT_TRUE(Product(context_, std::array{N(2), unknown}).is_unknown());
}

TEST_F(DimExprTest, ProofsBoundMinMaxAndDivision) {
  const auto le = [&](const char* a, const char* b) {
    return DimExpr::ProvablyLessEqual(P(a), P(b));
  };
  EXPECT_TRUE(le("min(S, 512)", "S"));
  EXPECT_TRUE(le("min(S, T) + 3", "T + 3"));
  EXPECT_TRUE(le("S", "max(S, T) + B"));
  EXPECT_TRUE(le("S * min(B, 4)", "4 * S"));
  EXPECT_TRUE(le("4 * (S floordiv 4)", "S"));
  EXPECT_TRUE(le("S", "4 * ((S + 3) floordiv 4)"));
  EXPECT_TRUE(le("S floordiv 4", "S"));
  EXPECT_TRUE(le("S mod 4", "3"));
  EXPECT_TRUE(le("S mod 4", "S"));
  EXPECT_TRUE(le("min(S, T) - max(S, T)", "0"));
  EXPECT_FALSE(le("S", "min(S, 512)"));
  EXPECT_FALSE(le("max(S, T)", "S"));
  EXPECT_FALSE(le("S", "4 * (S floordiv 4)"));
  EXPECT_FALSE(le("S", "S * T"));
  EXPECT_FALSE(le("S mod 4", "2"));
  EXPECT_FALSE(le("1", "S"));
}

TEST_F(DimExprTest, MinAndMaxHaveOneForm) {
  EXPECT_EQ(P("max(0, S - 1)"), P("S - min(1, S)"));
  EXPECT_EQ(P("max(S, T)"), P("S + T - min(S, T)"));
  EXPECT_EQ(P("min(S + 3, T + 3)"), P("min(T, S) + 3"));
  EXPECT_EQ(P("min(4 * S, 64)"), P("4 * min(S, 16)"));
  EXPECT_EQ(P("64 - max(64 - S, 0)"), P("min(S, 64)"));
  EXPECT_EQ(P("max(S - 1, 0) + min(S, 1)"), S("S"));
  EXPECT_EQ(P("min(1, 3 * S * S + min(S, 4))"), P("min(1, S)"));
  EXPECT_EQ(P("min(1, S + min(S, 1)) + min(1, T + S)"), P("min(1, S) + min(1, S + T)"));
  EXPECT_EQ(P("min(2, S + min(S, 2))"), P("min(2, S + min(S, 2))"));
  EXPECT_NE(P("min(2, S + min(S, 2))"), P("min(2, S)"));
  EXPECT_EQ(P("min((S + 1) floordiv 2, 1)"), P("min(1, S)"));
  EXPECT_NE(P("min(S floordiv 2, 1)"), P("min(1, S)"));
  EXPECT_EQ(Eval(P("min(1, 2 * S * T)"), {{"S", 3}, {"T", 0}}), 0);
  EXPECT_EQ(Eval(P("max(S - T, T - S)"), {{"S", 3}, {"T", 8}}), 5);
  EXPECT_EQ(Eval(P("min(2 * S - 4, 3 * T)"), {{"S", 3}, {"T", 8}}), 2);
}

TEST_F(DimExprTest, BroadcastsAreFlatSets) {
  EXPECT_EQ(P("broadcast(broadcast(S, T), U)"), P("broadcast(broadcast(U, S), broadcast(T, S))"));
  EXPECT_EQ(P("broadcast(broadcast(U, T), broadcast(S, T))").text(),
            "broadcast(S, broadcast(T, U))");
  EXPECT_EQ(P("broadcast(broadcast(S, T), broadcast(T, U))"), P("broadcast(broadcast(S, T), U)"));
  EXPECT_EQ(P("broadcast(broadcast(S, T), 7)"), N(7));
  EXPECT_EQ(P("broadcast(broadcast(S, T), 1)"), P("broadcast(T, S)"));
  EXPECT_EQ(P("broadcast(min(S, 4), broadcast(S, T))"), P("broadcast(S, T)"));
  EXPECT_EQ(P("broadcast(min(broadcast(S, T), 4), broadcast(S, T))"), P("broadcast(S, T)"));
  EXPECT_EQ(Eval(P("broadcast(S, broadcast(T, U))"), {{"S", 1}, {"T", 5}, {"U", 1}}), 5);
  const std::vector<DimExpr> parts = BroadcastParts(P("broadcast(U, broadcast(S, T))"));
  EXPECT_EQ(parts, (std::vector<DimExpr>{S("S"), S("T"), S("U")}));
  EXPECT_EQ(BroadcastParts(S("S")), std::vector<DimExpr>{S("S")});
}

// Sixteen symbols in any order, joined as often as one likes; one more is too many.
TEST_F(DimExprTest, LargeBroadcastsAreUnknown) {
  std::vector<DimExpr> level;
  for (int i = 0; i < 16; ++i) level.push_back(DimExpr::Symbol(context_, "N" + std::to_string(i)));
  const DimExpr more = S("M");
  for (int round = 0; round < 15; ++round) {
    std::vector<DimExpr> next;
    for (size_t i = 0; i < level.size(); ++i)
      next.push_back(Broadcast(level[i], level[(i + 7) % level.size()]));
    level = next;
  }
  for (DimExpr e : level) {
    EXPECT_EQ(BroadcastParts(e).size(), 16U);
    EXPECT_EQ(e, level[0]);
    EXPECT_TRUE(Broadcast(e, more).is_unknown());
  }
}

TEST_F(DimExprTest, RewritesTerms) {
  const auto rewrite = [&](const char* text, const char* term, const char* by) {
    return Rewrite(P(text), [&](DimExpr t) -> std::optional<DimExpr> {
      return t == P(term) ? std::optional<DimExpr>(P(by)) : std::nullopt;
    });
  };
  EXPECT_EQ(rewrite("2 * min(S, 4) + S", "min(S, 4)", "S"), P("3 * S"));
  EXPECT_EQ(rewrite("broadcast(min(S, 4), T)", "min(S, 4)", "T"), S("T"));
  EXPECT_EQ(rewrite("(B * S) floordiv T", "T", "S"), S("B"));
  EXPECT_EQ(rewrite("S mod 4", "S", "4 * B"), N(0));
}

TEST_F(DimExprTest, DivisionCancelsAndNests) {
  EXPECT_EQ(P("(6 * a * b) floordiv (4 * a)"), P("(3 * b) floordiv 2"));
  EXPECT_EQ(P("(a floordiv 4) floordiv 3"), P("a floordiv 12"));
  EXPECT_EQ(P("(4 * a + 3) floordiv 4"), S("a"));
  EXPECT_EQ(P("(a * b + a) floordiv a"), P("b + 1"));
  EXPECT_EQ(P("(a * b + c) floordiv a"), P("b + (c floordiv a)"));
  EXPECT_EQ(P("(a mod 4) floordiv 4"), N(0));
  EXPECT_EQ(P("(8 * a + 15) floordiv 16"), P("(a + 1) floordiv 2"));
  EXPECT_EQ(P("(6 * a - 1) floordiv 4"), P("(3 * a - 1) floordiv 2"));
  EXPECT_EQ(P("(3 * a + 1) floordiv 4").text(), "(3 * a + 1) floordiv 4");
  for (int64_t a = 0; a < 5; ++a) {
    EXPECT_EQ(Eval(P("(6 * a + 5) floordiv 4"), {{"a", a}}), (6 * a + 5) / 4);
  }
  // Padding to a multiple of a window.
  EXPECT_EQ(P("(7 - (S mod 7)) mod 7"), P("(-S) mod 7"));
  EXPECT_EQ(P("(S + (7 - (S mod 7)) mod 7) floordiv 7"), P("-((-S) floordiv 7)"));
  EXPECT_EQ(P("(a mod 12) mod 4"), P("a mod 4"));
  EXPECT_EQ(P("(a mod 4) mod 12"), P("a mod 4"));
  // Padding by what a division leaves.
  EXPECT_EQ(P("S + (8 - (S mod 8))"), P("8 * ((S floordiv 8) + 1)"));
  EXPECT_EQ(P("B * (S - (S mod 8))"), P("8 * B * (S floordiv 8)"));
}

TEST_F(DimExprTest, TextReadsBack) {
  for (const char* text : {"B", "B + S", "2 * B", "B * S + 1", "B floordiv 2", "max(B, S)",
                           "min(B, 4)", "?", "17", "`/a b/c`", "B mod 3"}) {
    DimExpr e = P(text);
    EXPECT_EQ(P(e.text().c_str()).text(), e.text()) << text;
  }
  EXPECT_EQ(P("S + past"), P("past + S"));
  EXPECT_EQ(P("( a )"), S("a"));
  EXPECT_EQ(P("-a + a + 1"), N(1));
}

TEST_F(DimExprTest, MalformedTextIsRefused) {
  for (const char* text :
       {"", "B +", "+ B", "B S", "(B", "B)", "max(B)", "max(B, S, T)", "1x", "B ** 2", "`a",
        "99999999999999999999",
        "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((a"}) {
    EXPECT_FALSE(DimExpr::Parse(context_, text).has_value()) << text;
  }
}

TEST_F(DimExprTest, Evaluates) {
  DimExpr e = P("(past + S) * 2 floordiv 3 + max(S, 4) - min(S, 1) + S mod 5");
  std::optional<int64_t> value = Eval(e, {{"past", 7}, {"S", 6}});
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(*value, 26 / 3 + 6 - 1 + 1);
  EXPECT_FALSE(Eval(e, {{"S", 6}}).has_value());
  EXPECT_EQ(Eval(FloorDiv(N(-7), N(2)), {}), -4);
  EXPECT_EQ(Eval(CeilDiv(S("S"), 4), {{"S", 9}}), 3);
  EXPECT_FALSE(Eval(FloorDiv(N(1), S("S")), {{"S", 0}}).has_value());
  EXPECT_FALSE(Eval(S("S") * S("S"), {{"S", int64_t{1} << 40}}).has_value());
}

TEST_F(DimExprTest, WhatDoublesIsGivenUp) {
  DimExpr square = DimExpr::Symbol(context_, "S");
  DimExpr least = square;
  for (int i = 0; i < 60; ++i) {
    square = square * square;
    least = Min(least * 2, least + DimExpr::Symbol(context_, "S" + std::to_string(i)));
  }
  EXPECT_TRUE(square.is_unknown());
  EXPECT_TRUE(least.is_unknown());
}

TEST_F(DimExprTest, WhatIsPrintedCanBeRead) {
  DimExpr calls = S("S"), quotients = S("S");
  int levels = 0;
  for (; levels < 200 && !calls.is_unknown(); ++levels) {
    EXPECT_EQ(DimExpr::Parse(context_, calls.text()), calls) << levels;
    calls = Min(calls + N(1), DimExpr::Symbol(context_, "T" + std::to_string(levels)));
  }
  EXPECT_EQ(levels, 64);
  for (levels = 0; levels < 200 && !quotients.is_unknown(); ++levels) {
    EXPECT_EQ(DimExpr::Parse(context_, quotients.text()), quotients) << levels;
    quotients = FloorDiv(quotients + S("T"), N(3));
  }
  EXPECT_LT(levels, 64);
}

TEST_F(DimExprTest, UnknownEqualsNothing) {
  DimExpr u = DimExpr::Unknown(context_);
  EXPECT_FALSE(DimExpr::ProvablyEqual(u, u));
  EXPECT_TRUE(DimExpr::ProvablyEqual(S("a"), S("a")));
  EXPECT_FALSE(DimExpr::ProvablyEqual(S("a"), S("b")));
  EXPECT_TRUE((u + N(1)).is_unknown());
  EXPECT_FALSE(Eval(u, {}).has_value());
}

TEST_F(DimExprTest, Broadcast) {
  EXPECT_EQ(Broadcast(S("S"), N(1)), S("S"));
  EXPECT_EQ(Broadcast(N(1), S("S")), S("S"));
  EXPECT_EQ(Broadcast(S("S"), N(768)), N(768));
  EXPECT_EQ(Broadcast(S("S"), S("S")), S("S"));
  DimExpr both = Broadcast(S("S"), S("T"));
  EXPECT_EQ(both, Broadcast(S("T"), S("S")));
  EXPECT_EQ(Eval(both, {{"S", 1}, {"T", 5}}), 5);
  EXPECT_EQ(Eval(both, {{"S", 5}, {"T", 5}}), 5);
  EXPECT_FALSE(Eval(both, {{"S", 4}, {"T", 5}}).has_value());
}

TEST_F(DimExprTest, Comparisons) {
  EXPECT_TRUE(DimExpr::ProvablyLessEqual(S("a"), S("a") + S("b")));
  EXPECT_FALSE(DimExpr::ProvablyLessEqual(S("a") + S("b"), S("a")));
  EXPECT_TRUE(DimExpr::ProvablyLessEqual(N(2), N(2)));
  EXPECT_FALSE(DimExpr::ProvablyLessEqual(S("a"), N(1)));
  EXPECT_TRUE(DimExpr::ProvablyLessEqual(N(0), S("a")));
}

TEST_F(DimExprTest, ExactDivision) {
  EXPECT_EQ(DimExpr::ExactDiv(S("B") * S("H") * 64, S("H") * 8), S("B") * 8);
  EXPECT_EQ(DimExpr::ExactDiv(N(12), N(4)), N(3));
  EXPECT_FALSE(DimExpr::ExactDiv(N(13), N(4)).has_value());
  EXPECT_FALSE(DimExpr::ExactDiv(S("B"), S("H")).has_value());
  EXPECT_FALSE(DimExpr::ExactDiv(S("B"), N(0)).has_value());
}

TEST_F(DimExprTest, SubstitutesAndCollects) {
  DimExpr e = P("past + S * B");
  std::vector<std::string_view> symbols;
  e.CollectSymbols(symbols);
  EXPECT_EQ(symbols.size(), 3u);
  DimExpr replaced = e.Substitute([&](std::string_view name) -> std::optional<DimExpr> {
    if (name == "S") return N(4);
    return std::nullopt;
  });
  EXPECT_EQ(replaced, P("4 * B + past"));
  DimExpr dims[] = {S("B"), N(3), S("S")};
  EXPECT_EQ(Product(context_, dims), P("3 * B * S"));
  EXPECT_EQ(Product(context_, {}), N(1));
}

TEST_F(DimExprTest, NegativeExtentsOfConstantsAreClampedByMax) {
  EXPECT_EQ(Max(N(-3), N(0)), N(0));
  EXPECT_EQ(Min(N(5), N(3)), N(3));
  EXPECT_EQ(Mod(N(7), N(4)), N(3));
}

// The extent after many slices that each leave out the first element.
TEST_F(DimExprTest, MinOfMinLosesPartsThatAreNoBound) {
  EXPECT_EQ(Min(S("B"), Min(N(1), S("B")) + 1), P("min(2, B)"));
  EXPECT_EQ(Min(Min(N(3), S("B")) + S("S"), S("S")), S("S"));
  DimExpr extent = S("B");
  for (int i = 0; i < 1000; ++i) extent = extent - Min(extent, N(1));
  EXPECT_EQ(extent, P("B - min(1000, B)"));
}

// Random expressions, beside what they come to by plain arithmetic at several sizes.
TEST_F(DimExprTest, NormalFormsKeepTheirValue) {
  constexpr size_t kBindings = 6;
  constexpr int64_t kSizes[kBindings][2] = {{0, 0}, {0, 5}, {1, 1}, {1, 7}, {4, 3}, {64, 9}};
  struct Made {
    DimExpr e;
    std::array<int64_t, kBindings> values;
  };
  const auto floor_div = [](int64_t a, int64_t b) { return (a - ((a % b) + b) % b) / b; };
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const std::function<Made(int)> make = [&](int depth) -> Made {
    Made made;
    const int kind = depth == 0 ? below(2) : below(8);
    const int64_t number = below(9);
    if (kind == 0) {
      made.e = N(number);
      made.values.fill(number);
      return made;
    }
    if (kind == 1) {
      const int symbol = below(2);
      made.e = S(symbol == 0 ? "S" : "T");
      for (size_t i = 0; i < kBindings; ++i) made.values[i] = kSizes[i][symbol];
      return made;
    }
    const Made a = make(depth - 1), b = make(depth - 1);
    const int64_t divisor = number + 1;
    made.e = kind == 2   ? a.e + b.e
             : kind == 3 ? a.e - b.e
             : kind == 4 ? a.e * number
             : kind == 5 ? FloorDiv(a.e, divisor)
             : kind == 6 ? Min(a.e, b.e)
                         : Min(N(1), a.e);
    for (size_t i = 0; i < kBindings; ++i) {
      const int64_t x = a.values[i], y = b.values[i];
      made.values[i] = kind == 2   ? x + y
                       : kind == 3 ? x - y
                       : kind == 4 ? x * number
                       : kind == 5 ? floor_div(x, divisor)
                       : kind == 6 ? std::min(x, y)
                                   : std::min<int64_t>(1, x);
    }
    return made;
  };
  for (int round = 0; round < 4000; ++round) {
    const Made made = make(4);
    ASSERT_FALSE(made.e.is_unknown());
    for (size_t i = 0; i < kBindings; ++i) {
      ASSERT_EQ(Eval(made.e, {{"S", kSizes[i][0]}, {"T", kSizes[i][1]}}), made.values[i])
          << made.e.text() << " at S = " << kSizes[i][0] << ", T = " << kSizes[i][1];
    }
  }
}

}  // namespace
TEST(DimExprLimitsTest, GivesUpOnProductsOfManySums) {
  Context context;
  DimExpr product = DimExpr::Constant(context, 1);
  for (int i = 0; i < 40 && !product.is_unknown(); ++i) {
    product = product * (DimExpr::Symbol(context, "a" + std::to_string(i)) +
                         DimExpr::Symbol(context, "b" + std::to_string(i)));
  }
  EXPECT_TRUE(product.is_unknown());
}

}  // namespace tenon
