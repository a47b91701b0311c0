// Constants of a saved program that are in its file only as packed weights. Internal to
// frontends/cpp.
#ifndef TENON_FRONTENDS_CPP_FILES_REPLACED_CONSTANTS_H_
#define TENON_FRONTENDS_CPP_FILES_REPLACED_CONSTANTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "executor/weights/packed_uses.h"
#include "ir/core/operation.h"
#include "ir/serialize/binary_program.h"

namespace tenon {

// Returns the constants of a lowered module that each of their readers packs, and that can be
// unpacked exactly from `weights`, which are those of `uses`. ResourceExhausted if the bytes of a
// constant do not fit the memory.
absl::StatusOr<std::vector<BinaryProgram::Packed>> ReplacedConstants(
    Operation& lowered, const PackedUses& uses, const std::vector<SavedWeight>& weights);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_FILES_REPLACED_CONSTANTS_H_
