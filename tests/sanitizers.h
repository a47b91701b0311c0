// Whether the tests run under AddressSanitizer.
#ifndef TENON_TESTS_SANITIZERS_H_
#define TENON_TESTS_SANITIZERS_H_

namespace tenon {

// Sanitizers look for mistakes of memory and take ten times as long: tests that draw many programs
// or texts draw fewer there. What they say of all of them is said by builds without sanitizers.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kUnderSanitizers = true;
#else
inline constexpr bool kUnderSanitizers = false;
#endif

}  // namespace tenon

#endif  // TENON_TESTS_SANITIZERS_H_
