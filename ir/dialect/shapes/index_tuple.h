// Index tuples of small tensors, and positions of elements in row-major order.
#ifndef TENON_IR_DIALECT_SHAPES_INDEX_TUPLE_H_
#define TENON_IR_DIALECT_SHAPES_INDEX_TUPLE_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"

namespace tenon::elements {

using Shape = absl::InlinedVector<int64_t, 4>;

// The number of elements.
inline int64_t Count(const Shape& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

// The index tuple of position `i`.
inline Shape Unravel(int64_t i, const Shape& shape) {
  Shape index(shape.size());
  for (size_t k = shape.size(); k-- > 0;) {
    index[k] = i % shape[k];
    i /= shape[k];
  }
  return index;
}

// The position of an index tuple.
inline int64_t Ravel(const Shape& index, const Shape& shape) {
  int64_t i = 0;
  for (size_t k = 0; k < shape.size(); ++k) i = i * shape[k] + index[k];
  return i;
}

// The position in an operand that is broadcast to the element at `index`. Returns -1 if the operand
// has the higher rank.
inline int64_t BroadcastPosition(const Shape& index, const Shape& operand) {
  if (operand.size() > index.size()) return -1;
  Shape own(operand.size());
  for (size_t k = 0; k < operand.size(); ++k) {
    own[k] = operand[k] == 1 ? 0 : index[index.size() - operand.size() + k];
  }
  return Ravel(own, operand);
}

}  // namespace tenon::elements

#endif  // TENON_IR_DIALECT_SHAPES_INDEX_TUPLE_H_
