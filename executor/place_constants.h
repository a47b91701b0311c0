// Where the bytes of a program's constants are. Internal to the executor.
#ifndef TENON_EXECUTOR_PLACE_CONSTANTS_H_
#define TENON_EXECUTOR_PLACE_CONSTANTS_H_

#include "absl/status/status.h"
#include "executor/program_impl.h"

namespace tenon {

// What is large and most likely packed waits for that (Walk::PrepareKernel). Of the rest, what
// lies where it does not suit its readers is copied. Then every instruction whose kernel packs is
// told of its constants.
absl::Status PlaceConstants(ProgramImpl& program);

}  // namespace tenon

#endif  // TENON_EXECUTOR_PLACE_CONSTANTS_H_
