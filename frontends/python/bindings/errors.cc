#include "frontends/python/bindings/errors.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace tenon::python {
namespace {

const char* SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kRemark:
      return "remark";
    case Severity::kNote:
      return "note";
  }
  return "error";
}

// Fills in the first node, and the first position in a file, that `location` names.
void Locate(const Context& context, Location location, DiagnosticRecord& record) {
  const LocationData& data = Resolve(context, location);
  if (data.kind == Location::Kind::kFileLineCol) {
    if (!record.file.empty()) return;
    record.file = data.text;
    record.line = data.line;
    record.column = data.col;
    return;
  }
  if (data.kind == Location::Kind::kName && record.node.empty()) record.node = data.text;
  for (const Location part : data.parts) Locate(context, part, record);
}

}  // namespace

DiagnosticRecord RecordOf(const Context& context, const Diagnostic& diagnostic) {
  DiagnosticRecord record;
  record.severity = SeverityName(diagnostic.severity);
  record.message = diagnostic.message;
  record.source = diagnostic.source;
  record.text = FormatDiagnostic(context, diagnostic);
  if (!diagnostic.location.is_unknown()) Locate(context, diagnostic.location, record);
  for (const Diagnostic& note : diagnostic.notes) record.notes.push_back(RecordOf(context, note));
  return record;
}

void DiagnosticLog::Add(DiagnosticRecord record) {
  const std::lock_guard<std::mutex> lock(mutex_);
  records_.push_back(std::move(record));
}

std::vector<DiagnosticRecord> DiagnosticLog::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(records_, {});
}

void Raise(const absl::Status& status, std::vector<DiagnosticRecord> records, bool loading) {
  const std::string code = absl::StatusCodeToString(status.code());
  // Messages may quote bytes of a file, which need not be UTF-8.
  const std::string message(status.message());
  const nb::object text = nb::steal(PyUnicode_DecodeUTF8(
      message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
  const nb::object error =
      nb::module_::import_("tenon.errors")
          .attr("from_status")(code.c_str(), text, std::move(records), loading);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

void BindErrors(nb::module_& module) {
  nb::class_<DiagnosticRecord>(module, "Diagnostic",
                               "An error, warning or remark about the user's input.")
      .def_ro("severity", &DiagnosticRecord::severity, "'error', 'warning', 'remark' or 'note'.")
      .def_ro("message", &DiagnosticRecord::message, "The message, without its location.")
      .def_ro("node", &DiagnosticRecord::node, "The node of the model; may be empty.")
      .def_ro("file", &DiagnosticRecord::file, "The file of the location; may be empty.")
      .def_ro("line", &DiagnosticRecord::line, "The line in the file, from 1; 0 without one.")
      .def_ro("column", &DiagnosticRecord::column, "The column, from 1; 0 without a file.")
      .def_ro("source", &DiagnosticRecord::source, "The line of text, with a mark below it.")
      .def_ro("notes", &DiagnosticRecord::notes, "More places, each a Diagnostic.")
      .def("__str__", [](const DiagnosticRecord& record) { return record.text; })
      .def("__repr__",
           [](const DiagnosticRecord& record) { return "<tenon.Diagnostic " + record.text + ">"; });
}

}  // namespace tenon::python
