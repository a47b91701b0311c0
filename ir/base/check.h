// Assertions for internal errors, and early return on absl::Status.
#ifndef TENON_IR_BASE_CHECK_H_
#define TENON_IR_BASE_CHECK_H_

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tenon {

// Prints file, line and text to stderr and aborts. Use it only for states that Tenon's own code or
// the documented requirements of a function exclude; errors of users are an absl::Status.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              std::string_view message = {});

}  // namespace tenon

// Ends the program if `condition` is false, in every build.
#define TENON_CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::tenon::CheckFailed(__FILE__, __LINE__, #condition))
// The same, with text for stderr. `message` is evaluated only if `condition` is false.
#define TENON_CHECK_MSG(condition, message) \
  (static_cast<bool>(condition) ? void(0)   \
                                : ::tenon::CheckFailed(__FILE__, __LINE__, #condition, message))
// TENON_CHECK in debug builds, nothing in release builds.
#ifdef NDEBUG
#define TENON_DCHECK(condition) void(0)
#else
#define TENON_DCHECK(condition) TENON_CHECK(condition)
#endif

// Returns the status `expr` from the calling function if it is an error.
#define TENON_RETURN_IF_ERROR(expr)                                 \
  do {                                                              \
    if (absl::Status tenon_status_ = (expr); !tenon_status_.ok()) { \
      return tenon_status_;                                         \
    }                                                               \
  } while (false)

// Part of TENON_CONCAT.
#define TENON_CONCAT_INNER(a, b) a##b
// Joins two tokens into one, after it has expanded macros in them.
#define TENON_CONCAT(a, b) TENON_CONCAT_INNER(a, b)
// Evaluates `expr`, an absl::StatusOr. Returns its status on error; otherwise assigns its value to
// `lhs`, which may be a declaration.
#define TENON_ASSIGN_OR_RETURN(lhs, expr) \
  TENON_ASSIGN_OR_RETURN_IMPL(TENON_CONCAT(tenon_statusor_, __LINE__), lhs, expr)
// Part of TENON_ASSIGN_OR_RETURN.
#define TENON_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                                \
  if (!tmp.ok()) return tmp.status();               \
  lhs = *std::move(tmp)

#endif  // TENON_IR_BASE_CHECK_H_
