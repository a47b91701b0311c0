// Factors that turn weights into integers of 8 bits.
#ifndef TENON_TRANSFORMS_INT8_FACTORS_H_
#define TENON_TRANSFORMS_INT8_FACTORS_H_

#include <array>
#include <cstddef>
#include <span>

namespace tenon {

// Columns that are quantized together, in vectors.
inline constexpr size_t kInt8Columns = 16;
using Int8Columns = std::array<float, kInt8Columns>;

// To the nearest integer, ties to even, for |x| < 2^22: adding 1.5 * 2^23 leaves no bits for the
// fraction.
inline constexpr float kToInteger = 12582912.0f;
inline float NearestInteger(float x) { return x + kToInteger - kToInteger; }

// Changes with the factors that are chosen: files keep them.
inline constexpr int kInt8FactorsVersion = 1;

// Of 16 columns by 16: by what to divide the weights of each. 127 factors, or some fewer, make the
// largest weight of the column; of those the one with the least sum of squared errors, and the
// largest number of steps among equals. Such integers are 10 % nearer to the weights in the mean
// than if it were always 127. 0 where all weights are (nearly) 0, not finite where a weight is not.
// The same bits on every processor.
Int8Columns ChooseInt8Factors(std::span<const Int8Columns> rows);
// The same without AVX2.
Int8Columns ChooseInt8FactorsPortable(std::span<const Int8Columns> rows);

// 1 / factor, 0 for 0.
Int8Columns InverseInt8Factors(const Int8Columns& factors);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_INT8_FACTORS_H_
