// Constant matrices in fewer bits, for fused.compressed_linear.
#ifndef TENON_TRANSFORMS_WEIGHTS_COMPRESSED_CONSTANTS_H_
#define TENON_TRANSFORMS_WEIGHTS_COMPRESSED_CONSTANTS_H_

#include <cstdint>

#include "ir/core/attribute.h"

namespace tenon {

// The elements of the matrix; for i8 also its factors. They are deferred (deferred_blob.h) if the
// source lies in the model file: a start that finds packed weights in a cache does not convert
// them.
struct CompressedConstant {
  Attribute w, scale;
};

// Converts f32 elements of a matrix to bf16.
CompressedConstant ToBf16(Attribute value);

// Quantizes f32 elements to i8 with the factors of ChooseInt8Factors. The matrix is k x n, or n x k
// if `transposed`; `group` is the attribute of fused.compressed_linear. Reads all weights. Returns
// null attributes if one is not finite.
CompressedConstant ToInt8(Attribute value, bool transposed, int64_t group);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_WEIGHTS_COMPRESSED_CONSTANTS_H_
