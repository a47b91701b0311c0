// Recovery from wrong accessor calls in code of users: a predicate of a rule may ask for the third
// dimension of a vector.
#ifndef TENON_IR_BASE_GUARDED_READ_H_
#define TENON_IR_BASE_GUARDED_READ_H_

#include <optional>
#include <type_traits>

namespace tenon {

// The exception that accessors of Value, Type, DimExpr and Attribute throw inside of GuardedRead,
// where they would abort otherwise. It never leaves GuardedRead.
struct AbsentRead {
  const char* condition;
};

// Throws AbsentRead if this thread is in a GuardedRead; ends the program otherwise.
[[noreturn]] void ReadFailed(const char* file, int line, const char* condition);

// While one lives, ReadFailed throws on this thread. Used by GuardedRead.
class ReadGuard {
 public:
  ReadGuard();
  ~ReadGuard();
  ReadGuard(const ReadGuard&) = delete;
  ReadGuard& operator=(const ReadGuard&) = delete;
};

// Returns the result of `f`, or nullopt if it calls an accessor whose requirement does not hold.
// `f` should change nothing: its side effects remain.
template <typename F>
std::optional<std::invoke_result_t<F>> GuardedRead(const F& f) {
  const ReadGuard guard;
  try {
    return f();
  } catch (const AbsentRead&) {
    return std::nullopt;
  }
}

}  // namespace tenon

// Checks the requirement of an accessor.
#define TENON_CHECK_READ(condition) \
  (static_cast<bool>(condition) ? void(0) : ::tenon::ReadFailed(__FILE__, __LINE__, #condition))

#endif  // TENON_IR_BASE_GUARDED_READ_H_
