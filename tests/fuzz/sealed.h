// Binary modules whose sizes and checksum are right.
#ifndef TENON_TESTS_FUZZ_SEALED_H_
#define TENON_TESTS_FUZZ_SEALED_H_

#include <string>

namespace tenon::fuzz {

// Returns `bytes` with the sizes and the checksum that they have: a fuzzer does not find them.
std::string Sealed(std::string bytes);

}  // namespace tenon::fuzz

#endif  // TENON_TESTS_FUZZ_SEALED_H_
