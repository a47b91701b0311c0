// Reference kernels of elementwise ops and casts against values computed by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/op_attrs.h"
#include "tests/kernels/reference_test_util.h"

namespace tenon::kernels::testing {
namespace {

template <typename T, typename Attrs>
std::vector<T> Map(const char* name, const std::vector<T>& x, Attrs attrs) {
  const Shape shape = {static_cast<int64_t>(x.size())};
  return Evaluate<T>(name, {Tensor::Of(shape, x)}, shape, MakeAttrs(attrs));
}

using Bytes = std::vector<uint8_t>;

TEST(ReferenceUnary, Floats) {
  EXPECT_EQ(Map("ref.abs", Floats{-1.5f, 2}, ten::AbsAttrs()), (Floats{1.5f, 2}));
  EXPECT_EQ(Map("ref.neg", Floats{-1.5f, 2}, ten::NegAttrs()), (Floats{1.5f, -2}));
  EXPECT_EQ(Map("ref.sign", Floats{-3, 0, 7}, ten::SignAttrs()), (Floats{-1, 0, 1}));
  EXPECT_EQ(Map("ref.ceil", Floats{-1.5f, 1.2f}, ten::CeilAttrs()), (Floats{-1, 2}));
  EXPECT_EQ(Map("ref.floor", Floats{-1.5f, 1.2f}, ten::FloorAttrs()), (Floats{-2, 1}));
  EXPECT_EQ(Map("ref.round", Floats{0.5f, 1.5f, -2.5f}, ten::RoundAttrs()), (Floats{0, 2, -2}));
  EXPECT_EQ(Map("ref.sqrt", Floats{9}, ten::SqrtAttrs()), (Floats{3}));
  EXPECT_EQ(Map("ref.reciprocal", Floats{4, -2}, ten::ReciprocalAttrs()), (Floats{0.25f, -0.5f}));
  EXPECT_EQ(Map("ref.relu", Floats{-1, 3}, ten::ReluAttrs()), (Floats{0, 3}));
  EXPECT_EQ(Map("ref.leaky_relu", Floats{-2, 3}, ten::LeakyReluAttrs{.alpha = 0.5f}),
            (Floats{-1, 3}));
  EXPECT_EQ(Map("ref.clip", Floats{-2, 0.5f, 9}, ten::ClipAttrs{.min = -1, .max = 1}),
            (Floats{-1, 0.5f, 1}));
  EXPECT_EQ(Map("ref.hard_sigmoid", Floats{-9, 0, 9}, ten::HardSigmoidAttrs()),
            (Floats{0, 0.5f, 1}));
  ExpectNear(Map("ref.exp", Floats{0, 1}, ten::ExpAttrs()), {1, 2.7182818f});
  ExpectNear(Map("ref.log", Floats{1, 10}, ten::LogAttrs()), {0, 2.3025851f});
  ExpectNear(Map("ref.sin", Floats{0, 1}, ten::SinAttrs()), {0, 0.8414710f});
  ExpectNear(Map("ref.cos", Floats{0, 1}, ten::CosAttrs()), {1, 0.5403023f});
  ExpectNear(Map("ref.erf", Floats{0.5f}, ten::ErfAttrs()), {0.5204999f});
  ExpectNear(Map("ref.tanh", Floats{0.5f}, ten::TanhAttrs()), {0.4621172f});
  ExpectNear(Map("ref.sigmoid", Floats{0, 2}, ten::SigmoidAttrs()), {0.5f, 0.8807971f});
  ExpectNear(Map("ref.silu", Floats{2}, nn::SiluAttrs()), {1.7615942f});
  ExpectNear(Map("ref.hard_swish", Floats{-4, 1, 4}, ten::HardSwishAttrs()), {0, 0.6666667f, 4});
  ExpectNear(Map("ref.gelu", Floats{1, -1}, nn::GeluAttrs()), {0.8413447f, -0.1586553f});
  ExpectNear(Map("ref.gelu", Floats{1}, nn::GeluAttrs{.approximate = nn::GeluApproximate::kTanh}),
             {0.8411920f});
  ExpectNear(
      Map("ref.gelu", Floats{1}, nn::GeluAttrs{.approximate = nn::GeluApproximate::kSigmoid}),
      {0.8457958f});
}

TEST(ReferenceUnary, KeepsNan) {
  EXPECT_TRUE(std::isnan(Map("ref.relu", Floats{kNan}, ten::ReluAttrs())[0]));
  EXPECT_TRUE(std::isnan(Map("ref.sign", Floats{kNan}, ten::SignAttrs())[0]));
  EXPECT_TRUE(std::isnan(Map("ref.clip", Floats{kNan}, ten::ClipAttrs{.min = 0, .max = 1})[0]));
  EXPECT_EQ(Evaluate<uint8_t>("ref.is_nan", {Tensor::Of<float>({3}, {kNan, 0, kInf})}, {3}, nullptr,
                              DType::kBool),
            (Bytes{1, 0, 0}));
}

TEST(ReferenceUnary, IntegersAndHalf) {
  EXPECT_EQ(Map("ref.abs", std::vector<int8_t>{-5, -128}, ten::AbsAttrs()),
            (std::vector<int8_t>{5, -128}));
  EXPECT_EQ(Map("ref.clip", std::vector<int64_t>{-7, 7}, ten::ClipAttrs{.min = 0, .max = 5.5}),
            (std::vector<int64_t>{0, 5}));
  EXPECT_EQ(Map("ref.clip", std::vector<uint8_t>{0, 200}, ten::ClipAttrs()),
            (std::vector<uint8_t>{0, 200}));
  EXPECT_EQ(Map("ref.neg", std::vector<int32_t>{INT32_MIN}, ten::NegAttrs()),
            (std::vector<int32_t>{INT32_MIN}));
  EXPECT_EQ(
      static_cast<float>(Map("ref.sqrt", std::vector<Half>{Half(2.25f)}, ten::SqrtAttrs())[0]),
      1.5f);
  EXPECT_EQ(
      static_cast<float>(Map("ref.neg", std::vector<BFloat16>{BFloat16(2.5f)}, ten::NegAttrs())[0]),
      -2.5f);
  EXPECT_EQ(Evaluate<uint8_t>("ref.not", {Tensor::Of<bool>({2}, {true, false})}, {2}, nullptr,
                              DType::kBool),
            (Bytes{0, 1}));
}

// [2,1] op [3] -> [2,3].
template <typename T, typename Out = T>
std::vector<Out> Zip(const char* name, const std::vector<T>& a, const std::vector<T>& b,
                     std::shared_ptr<const void> attrs = nullptr, DType out = DTypeOf<Out>()) {
  return Evaluate<Out>(name, {Tensor::Of({2, 1}, a), Tensor::Of({3}, b)}, {2, 3}, attrs, out);
}

TEST(ReferenceBinary, Broadcasts) {
  EXPECT_EQ(Zip<float>("ref.add", {1, 10}, {1, 2, 3}), (Floats{2, 3, 4, 11, 12, 13}));
  EXPECT_EQ(Zip<float>("ref.sub", {1, 10}, {1, 2, 3}), (Floats{0, -1, -2, 9, 8, 7}));
  EXPECT_EQ(Zip<int32_t>("ref.mul", {2, -3}, {1, 2, 3}),
            (std::vector<int32_t>{2, 4, 6, -3, -6, -9}));
  EXPECT_EQ(Zip<int64_t>("ref.div", {7, -7}, {2, -2, 3}),
            (std::vector<int64_t>{3, -3, 2, -3, 3, -2}));
  EXPECT_EQ(Zip<float>("ref.max", {1, 3}, {2, kNan, 0})[0], 2);
  EXPECT_TRUE(std::isnan(Zip<float>("ref.max", {1, 3}, {2, kNan, 0})[1]));
  EXPECT_TRUE(std::isnan(Zip<float>("ref.min", {1, kNan}, {2, 4, 0})[3]));
  EXPECT_EQ(Zip<int8_t>("ref.min", {1, 3}, {2, 0, -1}), (std::vector<int8_t>{1, 0, -1, 2, 0, -1}));
}

TEST(ReferenceBinary, IntegerEdges) {
  EXPECT_EQ((Evaluate<int32_t>(
                "ref.div", {Tensor::Of<int32_t>({1}, {INT32_MIN}), Tensor::Of<int32_t>({1}, {-1})},
                {1})[0]),
            INT32_MIN);
  Case c = {{Tensor::Of<int64_t>({1}, {4}), Tensor::Of<int64_t>({1}, {0})},
            {Tensor(DType::kI64, {1})},
            nullptr,
            {}};
  EXPECT_EQ(RunCase(*Registry().FindByName("ref.div"), c).code(),
            KernelStatus::Code::kInvalidArgument);
  c.attrs = MakeAttrs(ten::ModAttrs());
  EXPECT_FALSE(RunCase(*Registry().FindByName("ref.mod"), c).ok());
  EXPECT_EQ(Zip<int32_t>("ref.mod", {7, -7}, {3, -3, 5}, MakeAttrs(ten::ModAttrs())),
            (std::vector<int32_t>{1, -2, 2, 2, -1, 3}));
  EXPECT_EQ(Zip<int32_t>("ref.mod", {7, -7}, {3, -3, 5}, MakeAttrs(ten::ModAttrs{.fmod = true})),
            (std::vector<int32_t>{1, 1, 2, -1, -1, -2}));
  EXPECT_EQ(Zip<float>("ref.mod", {5.5f, -5.5f}, {2, 3, 4}, MakeAttrs(ten::ModAttrs{.fmod = true})),
            (Floats{1.5f, 2.5f, 1.5f, -1.5f, -2.5f, -1.5f}));
}

TEST(ReferenceBinary, Pow) {
  EXPECT_EQ(Zip<float>("ref.pow", {2, 3}, {0, 1, 2}), (Floats{1, 2, 4, 1, 3, 9}));
  EXPECT_EQ(Zip<int32_t>("ref.pow", {2, -1}, {-1, 3, 4}),
            (std::vector<int32_t>{0, 8, 16, -1, -1, 1}));
  EXPECT_EQ((Evaluate<int32_t>(
                "ref.pow", {Tensor::Of<int32_t>({2}, {4, 9}), Tensor::Of<float>({}, {0.5f})}, {2})),
            (std::vector<int32_t>{2, 3}));
}

// Floats do not hold these exponents, whose last bit decides the sign.
template <typename Base, typename Exponent>
void ExpectOddPower(Exponent exponent) {
  const std::vector<Base> base = {Base(-1.0f)}, two = {Base(-2.0f)};
  const std::vector<Exponent> odd = {exponent};
  EXPECT_EQ(static_cast<double>(
                Evaluate<Base>("ref.pow", {Tensor::Of({1}, base), Tensor::Of({1}, odd)}, {1})[0]),
            -1);
  EXPECT_EQ(std::fabs(static_cast<double>(Evaluate<Base>(
                "ref.pow", {Tensor::Of({1}, two), Tensor::Of<Exponent>({1}, {3})}, {1})[0])),
            8);
}

TEST(ReferenceBinary, PowKeepsExponentsOfIntegers) {
  ExpectOddPower<float, int32_t>(-2147483647);
  ExpectOddPower<float, int32_t>((1 << 24) + 1);
  ExpectOddPower<float, int64_t>((int64_t{1} << 53) + 1);
  ExpectOddPower<float, uint64_t>(~uint64_t{0});
  ExpectOddPower<double, int64_t>(INT64_MIN + 1);
  ExpectOddPower<double, uint64_t>(~uint64_t{0});
  ExpectOddPower<int32_t, uint64_t>(~uint64_t{0});
  ExpectOddPower<int64_t, int64_t>(INT64_MIN + 1);
}

TEST(ReferenceBinary, ComparesAndLogic) {
  auto compare = [](const char* name) {
    return Zip<float, uint8_t>(name, {1, 2}, {1, 2, kNan}, nullptr, DType::kBool);
  };
  EXPECT_EQ(compare("ref.equal"), (Bytes{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(compare("ref.less"), (Bytes{0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(compare("ref.less_equal"), (Bytes{1, 1, 0, 0, 1, 0}));
  EXPECT_EQ(compare("ref.greater"), (Bytes{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(compare("ref.greater_equal"), (Bytes{1, 0, 0, 1, 1, 0}));
  auto logic = [](const char* name) {
    return Evaluate<uint8_t>(name,
                             {Tensor::Of<bool>({4}, {false, false, true, true}),
                              Tensor::Of<bool>({4}, {false, true, false, true})},
                             {4}, nullptr, DType::kBool);
  };
  EXPECT_EQ(logic("ref.and"), (Bytes{0, 0, 0, 1}));
  EXPECT_EQ(logic("ref.or"), (Bytes{0, 1, 1, 1}));
  EXPECT_EQ(logic("ref.xor"), (Bytes{0, 1, 1, 0}));
  EXPECT_EQ(Evaluate<int64_t>("ref.where",
                              {Tensor::Of<bool>({2, 1}, {true, false}),
                               Tensor::Of<int64_t>({2}, {1, 2}), Tensor::Of<int64_t>({}, {9})},
                              {2, 2}),
            (std::vector<int64_t>{1, 2, 9, 9}));
}

template <typename To, typename From>
std::vector<To> Cast(const std::vector<From>& x, DType to = DTypeOf<To>()) {
  const Shape shape = {static_cast<int64_t>(x.size())};
  return Evaluate<To>("ref.cast", {Tensor::Of(shape, x)}, shape,
                      MakeAttrs(ten::CastAttrs{.to = to}), to);
}

TEST(ReferenceCast, AllKinds) {
  EXPECT_EQ((Cast<int32_t, float>({1.9f, -1.9f, kNan})), (std::vector<int32_t>{1, -1, 0}));
  EXPECT_EQ((Cast<int64_t, float>({kInf, -kInf})), (std::vector<int64_t>{INT64_MAX, INT64_MIN}));
  EXPECT_EQ((Cast<uint8_t, float>({-1, 300})), (Bytes{255, 44}));
  EXPECT_EQ((Cast<uint64_t, double>({1e19})), (std::vector<uint64_t>{10000000000000000000u}));
  EXPECT_EQ((Cast<uint8_t, float>({0.5f, 0, kNan}, DType::kBool)), (Bytes{1, 0, 1}));
  EXPECT_EQ((Cast<float, bool>({true, false})), (Floats{1, 0}));
  EXPECT_EQ((Cast<int8_t, int64_t>({257})), (std::vector<int8_t>{1}));
  EXPECT_EQ((Cast<float, Half>({Half(0.5f)})), (Floats{0.5f}));
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(Half(1.0f).bits, 0x3c00);
  EXPECT_EQ(Half(-2.0f).bits, 0xc000);
  EXPECT_EQ(Half(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);         // half way above the largest: infinity
  EXPECT_EQ(Half(1.0f + 0x1p-11f).bits, 0x3c00);  // a tie goes to even
  EXPECT_EQ(Half(1.0f + 3 * 0x1p-11f).bits, 0x3c02);
  EXPECT_EQ(Half(0x1p-24f).bits, 0x0001);  // smallest subnormal
  EXPECT_EQ(Half(0x1p-25f).bits, 0x0000);
  EXPECT_EQ(Half(1.0 + 0x1p-11 + 0x1p-40).bits, 0x3c01);  // no double rounding
  EXPECT_TRUE(std::isnan(static_cast<float>(Half(kNan))));
  EXPECT_EQ(BFloat16(1.0f + 0x1p-8f).bits, 0x3f80);
  EXPECT_EQ(BFloat16(1.0f + 3 * 0x1p-8f).bits, 0x3f82);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(kNan))));
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {  // every value survives the round trip
    Half h;
    h.bits = static_cast<uint16_t>(bits);
    const float f = h;
    if (!std::isnan(f)) {
      EXPECT_EQ(Half(f).bits, bits);
    }
  }
}

}  // namespace
}  // namespace tenon::kernels::testing
