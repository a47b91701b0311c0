#include "frontends/python/bindings/extend/calls.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "fmt/format.h"
#include "frontends/python/bindings/python_owner.h"

namespace tenon::python {
namespace {

// Calls that call back would end with the stack. Python's own limit can be raised beyond it.
constexpr long kMaxDepth = 50;

// Counts the calls of this thread that are inside of each other. Needs the lock.
class Depth {
 public:
  Depth() : counts_(PyThreadState_GetDict()) { Add(1); }
  ~Depth() { Add(-1); }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  long value() const { return value_; }

 private:
  static constexpr const char* kKey = "tenon.calls";

  void Add(long n) {
    // An error of this call must not hide that of another.
    nb::error_scope kept;
    if (counts_ == nullptr) return;
    PyObject* const now = PyDict_GetItemString(counts_, kKey);
    value_ = (now == nullptr ? 0 : PyLong_AsLong(now)) + n;
    PyObject* const next = PyLong_FromLong(value_);
    if (next == nullptr || PyDict_SetItemString(counts_, kKey, next) != 0) PyErr_Clear();
    Py_XDECREF(next);
  }

  PyObject* counts_;
  long value_ = 0;
};

absl::StatusCode CodeNamed(std::string_view name) {
  for (int code = 1; code <= 16; ++code) {
    if (absl::StatusCodeToString(static_cast<absl::StatusCode>(code)) == name)
      return static_cast<absl::StatusCode>(code);
  }
  return absl::StatusCode::kAborted;
}

absl::Status StatusOf(std::string_view what, const nb::python_error& error) {
  std::string code = "ABORTED", text = "an exception that cannot be shown";
  try {
    // There is no traceback where the call itself fails, as with a wrong number of arguments.
    const nb::handle traceback = error.traceback();
    const nb::object pair =
        nb::module_::import_("tenon.errors")
            .attr("describe")(error.value(),
                              traceback.is_valid() ? traceback : nb::handle(Py_None));
    code = nb::cast<std::string>(pair[nb::int_(0)]);
    text = nb::cast<std::string>(pair[nb::int_(1)]);
  } catch (const std::exception&) {
    // A failing __str__, or the end of the interpreter: the type must do.
    text = nb::cast<std::string>(nb::inst_name(error.value()));
  }
  return {CodeNamed(code), fmt::format("{} raised {}", what, text)};
}

}  // namespace

PythonFunction::PythonFunction(nb::object function)
    : function_(function.release()),
      owner_(OwnerThatCalls([raw = function_.ptr()] { Py_DECREF(raw); })) {}

absl::Status CallPython(std::string_view what, const std::function<absl::Status()>& call) {
  if (!Py_IsInitialized())
    return absl::UnavailableError(fmt::format("{}: the interpreter has ended", what));
  const nb::gil_scoped_acquire locked;
  const Depth depth;
  if (depth.value() > kMaxDepth) {
    return absl::ResourceExhaustedError(fmt::format(
        "{}: calls of Python are nested too deeply (expected at most {})", what, kMaxDepth));
  }
  try {
    return call();
  } catch (const nb::python_error& error) {
    return StatusOf(what, error);
  } catch (const nb::builtin_exception& error) {
    return absl::AbortedError(fmt::format("{}: {}", what, error.what()));
  } catch (const std::exception& error) {
    return absl::AbortedError(fmt::format("{}: {}", what, error.what()));
  }
}

nb::object FromAttrMap(const kernels::AttrMap& map, std::string_view name) {
  if (const auto* value = map.Find<bool>(name)) return nb::bool_(*value);
  if (const auto* value = map.Find<int64_t>(name)) return nb::int_(*value);
  if (const auto* value = map.Find<double>(name)) return nb::float_(*value);
  if (const auto* value = map.Find<std::string>(name)) return nb::cast(*value);
  if (const auto* value = map.Find<DType>(name)) {
    const std::string_view text = Name(*value);
    return nb::str(text.data(), text.size());
  }
  if (const auto* value = map.Find<std::vector<int64_t>>(name)) return nb::cast(*value);
  if (const auto* value = map.Find<std::vector<float>>(name)) return nb::cast(*value);
  return {};
}

}  // namespace tenon::python
