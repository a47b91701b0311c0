// Deciding where the bytes of a program's constants are. Internal to the executor.
#ifndef TENON_EXECUTOR_COMPILE_PLACE_CONSTANTS_H_
#define TENON_EXECUTOR_COMPILE_PLACE_CONSTANTS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/program_impl.h"

namespace tenon {

// Large constants that are probably packed wait for that (Walk::PrepareKernel). Other constants are
// copied if their alignment does not suit their readers. Then each instruction whose kernel packs
// gets its constants, and the number `*next`, which it counts up: numbers go through all programs
// that are compiled together.
absl::Status PlaceConstants(ProgramImpl& program, int* next);

// Values by the names of parameters.
using ValuesByName = std::map<std::string, Tensor, std::less<>>;
// Sets these values in a copy of a program that PlaceConstants has placed. Instructions that read
// none of them share what they have packed with the other program. Programs of regions are left to
// the caller.
absl::Status ReplaceConstants(ProgramImpl& program, const ValuesByName& values);

}  // namespace tenon

#endif  // TENON_EXECUTOR_COMPILE_PLACE_CONSTANTS_H_
