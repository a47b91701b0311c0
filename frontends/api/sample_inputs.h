// Inputs for a function that nobody has given inputs for.
#ifndef TENON_FRONTENDS_API_SAMPLE_INPUTS_H_
#define TENON_FRONTENDS_API_SAMPLE_INPUTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/tensor.h"
#include "ir/core/limits.h"
#include "ir/core/operation.h"

namespace tenon {

struct Sample {
  std::map<std::string, int64_t> sizes;  // of the function's dimension symbols
  std::vector<Tensor> inputs;
  std::string text;  // for messages: sizes and the first elements of each input
};

// How samples differ; some do not suit a function (sizes that must divide each other), so several
// are tried.
inline constexpr int kSampleKinds = 8;
// One kind more, for what samples of the others rarely meet: a row of a mask that hides everything,
// integers that the program compares its input with, floats close to zero.
inline constexpr int kEdgeSample = kSampleKinds;

// Another one: longer than the distances that the program compares positions with (a window, the
// bucket of a relative position). Not for functions that compare with none, or only with large
// ones.
inline constexpr int kLongSample = kEdgeSample + 1;

// The same sample for the same function and kind, everywhere. Integers respect what they are used
// for: an index into a table of constant size lies in it, a mask is 0 or 1 with a 1 in each row
// (but one of kEdgeSample). `sizes` says the size of some symbols, and then inputs may be large.
absl::StatusOr<Sample> SampleInputs(Operation* function, int kind,
                                    const std::map<std::string, int64_t>& sizes = {});
// Inputs from input_N.pb or input_N.npy in a folder; a .pb that names an input goes there.
absl::StatusOr<Sample> ReadInputs(Operation* function, const std::string& folder,
                                  const Limits& limits = {});

}  // namespace tenon

#endif  // TENON_FRONTENDS_API_SAMPLE_INPUTS_H_
