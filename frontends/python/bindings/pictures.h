// Pictures of programs in Python: tenon.View.
#ifndef TENON_FRONTENDS_PYTHON_BINDINGS_PICTURES_H_
#define TENON_FRONTENDS_PYTHON_BINDINGS_PICTURES_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontends/view/comparison.h"
#include "ir/base/source_file.h"

namespace tenon::python {

namespace nb = nanobind;

// A tenon.View: programs as they were when it was made. Immutable.
class Picture {
 public:
  explicit Picture(view::Comparison shown)
      : shown_(std::make_shared<const view::Comparison>(std::move(shown))) {}
  const view::Comparison& shown() const { return *shown_; }

 private:
  std::shared_ptr<const view::Comparison> shown_;
};

// Times for a picture, from a file that `ir-run --profile` writes. `profile` is a path or None.
// Raises what opening it raises, and InvalidArgument for another file.
std::optional<view::Times> TimesOf(nb::handle profile);
// A picture of one program.
Picture PictureOf(const Operation& module, std::string name,
                  const std::optional<view::Times>& times);
// The name of a model that has these files; "model" if it has none.
std::string NameOfModel(const std::vector<SourceFile>& files);

// Adds View to the module.
void BindPictures(nb::module_& module);

}  // namespace tenon::python

#endif  // TENON_FRONTENDS_PYTHON_BINDINGS_PICTURES_H_
