#include "frontends/python/bindings/model.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string_view>

#include "executor/gpu/cuda_plugin.h"
#include "fmt/format.h"
#include "frontends/cpp/files/export_onnx.h"
#include "frontends/cpp/inspect/inspect.h"
#include "frontends/python/bindings/extend/extension.h"
#include "frontends/python/bindings/ir/handles.h"
#include "frontends/python/bindings/pictures.h"
#include "frontends/python/bindings/program.h"
#include "ir/base/write_file.h"
#include "ir/core/text/printer.h"
#include "ir/serialize/binary_module.h"

namespace tenon::python {
namespace {

using Sizes = std::map<std::string, std::vector<int64_t>>;

// Loads with `load`, without the interpreter's lock.
template <typename Load>
std::shared_ptr<ModelHandle> LoadWith(LoadOptions options, Load load) {
  auto log = std::make_shared<DiagnosticLog>();
  options.on_diagnostic = [log](const Context& context, const Diagnostic& diagnostic) {
    log->Add(RecordOf(context, diagnostic));
  };
  absl::StatusOr<Model> model = absl::UnknownError("");
  {
    const nb::gil_scoped_release unlocked;
    model = load(options);
  }
  if (!model.ok()) Raise(model.status(), log->Take(), true);
  return std::make_shared<ModelHandle>(std::make_shared<const Model>(*std::move(model)),
                                       std::move(log));
}

LoadOptions LoadOptionsOf(bool allow_unregistered, std::string external_data,
                          bool allow_external_links, std::vector<std::string> parameter_files,
                          std::vector<std::string> replaceable, Sizes sizes, std::string part,
                          bool keep_names, const PyExtension* extension) {
  LoadOptions options;
  if (extension != nullptr) options.extension = extension->Get();
  options.allow_unregistered_dialects = allow_unregistered;
  options.external_data_root = std::move(external_data);
  options.allow_external_data_links = allow_external_links;
  options.parameter_files = std::move(parameter_files);
  options.replaceable = std::move(replaceable);
  options.edit.sizes = std::move(sizes);
  options.edit.part = std::move(part);
  options.keep_names = keep_names;
  return options;
}

std::shared_ptr<ProgramHandle> CompileHandle(const std::shared_ptr<ModelHandle>& handle,
                                             int threads, int cuda_device, bool reference,
                                             const std::string& weight_cache, bool verify_weights,
                                             int64_t memory_bytes, int64_t loop_trips) {
  CompileOptions options;
  options.threads = threads;
  options.reference = reference;
  options.weight_cache = weight_cache;
  options.verify_weights = verify_weights;
  options.limits.memory_bytes = memory_bytes;
  options.limits.loop_trips = loop_trips;
  std::vector<std::string> notes;
  options.on_fallback = [&notes](std::string_view line) { notes.emplace_back(line); };
  absl::StatusOr<Program> program = absl::UnknownError("");
  {
    const nb::gil_scoped_release unlocked;
    program = [&]() -> absl::StatusOr<Program> {
      if (cuda_device >= 0) {
        absl::StatusOr<std::shared_ptr<kernels::gpu::Device>> device = OpenCudaDevice(cuda_device);
        if (!device.ok()) return device.status();
        options.gpu = *std::move(device);
      }
      return Compile(*handle->Get(), options);
    }();
  }
  if (!program.ok()) Raise(program.status(), handle->log()->Take());
  return std::make_shared<ProgramHandle>(*std::move(program), std::move(notes));
}

// The model as a binary module.
nb::bytes BinaryOf(const ModelHandle& handle) {
  std::string bytes;
  absl::Status status;
  {
    const nb::gil_scoped_release unlocked;
    status = WriteBinaryModule(*handle.Get()->module(), [&](std::string_view piece) {
      bytes.append(piece);
      return absl::OkStatus();
    });
  }
  RaiseIfError(status);
  return nb::bytes(bytes.data(), bytes.size());
}

std::string ModelText(const ModelHandle& handle, bool generic, bool locations, bool elide) {
  PrintOptions options;
  options.generic = generic;
  options.locations = locations;
  options.elide_resources = elide;
  std::string text;
  absl::Status status;
  {
    const nb::gil_scoped_release unlocked;
    status = Print(*handle.Get()->module(), options, [&](std::string_view piece) {
      text.append(piece);
      return absl::OkStatus();
    });
  }
  RaiseIfError(status);
  return text;
}

void ExportHandle(const ModelHandle& handle, const std::string& path, int64_t opset,
                  const std::string& ops) {
  ExportOptions options;
  options.opset = opset;
  if (ops == "functions") {
    options.ops = OnnxOps::kFunctions;
  } else if (ops == "onnxruntime") {
    options.ops = OnnxOps::kOnnxRuntime;
  } else if (ops != "standard") {
    Raise(absl::InvalidArgumentError(fmt::format(
        "there are no operators '{}' (expected standard, functions or onnxruntime)", ops)));
  }
  absl::Status status;
  {
    const nb::gil_scoped_release unlocked;
    status = ExportOnnx(*handle.Get(), path, options);
  }
  if (!status.ok()) Raise(status, handle.log()->Take());
}

std::string InspectHandle(const ModelHandle& handle) {
  absl::StatusOr<Inspection> inspection = absl::UnknownError("");
  {
    const nb::gil_scoped_release unlocked;
    inspection = Inspect(*handle.Get());
  }
  return InspectionJson(ValueOf(std::move(inspection)));
}

}  // namespace

void BindModel(nb::module_& module) {
  nb::class_<ModelHandle> model(module, "Model", "A model; see tenon.Model.");
  module.def(
      "write_file",
      [](const std::string& path, const nb::bytes& content) {
        RaiseIfError(WriteFile(path, std::string_view(content.c_str(), content.size())));
      },
      nb::arg("path"), nb::arg("content"));
  module.def(
      "load_path",
      [](const std::string& path, bool allow_unregistered, std::string external_data,
         bool allow_external_links, std::vector<std::string> parameter_files,
         std::vector<std::string> replaceable, Sizes sizes, std::string part, bool keep_names,
         const PyExtension* extension) {
        return LoadWith(
            LoadOptionsOf(allow_unregistered, std::move(external_data), allow_external_links,
                          std::move(parameter_files), std::move(replaceable), std::move(sizes),
                          std::move(part), keep_names, extension),
            [&](const LoadOptions& options) { return Load(path, options); });
      },
      nb::arg("path"), nb::kw_only(), nb::arg("allow_unregistered"), nb::arg("external_data"),
      nb::arg("allow_external_links"), nb::arg("parameter_files"), nb::arg("replaceable"),
      nb::arg("sizes"), nb::arg("part"), nb::arg("keep_names"), nb::arg("extension").none());
  module.def(
      "load_bytes",
      [](const nb::bytes& bytes, const std::string& name, bool allow_unregistered,
         std::string external_data, bool allow_external_links,
         std::vector<std::string> parameter_files, std::vector<std::string> replaceable,
         Sizes sizes, std::string part, bool keep_names, const PyExtension* extension) {
        const std::string_view content(bytes.c_str(), bytes.size());
        return LoadWith(
            LoadOptionsOf(allow_unregistered, std::move(external_data), allow_external_links,
                          std::move(parameter_files), std::move(replaceable), std::move(sizes),
                          std::move(part), keep_names, extension),
            [&](const LoadOptions& options) { return LoadFromBytes(content, name, options); });
      },
      nb::arg("content"), nb::arg("name"), nb::kw_only(), nb::arg("allow_unregistered"),
      nb::arg("external_data"), nb::arg("allow_external_links"), nb::arg("parameter_files"),
      nb::arg("replaceable"), nb::arg("sizes"), nb::arg("part"), nb::arg("keep_names"),
      nb::arg("extension").none());
  model
      .def("compile", CompileHandle, nb::kw_only(), nb::arg("threads"), nb::arg("cuda_device"),
           nb::arg("reference"), nb::arg("weight_cache"), nb::arg("verify_weights"),
           nb::arg("memory_bytes"), nb::arg("loop_trips"))
      .def("clone",
           [](const ModelHandle& handle) {
             const std::shared_ptr<const Model> model = handle.Get();
             return std::make_shared<ModelHandle>(std::make_shared<const Model>(model->Clone()),
                                                  handle.log());
           })
      .def("text", ModelText, nb::kw_only(), nb::arg("generic"), nb::arg("locations"),
           nb::arg("elide"))
      .def("binary", BinaryOf)
      .def("export_onnx", ExportHandle, nb::arg("path"), nb::kw_only(), nb::arg("opset"),
           nb::arg("ops"))
      .def("inspect", InspectHandle)
      .def(
          "view",
          [](const ModelHandle& handle, nb::handle profile) {
            const std::shared_ptr<const Model> model = handle.Get();
            const std::optional<view::Times> times = TimesOf(profile);
            const nb::gil_scoped_release unlocked;
            return PictureOf(*model->module(), NameOfModel(model->files()), times);
          },
          nb::arg("profile").none())
      .def("take_diagnostics", [](const ModelHandle& handle) { return handle.log()->Take(); });
  BindOptimize(model);
  BindIr(module, model);
}

}  // namespace tenon::python
