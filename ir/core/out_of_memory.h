// Failed allocations, and threads that the system refuses, as statuses, at the borders of the
// library.
#ifndef TENON_IR_CORE_OUT_OF_MEMORY_H_
#define TENON_IR_CORE_OUT_OF_MEMORY_H_

#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"

namespace tenon {

// What `call` returns, a Status or a StatusOr. ResourceExhausted, with `doing` in the message, if
// there is no memory for it. What `call` was changing may be half changed.
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
