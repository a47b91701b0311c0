// Factors that quantize weights to 8-bit integers.
#ifndef TENON_TRANSFORMS_WEIGHTS_INT8_FACTORS_H_
#define TENON_TRANSFORMS_WEIGHTS_INT8_FACTORS_H_

#include <array>
#include <cstddef>
#include <span>

namespace tenon {

// The number of columns that are quantized together, in vectors.
inline constexpr size_t kInt8Columns = 16;
using Int8Columns = std::array<float, kInt8Columns>;

// Rounds to the nearest integer, ties to even, for |x| < 2^22: adding 1.5 * 2^23 leaves no bits for
// the fraction.
inline constexpr float kToInteger = 12582912.0f;
inline float NearestInteger(float x) { return x + kToInteger - kToInteger; }

// The version of the choice of factors, which caches on disk record. Increase it when factors
// change.
inline constexpr int kInt8FactorsVersion = 1;

// Returns the divisor for the weights of each of 16 columns, given by rows of 16. The largest
// weight of a column becomes 127 steps, or somewhat fewer. The number of steps with the smallest
// sum of squared errors is chosen, and the largest of equal ones. On average this is 10 % more
// exact than 127 steps. A factor is 0 if all weights are (nearly) 0, and not finite if a weight is
// not. The result has the same bits on every processor.
Int8Columns ChooseInt8Factors(std::span<const Int8Columns> rows);
// The same without AVX2.
Int8Columns ChooseInt8FactorsPortable(std::span<const Int8Columns> rows);

// Returns 1 / factor; 0 for 0.
Int8Columns InverseInt8Factors(const Int8Columns& factors);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_WEIGHTS_INT8_FACTORS_H_
