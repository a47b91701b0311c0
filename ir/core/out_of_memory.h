// Turning failed allocations and refused threads into statuses at the borders of the library.
#ifndef TENON_IR_CORE_OUT_OF_MEMORY_H_
#define TENON_IR_CORE_OUT_OF_MEMORY_H_

#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"

namespace tenon {

// Returns the result of `call`, a Status or StatusOr. If an allocation fails, returns
// ResourceExhausted with `doing` in the message; an object that `call` was changing may be
// incomplete then.
template <typename Call>
auto WithoutBadAlloc(std::string_view doing, Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(fmt::format("{}: there is not enough memory", doing));
  } catch (const std::length_error&) {
    return absl::ResourceExhaustedError(
        fmt::format("{}: more memory is needed than can be addressed", doing));
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        fmt::format("{}: the system refuses a thread: {}", doing, error.what()));
  }
}

}  // namespace tenon

#endif  // TENON_IR_CORE_OUT_OF_MEMORY_H_
