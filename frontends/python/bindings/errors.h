// Tenon's errors as Python exceptions.
#ifndef TENON_FRONTENDS_PYTHON_BINDINGS_ERRORS_H_
#define TENON_FRONTENDS_PYTHON_BINDINGS_ERRORS_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/core/context/diagnostic.h"

namespace tenon::python {

namespace nb = nanobind;

// A diagnostic without its Context, so that Python may keep it.
struct DiagnosticRecord {
  std::string severity,                 // "error", "warning", "remark" or "note"
      message,                          // without the location
      node,                             // the node of the model; may be empty
      file,                             // the file of the location; may be empty
      source,                           // the line of text, with a mark below the place
      text;                             // everything, as the programs print it
  uint32_t line = 0, column = 0;        // from 1; 0 without a file
  std::vector<DiagnosticRecord> notes;  // more places
};

// Returns `diagnostic` of `context` as a record.
DiagnosticRecord RecordOf(const Context& context, const Diagnostic& diagnostic);

// Keeps diagnostics until Python asks for them. Thread-safe: the handler of a Context adds to it,
// with or without the interpreter's lock.
class DiagnosticLog {
 public:
  // Appends a record.
  void Add(DiagnosticRecord record);
  // Returns all records and forgets them.
  std::vector<DiagnosticRecord> Take();

 private:
  std::mutex mutex_;
  std::vector<DiagnosticRecord> records_;
};

// Raises the exception of tenon/errors.py for `status`, which is not OK. `records` go with it.
// `loading` makes InvalidArgument an InvalidModel. Needs the interpreter's lock.
[[noreturn]] void Raise(const absl::Status& status, std::vector<DiagnosticRecord> records = {},
                        bool loading = false);
// Raises the exception for a status that is not OK.
inline void RaiseIfError(const absl::Status& status) {
  if (!status.ok()) Raise(status);
}
// Returns the value, or raises the exception of the status.
template <typename T>
T ValueOf(absl::StatusOr<T> value) {
  if (!value.ok()) Raise(value.status());
  return *std::move(value);
}

// Adds Diagnostic to the module.
void BindErrors(nb::module_& module);

}  // namespace tenon::python

#endif  // TENON_FRONTENDS_PYTHON_BINDINGS_ERRORS_H_
