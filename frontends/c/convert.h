// Between C handles and C++ objects, and the border that no exception crosses. Internal.
#ifndef TENON_FRONTENDS_C_CONVERT_H_
#define TENON_FRONTENDS_C_CONVERT_H_

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fmt/format.h"
#include "frontends/c/ir.h"
#include "frontends/c/status.h"
#include "ir/base/check.h"
#include "ir/base/out_of_memory.h"
#include "ir/core/attribute.h"
#include "ir/core/block.h"
#include "ir/core/operation.h"
#include "ir/core/type.h"
#include "ir/core/value.h"

namespace tenon::c {

// ---- errors
// Returns a new status for the caller; NULL for OK. `location` is the place that it names.
TenonStatus* ToC(const absl::Status& status, std::string_view location = {});
// Gives an error about a text named `name` the place that its message begins with:
// "name:line" or "name:line:column". Returns `status`, which may be null.
TenonStatus* WithPlaceInText(TenonStatus* status, std::string_view name);
// Takes the status that a callback has returned.
absl::Status TakeStatus(TenonStatus* status);

// Runs the body of a C function. Whatever it throws becomes a status.
template <typename Call>
absl::Status Guarded(std::string_view doing, Call call) {
  try {
    return WithoutBadAlloc(doing, std::move(call));
  } catch (const std::exception& error) {
    return absl::InternalError(fmt::format("{}: {}", doing, error.what()));
  } catch (...) {
    return absl::InternalError(fmt::format("{}: an exception", doing));
  }
}
// The same, as the result of a C function.
template <typename Call>
TenonStatus* Answer(std::string_view doing, Call call) {
  return ToC(Guarded(doing, std::move(call)));
}

template <typename... Args>
absl::Status Wrong(fmt::format_string<Args...> text, Args&&... args) {
  return absl::InvalidArgumentError(fmt::format(text, std::forward<Args>(args)...));
}
// Refuses a null pointer, also to a function; `what` names the argument.
template <typename Pointee>
absl::Status NotNull(Pointee* pointer, std::string_view what) {
  return pointer != nullptr ? absl::OkStatus() : Wrong("'{}' is null", what);
}
inline absl::Status IndexBelow(size_t index, size_t size, std::string_view what) {
  return index < size ? absl::OkStatus()
                      : Wrong("there is no {} {} (expected less than {})", what, index, size);
}

// ---- texts
inline TenonString ToC(std::string_view text) { return {text.data(), text.size()}; }
// Refuses a text without data. Null bytes are text.
inline absl::Status ReadText(TenonString text, std::string_view what, std::string_view& out) {
  if (text.data == nullptr && text.size > 0) return Wrong("'{}' has no data", what);
  out = text.size == 0 ? std::string_view() : std::string_view(text.data, text.size);
  return absl::OkStatus();
}
// A text whose data was checked, or for questions: empty without data.
inline std::string_view FromC(TenonString text) {
  return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size);
}
// Refuses a path with a null byte.
inline absl::Status ReadPath(TenonString text, std::string_view what, std::string& out) {
  std::string_view path;
  if (absl::Status wrong = ReadText(text, what, path); !wrong.ok()) return wrong;
  if (path.find('\0') != std::string_view::npos) return Wrong("'{}' has a null byte", what);
  out = path;
  return absl::OkStatus();
}
// Appends the texts of an argument named `what`.
absl::Status ReadTexts(const TenonString* texts, size_t count, std::string_view what,
                       std::vector<std::string>& out);
// Passes a text to a callback.
inline absl::Status Tell(TenonTextFn sink, void* state, std::string_view text) {
  return sink(ToC(text), state) ? absl::OkStatus() : absl::AbortedError("the callback ended it");
}

// ---- options
// Copies a struct of options whose caller may know fewer fields, or more. InvalidArgument for a
// size that is no size, and for a field of a later version that is not 0. NULL: all defaults.
template <typename Options>
absl::Status ReadOptions(const Options* given, std::string_view what, Options& options) {
  options = Options{};
  options.struct_size = sizeof(Options);
  if (given == nullptr) return absl::OkStatus();
  const size_t size = given->struct_size;
  constexpr size_t kMost = 4096;
  if (size < sizeof(size_t) || size > kMost)
    return Wrong("'{}' has struct_size {} (expected sizeof)", what, size);
  std::memcpy(static_cast<void*>(&options), given, std::min(size, sizeof(Options)));
  options.struct_size = sizeof(Options);
  const char* const bytes = reinterpret_cast<const char*>(given);
  for (size_t i = sizeof(Options); i < size; ++i) {
    if (bytes[i] != 0)
      return absl::UnimplementedError(
          fmt::format("'{}' has a field that this version of the library does not know", what));
  }
  return absl::OkStatus();
}

// Owns the state of a callback.
inline std::shared_ptr<void> OwnState(void* state, void (*destroy)(void*)) {
  return {state, [destroy](void* owned) {
            if (destroy != nullptr) destroy(owned);
          }};
}

// ---- handles
inline Context* FromC(TenonContext context) { return static_cast<Context*>(context.ptr); }
inline TenonContext ToC(Context& context) { return {&context}; }
inline Operation* FromC(TenonOperation op) { return static_cast<Operation*>(op.ptr); }
inline TenonOperation ToC(Operation* op) { return {op}; }
inline Block* FromC(TenonBlock block) { return static_cast<Block*>(block.ptr); }
inline TenonBlock ToC(Block* block) { return {block}; }
inline Region* FromC(TenonRegion region) { return static_cast<Region*>(region.ptr); }
inline TenonRegion ToC(Region* region) { return {region}; }
inline Value FromC(TenonValue value) { return Value(static_cast<ValueImpl*>(value.ptr)); }
inline TenonValue ToC(Value value) { return {value.impl()}; }
inline Type FromC(TenonType type) { return Type(static_cast<const TypeStorage*>(type.ptr)); }
inline TenonType ToC(Type type) { return {type.storage()}; }
inline Attribute FromC(TenonAttribute attribute) {
  return Attribute(static_cast<const AttributeStorage*>(attribute.ptr));
}
inline TenonAttribute ToC(Attribute attribute) { return {attribute.storage()}; }
inline TenonLocation ToC(Location location, Context& context) {
  return location.is_unknown() ? TenonLocation{nullptr, 0} : TenonLocation{&context, location.id()};
}

// Refuses a null handle, and one of another context; `what` names the argument.
template <typename Handle>
absl::Status Belongs(const Handle& handle, const Context& context, std::string_view what) {
  if (!handle) return Wrong("'{}' is null", what);
  return &handle.context() == &context ? absl::OkStatus()
                                       : Wrong("'{}' belongs to another context", what);
}
// Reads a location of `context`, or an unknown one.
inline absl::Status ReadLocation(TenonLocation given, const Context& context, Location& location) {
  if (given.ptr == nullptr) return absl::OkStatus();
  if (given.ptr != &context) return Wrong("'location' belongs to another context");
  location = Location(given.id);
  return absl::OkStatus();
}
inline absl::Status Belongs(Value value, const Context& context, std::string_view what) {
  if (!value) return Wrong("'{}' is null", what);
  return Belongs(value.type(), context, what);
}

}  // namespace tenon::c

#endif  // TENON_FRONTENDS_C_CONVERT_H_
