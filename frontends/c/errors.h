// The places of the errors that a call has emitted. Internal.
#ifndef TENON_FRONTENDS_C_ERRORS_H_
#define TENON_FRONTENDS_C_ERRORS_H_

#include <string>
#include <utility>
#include <vector>

#include "frontends/c/convert.h"
#include "ir/core/context/context.h"
#include "ir/core/context/thread_diagnostics.h"

namespace tenon::c {

// Notes the places of errors that this thread emits in a Context while the object lives. They go on
// to the handler.
class ErrorPlaces {
 public:
  explicit ErrorPlaces(Context& context);
  // Returns the place that the message of `status` names; empty if it names none.
  std::string_view PlaceOf(const absl::Status& status) const;

 private:
  static constexpr size_t kMost = 64;  // more errors are no help in finding the first one
  struct Noted {
    std::string place, text;  // `text` is the message behind its place
  };
  std::vector<Noted> noted_;
  ThreadDiagnostics diagnostics_;
};

// Answer, with the place of an error that the call has emitted in `context`.
template <typename Call>
TenonStatus* AnswerIn(Context& context, std::string_view doing, Call call) {
  TenonStatus* answer = nullptr;
  const absl::Status around = Guarded(doing, [&] {
    const ErrorPlaces places(context);
    const absl::Status status = Guarded(doing, std::move(call));
    answer = ToC(status, places.PlaceOf(status));
    return absl::OkStatus();
  });
  return around.ok() ? answer : ToC(around);
}

}  // namespace tenon::c

#endif  // TENON_FRONTENDS_C_ERRORS_H_
