// Constant matrices in fewer bits, for fused.compressed_linear.
#ifndef TENON_TRANSFORMS_COMPRESSED_CONSTANTS_H_
#define TENON_TRANSFORMS_COMPRESSED_CONSTANTS_H_

#include <cstdint>

#include "ir/core/attribute.h"

namespace tenon {

// Elements of the matrix, and of i8 also of its factors. What lies in a model's file is only
// converted when somebody reads these (deferred_blob.h): a start that finds them packed does not.
struct CompressedConstant {
  Attribute w, scale;
};

// `value`: elements of f32, in two dimensions.
CompressedConstant ToBf16(Attribute value);

// `value`: k x n, or n x k if `transposed`. `group` as in fused.compressed_linear; the factors are
// those of ChooseInt8Factors. Reads all weights: null where one is not finite.
CompressedConstant ToInt8(Attribute value, bool transposed, int64_t group);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_COMPRESSED_CONSTANTS_H_
