// Functions that definitions of ops carry, with or without state of their own.
#ifndef TENON_IR_CORE_INTERFACES_HOOK_H_
#define TENON_IR_CORE_INTERFACES_HOOK_H_

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace tenon {

template <typename Signature>
class Hook;

// A copyable function, or none. A plain function and a lambda without captures cost one indirect
// call and no memory. Any other callable is copied once, and all copies of the hook share it: it
// must be thread-safe, and is called as a const object. Calling requires a hook that is not null.
template <typename Result, typename... Args>
class Hook<Result(Args...)> {
 public:
  // A function without state.
  using Function = Result (*)(Args...);

  Hook() = default;
  Hook(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): a null hook
  // Wraps any callable with the signature.
  template <typename F>
  requires(!std::is_same_v<std::decay_t<F>, Hook> &&
           std::is_invocable_r_v<Result, const std::decay_t<F>&, Args...>)
      Hook(F&& f) {  // NOLINT(google-explicit-constructor): hooks stand where functions did
    if constexpr (std::is_convertible_v<F, Function>) {
      plain_ = std::forward<F>(f);
    } else {
      state_ = std::make_shared<StateOf<std::decay_t<F>>>(std::forward<F>(f));
    }
  }

  // Calls the function. Requires a hook that is not null.
  Result operator()(Args... args) const {
    return plain_ != nullptr ? plain_(std::forward<Args>(args)...)
                             : state_->Call(std::forward<Args>(args)...);
  }
  explicit operator bool() const { return plain_ != nullptr || state_ != nullptr; }  // Not null.
  // True for two null hooks, for the same function, and for copies of one hook with state.
  bool operator==(const Hook& other) const {
    return plain_ == other.plain_ && state_ == other.state_;
  }
  // True for a null hook.
  bool operator==(std::nullptr_t) const { return !*this; }

 private:
  struct State {
    virtual ~State() = default;
    virtual Result Call(Args... args) const = 0;
  };
  template <typename F>
  struct StateOf final : State {
    explicit StateOf(F f) : f(std::move(f)) {}
    Result Call(Args... args) const override { return f(std::forward<Args>(args)...); }
    F f;
  };

  Function plain_ = nullptr;
  std::shared_ptr<const State> state_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_INTERFACES_HOOK_H_
