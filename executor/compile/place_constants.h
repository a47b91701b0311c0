// Deciding where the bytes of a program's constants are. Internal to the executor.
#ifndef TENON_EXECUTOR_COMPILE_PLACE_CONSTANTS_H_
#define TENON_EXECUTOR_COMPILE_PLACE_CONSTANTS_H_

#include "absl/status/status.h"
#include "executor/program_impl.h"

namespace tenon {

// Large constants that are probably packed wait for that (Walk::PrepareKernel). Other constants are
// copied if their alignment does not suit their readers. Then each instruction whose kernel packs
// gets its constants.
absl::Status PlaceConstants(ProgramImpl& program);

}  // namespace tenon

#endif  // TENON_EXECUTOR_COMPILE_PLACE_CONSTANTS_H_
