// A sequence of operations that becomes the body of a function.
#ifndef TENON_TRANSFORMS_FUNCTIONS_OUTLINE_SEQUENCE_H_
#define TENON_TRANSFORMS_FUNCTIONS_OUTLINE_SEQUENCE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/operation.h"

namespace tenon {

// Ops of one block in order. Only constants, which are not part of it, lie between them.
struct Sequence {
  std::vector<Operation*> ops;
  // Filled by Describe:
  std::string text;           // equal for two sequences that compute the same of what they read
  std::vector<Value> inputs;  // values from outside, in the order of their first use
  std::vector<std::pair<size_t, unsigned>> outputs;  // op and result that something else reads
};

// True for an op that may be part of a sequence: it is registered, has no effect, ends no block,
// calls nothing, and defines no extents.
bool MayOutline(const Operation& op);
// A number that is equal for ops that may take the same place in equal sequences.
uint64_t OutlineKey(Operation& op);
// Fills in what depends on the ops.
void Describe(Sequence& sequence);
// True if the types of the inputs say which extents the symbols inside stand for.
bool BindsItsSymbols(const Sequence& sequence);

// Makes a private function `name` of the first sequence and replaces all of them by calls. They
// have equal texts. A constant that all read becomes part of the function. Returns the function,
// which comes behind `place`.
absl::StatusOr<Operation*> Outline(std::vector<Sequence>& sequences, const std::string& name,
                                   Operation* place);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_FUNCTIONS_OUTLINE_SEQUENCE_H_
