// The vectorised loops, on every instruction set that this machine has.
#include "kernels/cpu/vector/vector_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/cpu/isa.h"

namespace tenon::kernels::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class VectorOpsTest : public ::testing::TestWithParam<Isa> {
 protected:
  const VectorOps& ops() const { return GetVectorOps(GetParam()); }
  void Apply(UnaryOp op, const float* x, float* y, int64_t n, float alpha = 0, float beta = 0,
             float gamma = 0) const {
    ops().unary[static_cast<int>(op)](x, y, n, alpha, beta, gamma);
  }

  // |f(x) - expected(x)| <= ulps units in the last place of the exact value, plus `absolute`.
  void ExpectAccurate(UnaryOp op, const std::function<double(double)>& expected, float low,
                      float high, double ulps, double absolute = 0, float params = 0) {
    std::vector<float> x, y;
    for (int i = 0; i <= 200000; ++i) {
      x.push_back(low + (high - low) * static_cast<float>(i) / 200000);
    }
    y.resize(x.size());
    Apply(op, x.data(), y.data(), static_cast<int64_t>(x.size()), params, params, params);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = expected(x[i]);
      const double unit = std::max(std::fabs(want) * 0x1p-23, 0x1p-149);
      const double error = (std::fabs(y[i] - want) - absolute) / unit;
      if (!(error <= worst)) worst = error, at = i;
    }
    EXPECT_LE(worst, ulps) << "at x = " << x[at] << ": " << y[at] << " for " << expected(x[at]);
  }
};

TEST_P(VectorOpsTest, TranscendentalsAreAccurate) {
  ExpectAccurate(
      UnaryOp::kExp, [](double x) { return std::exp(x); }, -87, 88.5f, 2);
  ExpectAccurate(
      UnaryOp::kErf, [](double x) { return std::erf(x); }, -5, 5, 5);
  ExpectAccurate(
      UnaryOp::kErf, [](double x) { return std::erf(x); }, -0.01f, 0.01f, 5);
  ExpectAccurate(
      UnaryOp::kTanh, [](double x) { return std::tanh(x); }, -12, 12, 5);
  ExpectAccurate(
      UnaryOp::kTanh, [](double x) { return std::tanh(x); }, -0.01f, 0.01f, 5);
  ExpectAccurate(
      UnaryOp::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 80, 4);
  ExpectAccurate(
      UnaryOp::kGelu, [](double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }, -6, 6, 5,
      1.2e-6);
  const auto elu = [](double x) { return x < 0 ? std::expm1(x) : x; };
  for (const float low : {-40.0f, -1.0f, -0.01f, -1e-6f}) {
    ExpectAccurate(UnaryOp::kElu, elu, low, -low / 4, 3, 0, 1);
  }
  const auto softplus = [](double x) { return std::log1p(std::exp(x)); };
  ExpectAccurate(UnaryOp::kSoftplus, softplus, -87, 20, 5);
  ExpectAccurate(UnaryOp::kSoftplus, softplus, -1, 1, 4);
}

TEST_P(VectorOpsTest, SpecialValues) {
  const std::vector<float> x = {kNan, kInf, -kInf, 0.0f, 100.0f, -200.0f};
  std::vector<float> y(x.size());
  const auto n = static_cast<int64_t>(x.size());
  Apply(UnaryOp::kExp, x.data(), y.data(), n);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], kInf);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 1);
  EXPECT_EQ(y[4], kInf);
  EXPECT_EQ(y[5], 0);
  for (UnaryOp op : {UnaryOp::kErf, UnaryOp::kTanh}) {
    Apply(op, x.data(), y.data(), n);
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_EQ(y[1], 1);
    EXPECT_EQ(y[2], -1);
    EXPECT_EQ(y[3], 0);
  }
  Apply(UnaryOp::kSigmoid, x.data(), y.data(), n);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 1);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 0.5f);
  Apply(UnaryOp::kElu, x.data(), y.data(), n, 1.5f, 1, 1);
  EXPECT_EQ(y[1], kInf);
  EXPECT_EQ(y[2], -1.5f);
  EXPECT_EQ(y[3], 0);
  EXPECT_EQ(y[4], 100);
  EXPECT_EQ(y[5], -1.5f);
  Apply(UnaryOp::kSoftplus, x.data(), y.data(), n);
  EXPECT_EQ(y[1], kInf);
  EXPECT_EQ(y[2], 0);
  EXPECT_NEAR(y[3], 0.69314718f, 1e-7f);
  EXPECT_EQ(y[4], 100);
  EXPECT_EQ(y[5], 0);
  for (UnaryOp op : {UnaryOp::kRelu, UnaryOp::kClip, UnaryOp::kHardSigmoid, UnaryOp::kGelu,
                     UnaryOp::kElu, UnaryOp::kSoftplus}) {
    Apply(op, x.data(), y.data(), 1, 0, 1, 1);
    EXPECT_TRUE(std::isnan(y[0])) << static_cast<int>(op);
  }
}

TEST_P(VectorOpsTest, ExtremesKeepNanWhereverItIs) {
  const VectorOps& ops = this->ops();
  for (int64_t n : {1, 7, 16, 33, 100, 200}) {
    std::vector<float> x(static_cast<size_t>(n), 2.0f);
    x[static_cast<size_t>(n / 2)] = 5;
    EXPECT_EQ(ops.max(x.data(), n), 5);
    x[static_cast<size_t>(n - 1)] = -5;
    EXPECT_EQ(ops.min(x.data(), n), -5);
    for (size_t at = 0; at < x.size(); ++at) {
      const float old = x[at];
      x[at] = kNan;
      EXPECT_TRUE(std::isnan(ops.max(x.data(), n))) << n << " " << at;
      EXPECT_TRUE(std::isnan(ops.min(x.data(), n))) << n << " " << at;
      x[at] = old;
    }
  }
  EXPECT_EQ(ops.max(nullptr, 0), -kInf);
  EXPECT_EQ(ops.min(nullptr, 0), kInf);
}

TEST_P(VectorOpsTest, MaskedSoftmax) {
  const VectorOps& ops = this->ops();
  std::vector<float> y(21, 1.0f);
  y[3] = -kInf;
  ops.softmax(y.data(), y.data(), 21);
  EXPECT_EQ(y[3], 0);
  EXPECT_NEAR(y[20], 0.05f, 1e-7);
  std::fill(y.begin(), y.end(), -kInf);
  ops.softmax(y.data(), y.data(), 21);
  EXPECT_TRUE(std::isnan(y[0]));
}

std::vector<Isa> LevelsHere() {
  std::vector<Isa> levels;
  for (const Isa isa : kAllIsas) {
    if (isa <= DetectedIsa()) levels.push_back(isa);
  }
  return levels;
}

INSTANTIATE_TEST_SUITE_P(Targets, VectorOpsTest, ::testing::ValuesIn(LevelsHere()),
                         [](const ::testing::TestParamInfo<Isa>& level) {
                           return std::string(Name(level.param));
                         });

}  // namespace
}  // namespace tenon::kernels::cpu
