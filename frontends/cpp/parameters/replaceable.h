// Weights that may be replaced while programs run.
#ifndef TENON_FRONTENDS_CPP_PARAMETERS_REPLACEABLE_H_
#define TENON_FRONTENDS_CPP_PARAMETERS_REPLACEABLE_H_

#include <set>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "ir/core/operation.h"

namespace tenon {

// Names of constants, in alphabetical order.
using ConstantNames = std::set<std::string, std::less<>>;

// Makes parameters replaceable, and named constants of f16, bf16, f32 or f64 replaceable
// parameters. `names` has names, or patterns with `*` and `?`. A pattern leaves out what cannot be
// replaced, and constants of one element; there must be something left. `read` has the constants
// that the importer has read (onnx::ModelInfo::read_constants); it may be null.
//
// InvalidArgument for a name that nothing has, and for a named value that cannot be replaced: it is
// read by the importer, is of another type, stands for two values, or is a parameter without one.
// The module is unchanged then.
absl::Status MarkReplaceable(Operation& module, std::span<const std::string> names,
                             const ConstantNames* read);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_PARAMETERS_REPLACEABLE_H_
