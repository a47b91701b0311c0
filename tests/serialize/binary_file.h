// Binary modules in memory, and changes to their bytes.
#ifndef TENON_TESTS_SERIALIZE_BINARY_FILE_H_
#define TENON_TESTS_SERIALIZE_BINARY_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "ir/core/context/context.h"
#include "ir/core/operation.h"

namespace tenon::test {

// The module as a file. The test fails where it cannot be written.
std::string Written(const Operation& module);
// Generic text with locations and the bytes of constants.
std::string FullText(const Operation& module);
// A module from text, whose ops have no locations but those of the text; unregistered dialects are
// allowed. The test fails where it cannot be read.
OwnedOp Parsed(Context& context, std::string_view text);
// Reads without verification.
absl::StatusOr<OwnedOp> ReadBack(Context& context, std::string_view bytes);

uint64_t NumberAt(const std::string& bytes, size_t at, int size);
void SetNumberAt(std::string& bytes, size_t at, int size, uint64_t value);
// Makes the size of the file and the checksum right again.
void Seal(std::string& bytes);

}  // namespace tenon::test

#endif  // TENON_TESTS_SERIALIZE_BINARY_FILE_H_
