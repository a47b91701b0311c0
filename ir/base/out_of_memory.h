// Turning failed allocations and refused threads into statuses at the borders of the library.
#ifndef TENON_IR_BASE_OUT_OF_MEMORY_H_
#define TENON_IR_BASE_OUT_OF_MEMORY_H_

#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"

namespace tenon {

// Ends a message about memory that the system refuses.
inline constexpr std::string_view kMemoryLimit =
    "(the limit is what the machine has, or what --max-memory allows)";

// Returns the result of `call`, a Status or StatusOr. If an allocation fails, returns
// ResourceExhausted with `doing` in the message; an object that `call` was changing may be
// incomplete then.
template <typename Call>
auto WithoutBadAlloc(std::string_view doing, Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        fmt::format("{}: the process is out of memory {}", doing, kMemoryLimit));
  } catch (const std::length_error&) {
    return absl::ResourceExhaustedError(
        fmt::format("{}: a buffer would be larger than the address space", doing));
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        fmt::format("{}: the system refuses a thread: {} {}", doing, error.what(), kMemoryLimit));
  }
}

}  // namespace tenon

#endif  // TENON_IR_BASE_OUT_OF_MEMORY_H_
