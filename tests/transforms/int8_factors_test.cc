#include "transforms/weights/int8_factors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace tenon {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// The definition, one column after the other.
float FactorOf(const std::vector<Int8Columns>& rows, size_t column) {
  float largest = 0, chosen = 0, least = 0;
  for (const Int8Columns& row : rows) {
    if (!std::isfinite(row[column])) return std::numeric_limits<float>::quiet_NaN();
    largest = std::max(largest, std::fabs(row[column]));
  }
  for (int half_steps = 254; half_steps > 246; --half_steps) {
    const float factor = largest < 1e-35f ? 0 : largest / (0.5f * static_cast<float>(half_steps));
    const float inverse = factor == 0 ? 0 : 1 / factor;
    float error = 0;
    for (const Int8Columns& row : rows) {
      const float product = factor * std::nearbyint(row[column] * inverse);
      const float off = row[column] - product, square = off * off;
      error += square;
    }
    if (half_steps == 254 || error < least) least = error, chosen = factor;
  }
  return chosen;
}

void ExpectFactors(const std::vector<Int8Columns>& rows) {
  const Int8Columns factors = ChooseInt8Factors(rows), portable = ChooseInt8FactorsPortable(rows);
  for (size_t j = 0; j < kInt8Columns; ++j) {
    const float expected = FactorOf(rows, j);
    if (std::isnan(expected)) {
      EXPECT_FALSE(std::isfinite(factors[j]) || std::isfinite(portable[j])) << j;
    } else {
      EXPECT_EQ(factors[j], expected) << j;
      EXPECT_EQ(portable[j], expected) << j;
    }
  }
}

TEST(Int8FactorsTest, AsDefinedToTheLastBit) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (size_t count : {1, 2, 5, 32, 33, 129}) {
    for (float scale : {1.0f, 1e-20f, 1e-34f, 1e-38f, 1e30f}) {
      std::vector<Int8Columns> rows(count);
      for (Int8Columns& row : rows) {
        for (float& x : row) x = scale * normal(random);
      }
      rows[count / 2][3] = 0, rows[count - 1][15] = 3 * scale;
      ExpectFactors(rows);
    }
  }
}

TEST(Int8FactorsTest, ZerosHaveNoFactorAndWhatIsNotFiniteShows) {
  std::vector<Int8Columns> rows(7);
  for (size_t j = 0; j < kInt8Columns; ++j) rows[j % 7][j] = j % 3 == 0 ? 0 : -1.5f;
  rows[2][1] = std::nanf(""), rows[6][9] = kInf, rows[0][14] = -kInfinity;
  ExpectFactors(rows);
  EXPECT_EQ(ChooseInt8Factors(rows)[0], 0);
  EXPECT_FALSE(std::isfinite(ChooseInt8Factors(rows)[9]));
  EXPECT_EQ(InverseInt8Factors({0, 4})[0], 0);
  EXPECT_EQ(InverseInt8Factors({0, 4})[1], 0.25f);
}

}  // namespace
}  // namespace tenon
