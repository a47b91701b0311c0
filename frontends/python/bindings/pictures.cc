#include "frontends/python/bindings/pictures.h"

#include <nanobind/stl/string.h>

#include <utility>

#include "fmt/format.h"
#include "frontends/python/bindings/errors.h"
#include "frontends/view/view.h"
#include "ir/base/write_file.h"

namespace tenon::python {
namespace {

// The text of a path: str, bytes or os.PathLike.
std::string PathOf(nb::handle path) {
  const nb::object decoded = nb::module_::import_("os").attr("fsdecode")(path);
  std::string text;
  if (!nb::try_cast(decoded, text)) {
    Raise(absl::InvalidArgumentError(
        fmt::format("the path is {}, which UTF-8 cannot express (expected a path in UTF-8)",
                    nb::repr(decoded).c_str())));
  }
  return text;
}

std::string PageOf(const Picture& self) {
  const nb::gil_scoped_release unlocked;
  return view::ViewPage(self.shown());
}

std::string SvgOf(const Picture& self) {
  absl::StatusOr<std::string> text = absl::UnknownError("");
  {
    const nb::gil_scoped_release unlocked;
    text = view::ViewSvg(self.shown());
  }
  return ValueOf(std::move(text));
}

std::string DotOf(const Picture& self) { return ValueOf(view::ViewDot(self.shown())); }

void Save(const Picture& self, const std::string& path) {
  std::string text;
  if (path.ends_with(".html")) {
    text = PageOf(self);
  } else if (path.ends_with(".svg")) {
    text = SvgOf(self);
  } else if (path.ends_with(".dot")) {
    text = DotOf(self);
  } else {
    Raise(absl::InvalidArgumentError(
        fmt::format("a picture cannot be written as {} (expected *.html, *.svg or *.dot)", path)));
  }
  RaiseIfError(WriteFile(path, text));
}

// The page as an attribute of HTML.
std::string Quoted(std::string_view page) {
  std::string text;
  text.reserve(page.size() + page.size() / 8);
  for (const char c : page) {
    if (c == '&') {
      text += "&amp;";
    } else if (c == '"') {
      text += "&quot;";
    } else {
      text += c;
    }
  }
  return text;
}

// The page in a frame of its own: its styles and scripts are not those of the notebook.
std::string FrameOf(const Picture& self) {
  return fmt::format(
      "<iframe title=\"Program\" sandbox=\"allow-scripts allow-downloads\" "
      "style=\"width: 100%; height: 600px; border: 1px solid #ccc\" "
      "srcdoc=\"{}\"></iframe>",
      Quoted(PageOf(self)));
}

std::string Describe(const Picture& self) {
  const view::Comparison& shown = self.shown();
  if (!shown.after.has_value())
    return fmt::format("<tenon.View of {} operations>", shown.before.ops.size());
  return fmt::format("<tenon.View of {} operations before and {} after {}>",
                     shown.before.ops.size(), shown.after->ops.size(), shown.pipeline);
}

}  // namespace

std::optional<view::Times> TimesOf(nb::handle profile) {
  if (profile.is_none()) return std::nullopt;
  const std::string file = PathOf(profile);
  const nb::object opened = nb::module_::import_("builtins").attr("open")(file, "rb");
  const nb::object content = opened.attr("read")();
  opened.attr("close")();
  const nb::bytes json = nb::cast<nb::bytes>(content);
  absl::StatusOr<view::Times> times = view::ReadTimes({json.c_str(), json.size()});
  if (!times.ok()) {
    Raise(absl::InvalidArgumentError(
        fmt::format("{}: {}", file, std::string(times.status().message()))));
  }
  return *std::move(times);
}

Picture PictureOf(const Operation& module, std::string name,
                  const std::optional<view::Times>& times) {
  view::Comparison shown;
  shown.input = std::move(name);
  shown.before = view::ReadProgram(module);
  if (times.has_value()) view::AddTimes(*times, shown);
  return Picture(std::move(shown));
}

std::string NameOfModel(const std::vector<SourceFile>& files) {
  if (files.empty() || files[0].path.empty()) return "model";
  return files[0].path;
}

void BindPictures(nb::module_& module) {
  nb::class_<Picture>(module, "View",
                      "A picture of a program, or of a program before and after passes, as it was "
                      "when view() was called. Notebooks show it.")
      .def("html", PageOf,
           "Returns a page that needs no other file, with groups that open and close.")
      .def("svg", SvgOf,
           "Returns a picture with all groups open. Raises InvalidArgument for more than 2000 "
           "operations.")
      .def("dot", DotOf, "Returns text for Graphviz. Raises InvalidArgument as svg does.")
      .def(
          "save", [](const Picture& self, nb::handle path) { Save(self, PathOf(path)); },
          nb::arg("path"), nb::sig("def save(self, path: str | os.PathLike[str]) -> None"),
          "Writes the picture to *.html, *.svg or *.dot.")
      .def("_repr_html_", FrameOf)
      .def("__repr__", Describe);
}

}  // namespace tenon::python
