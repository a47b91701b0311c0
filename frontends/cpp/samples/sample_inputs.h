// Generated inputs for a function.
#ifndef TENON_FRONTENDS_CPP_SAMPLES_SAMPLE_INPUTS_H_
#define TENON_FRONTENDS_CPP_SAMPLES_SAMPLE_INPUTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/tensor.h"
#include "ir/base/limits.h"
#include "ir/core/operation.h"

namespace tenon {

// Inputs for one run.
struct Sample {
  std::map<std::string, int64_t> sizes;  // of the dimension symbols of the function
  std::vector<Tensor> inputs;            // by argument of the function
  std::string text;                      // for messages: sizes and the first elements of each input
};

// The number of kinds of samples. Some kinds do not suit a function, for example if sizes must
// divide each other, so try several.
inline constexpr int kSampleKinds = 8;
// The kind for rare cases: a mask row that hides everything, integers with which the program
// compares its inputs, floats close to zero.
inline constexpr int kEdgeSample = kSampleKinds;

// The kind with long inputs: longer than the distances with which the program compares positions,
// such as a window or a bucket of relative positions. NotFound for functions without such
// comparisons.
inline constexpr int kLongSample = kEdgeSample + 1;

// Returns inputs for `function`; `kind` is from 0 to kLongSample. Equal functions and kinds give
// equal samples on every machine. Integers suit their use: an index into a table of constant size
// is in range; a mask is 0 or 1 with a 1 in each row, except one row of kEdgeSample. `sizes` fixes
// some symbols; inputs may be large then.
//
// Unimplemented if an input has a type for which there are no samples; NotFound or OutOfRange if
// the kind does not suit the function.
absl::StatusOr<Sample> SampleInputs(Operation* function, int kind,
                                    const std::map<std::string, int64_t>& sizes = {});
// Reads inputs from input_N.pb or input_N.npy in a folder. A .pb file that names an input is used
// for that input. InvalidArgument if files are missing or do not fit.
absl::StatusOr<Sample> ReadInputs(Operation* function, const std::string& folder,
                                  const Limits& limits = {});

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_SAMPLES_SAMPLE_INPUTS_H_
