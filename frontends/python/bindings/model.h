// A model that Python holds: loaded, optimized, compiled.
#ifndef TENON_FRONTENDS_PYTHON_BINDINGS_MODEL_H_
#define TENON_FRONTENDS_PYTHON_BINDINGS_MODEL_H_

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "frontends/cpp/tenon.h"
#include "frontends/python/bindings/errors.h"

namespace tenon::python {

// One model and the diagnostics about it. Thread-safe: calls work on a model that nobody changes.
// Optimize changes a copy and puts it in the place of the model if that succeeds. So an error
// leaves the model as it was, and other threads may compile it meanwhile.
class ModelHandle {
 public:
  ModelHandle(std::shared_ptr<const Model> model, std::shared_ptr<DiagnosticLog> log)
      : model_(std::move(model)), log_(std::move(log)) {}

  // The present model.
  std::shared_ptr<const Model> Get() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return model_;
  }
  // Puts `model` in its place.
  void Set(std::shared_ptr<const Model> model) {
    const std::lock_guard<std::mutex> lock(mutex_);
    model_.swap(model);
  }
  // Its diagnostics, which all clones share.
  const std::shared_ptr<DiagnosticLog>& log() const { return log_; }
  // True while a thread optimizes the model.
  std::atomic<bool>& optimizing() { return optimizing_; }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Model> model_;
  std::shared_ptr<DiagnosticLog> log_;
  std::atomic<bool> optimizing_ = false;
};

// Adds Model to the module.
void BindModel(nb::module_& module);
// Adds Model.optimize, which is a file of its own.
void BindOptimize(nb::class_<ModelHandle>& model);

}  // namespace tenon::python

#endif  // TENON_FRONTENDS_PYTHON_BINDINGS_MODEL_H_
