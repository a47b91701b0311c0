// Sequences and optional values of a model as inputs and outputs of a program.
#ifndef TENON_FRONTENDS_CPP_FILES_SEQUENCES_H_
#define TENON_FRONTENDS_CPP_FILES_SEQUENCES_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/program.h"
#include "executor/tensor.h"
#include "ir/core/operation.h"

namespace tenon {

// A sequence `x` of tensors is three inputs or outputs of a program: `x#offsets` (i64 [n + 1,
// 2]: where the extents and the numbers of each element begin, and last where they end), `x#dims`
// (i64: the extents of all elements) and `x#data` (the numbers of all elements). An optional tensor
// is a sequence of at most one element. An optional sequence has one more tensor, `x#present` (a
// boolean scalar), before these.
struct SequencePorts {
  std::string name;               // the name in the model
  size_t first = 0;               // the first of these inputs or outputs
  size_t count = 3;               // 4 for an optional sequence
  DType dtype = DType::kInvalid;  // of the elements
};

// Returns the sequences among the inputs or outputs of a program, in their order.
std::vector<SequencePorts> FindSequences(std::span<const TensorSpec> ports);

// A sequence as a list of its elements, which may differ in shape.
struct SequenceValue {
  std::vector<Tensor> elements;  // in order
  bool present = true;           // false: an optional sequence that is not there, without elements
};

// Returns the tensors of `ports` for a sequence; the elements are copied. InvalidArgument if an
// element has another element type, or if a value that is not optional is not present.
absl::StatusOr<std::vector<Tensor>> PackSequence(const SequencePorts& ports,
                                                 const SequenceValue& value);
// The reverse, for `ports.count` tensors. The elements share the memory of the last one.
// InvalidArgument if the tensors do not fit each other.
absl::StatusOr<SequenceValue> UnpackSequence(const SequencePorts& ports,
                                             std::span<const Tensor> tensors);

// Returns shapes for a made-up sequence that is an input of a function. An optional tensor has one
// element, others have two, with 2 and 3 along the first axis and 2 along others.
std::vector<std::vector<int64_t>> SampleShapes(Operation* function, const SequencePorts& ports);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_FILES_SEQUENCES_H_
