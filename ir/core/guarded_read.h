// Reading what is not there, in code that others write: a predicate of a rule asks for the third
// dimension of a vector.
#ifndef TENON_IR_CORE_GUARDED_READ_H_
#define TENON_IR_CORE_GUARDED_READ_H_

#include <optional>
#include <type_traits>

namespace tenon {

// Thrown instead of aborting by the accessors of values, types, dimensions and attributes while
// GuardedRead runs on this thread. It leaves no GuardedRead.
struct AbsentRead {
  const char* condition;
};

// Throws AbsentRead inside of a GuardedRead, and ends the program elsewhere.
[[noreturn]] void ReadFailed(const char* file, int line, const char* condition);

class ReadGuard {
 public:
  ReadGuard();
  ~ReadGuard();
  ReadGuard(const ReadGuard&) = delete;
  ReadGuard& operator=(const ReadGuard&) = delete;
};

// What `f` returns, or nothing if it reads what is not there. `f` must change nothing.
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

// A check of an accessor: that what it is asked for is there.
#define TENON_CHECK_READ(condition) \
  (static_cast<bool>(condition) ? void(0) : ::tenon::ReadFailed(__FILE__, __LINE__, #condition))

#endif  // TENON_IR_CORE_GUARDED_READ_H_
