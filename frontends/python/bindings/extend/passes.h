// Passes that are functions of Python.
#ifndef TENON_FRONTENDS_PYTHON_BINDINGS_EXTEND_PASSES_H_
#define TENON_FRONTENDS_PYTHON_BINDINGS_EXTEND_PASSES_H_

#include <nanobind/nanobind.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/python/bindings/errors.h"
#include "frontends/python/bindings/model.h"
#include "pass/pass.h"

namespace tenon::python {

// The counters of passes in Python. Thread-safe.
class PassCounts {
 public:
  // Adds `n` to the counter `name` of the pass `pass`.
  void Add(const std::string& pass, const std::string& name, int64_t n) {
    const std::lock_guard<std::mutex> lock(mutex_);
    counts_[pass][name] += n;
  }
  // A copy: counters by pass.
  std::map<std::string, std::map<std::string, int64_t>> Get() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return counts_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, int64_t>> counts_;
};

// What the passes of one call of Python share. None of the pointers is null.
struct PassHost {
  std::shared_ptr<const Model> origin;  // has the Context of the IR
  std::shared_ptr<DiagnosticLog> log;   // of that Context
  std::shared_ptr<PassCounts> counts;   // gets the counters
};

// The passes that tenon.register_pass knows, for one call. Needs the interpreter's lock. A pass
// runs alone, and its result is verified.
std::vector<PassInfo> RegisteredPasses(const PassHost& host);

// Adds PassContext, and the check of tenon.register_pass, to the module.
void BindPasses(nb::module_& module);

}  // namespace tenon::python

#endif  // TENON_FRONTENDS_PYTHON_BINDINGS_EXTEND_PASSES_H_
