#include "frontends/python/bindings/testing.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "fmt/format.h"
#include "frontends/cpp/extension.h"
#include "frontends/cpp/files/test_cases.h"
#include "frontends/cpp/plugin.h"
#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/debug/bisect.h"
#include "frontends/debug/check_kernels.h"
#include "frontends/debug/check_passes.h"
#include "frontends/debug/check_steps.h"
#include "frontends/debug/compare_nodes.h"
#include "frontends/debug/compare_outputs.h"
#include "frontends/python/bindings/dlpack.h"
#include "frontends/python/bindings/model.h"
#include "frontends/python/bindings/program.h"
#include "frontends/python/bindings/tensors.h"

namespace tenon::python {
namespace {

using Tensors = std::vector<Tensor>;
using PyTensors = std::vector<PyTensor>;

Tensors TensorsOf(const PyTensors& given) {
  Tensors tensors;
  for (const PyTensor& one : given) tensors.push_back(one.tensor);
  return tensors;
}
using Handle = std::shared_ptr<ModelHandle>;
// atol and rtol, by the name of an element type; "" for all others.
using Tolerances = std::map<std::string, std::pair<double, double>>;

CompareTensors ComparisonBy(const Tolerances& tolerances) {
  return [tolerances](const Tensor& actual, const Tensor& expected) {
    auto found = tolerances.find(NumpyName(expected.dtype()));
    if (found == tolerances.end()) found = tolerances.find("");
    const auto [atol, rtol] =
        found == tolerances.end() ? std::pair<double, double>() : found->second;
    return Compare(actual, expected, atol, rtol);
  };
}

// How programs are optimized, as a dict of Python.
OptimizeOptions OptimizeOptionsOf(const nb::dict& given) {
  OptimizeOptions options;
  options.level = nb::cast<int>(given["level"]);
  options.pipeline = nb::cast<std::string>(given["pipeline"]);
  options.rule_files = nb::cast<std::vector<std::string>>(given["rule_files"]);
  options.disabled_rules = nb::cast<std::vector<std::string>>(given["disabled_rules"]);
  options.fast_math = nb::cast<bool>(given["fast_math"]);
  return options;
}

CompileOptions CompileOptionsOf(bool reference) {
  CompileOptions options;
  options.threads = 1;
  options.reference = reference;
  return options;
}

// A member of a report, with its key in the dict that Python gets.
template <typename Report, typename Value>
struct Field {
  const char* key;
  Value Report::*member;
};

constexpr std::tuple kDifferenceFields = {
    Field{"passed", &Difference::pass}, Field{"max_abs", &Difference::max_abs},
    Field{"max_rel", &Difference::max_rel}, Field{"element", &Difference::element},
    Field{"problem", &Difference::problem}};
constexpr std::tuple kComparedValueFields = {
    Field{"value", &ComparedValue::value}, Field{"node", &ComparedValue::node},
    Field{"type", &ComparedValue::type}, Field{"difference", &ComparedValue::difference}};
constexpr std::tuple kBisectFields = {
    Field{"outcome", &BisectResult::outcome},   Field{"difference", &BisectResult::difference},
    Field{"step", &BisectResult::step},         Field{"steps", &BisectResult::steps},
    Field{"kind", &BisectResult::kind},         Field{"name", &BisectResult::name},
    Field{"place", &BisectResult::place},       Field{"pass_entry", &BisectResult::pass},
    Field{"function", &BisectResult::function}, Field{"op", &BisectResult::op},
    Field{"nodes", &BisectResult::nodes},       Field{"reduced", &BisectResult::reduced},
    Field{"example", &BisectResult::example},   Field{"before", &BisectResult::before},
    Field{"after", &BisectResult::after}};
constexpr std::tuple kPassFindingFields = {
    Field{"pass_entry", &PassFinding::pass}, Field{"function", &PassFinding::function},
    Field{"case", &PassFinding::test_case},  Field{"output", &PassFinding::output},
    Field{"type", &PassFinding::type},       Field{"difference", &PassFinding::difference}};
constexpr std::tuple kPassesFields = {
    Field{"changed", &PassesReport::changed}, Field{"compared", &PassesReport::compared},
    Field{"skipped", &PassesReport::skipped}, Field{"findings", &PassesReport::findings}};
constexpr std::tuple kStepFindingFields = {Field{"step", &StepFinding::step},
                                           Field{"kind", &StepFinding::kind},
                                           Field{"name", &StepFinding::name},
                                           Field{"place", &StepFinding::place},
                                           Field{"pass_entry", &StepFinding::pass},
                                           Field{"function", &StepFinding::function},
                                           Field{"op", &StepFinding::op},
                                           Field{"nodes", &StepFinding::nodes},
                                           Field{"result", &StepFinding::result},
                                           Field{"type", &StepFinding::type},
                                           Field{"difference", &StepFinding::difference},
                                           Field{"example", &StepFinding::example},
                                           Field{"before", &StepFinding::before}};
constexpr std::tuple kStepsFields = {
    Field{"steps", &StepsReport::steps}, Field{"run", &StepsReport::run},
    Field{"not_run", &StepsReport::not_run}, Field{"findings", &StepsReport::findings}};
constexpr std::tuple kKernelFindingFields = {
    Field{"op", &KernelFinding::op},         Field{"nodes", &KernelFinding::nodes},
    Field{"kernel", &KernelFinding::kernel}, Field{"result", &KernelFinding::result},
    Field{"type", &KernelFinding::type},     Field{"difference", &KernelFinding::difference},
    Field{"inputs", &KernelFinding::inputs}, Field{"program", &KernelFinding::program}};
constexpr std::tuple kKernelsFields = {
    Field{"ops", &KernelsReport::ops}, Field{"compared", &KernelsReport::compared},
    Field{"skipped", &KernelsReport::skipped}, Field{"findings", &KernelsReport::findings}};

constexpr const auto& FieldsOf(const Difference&) { return kDifferenceFields; }
constexpr const auto& FieldsOf(const ComparedValue&) { return kComparedValueFields; }
constexpr const auto& FieldsOf(const BisectResult&) { return kBisectFields; }
constexpr const auto& FieldsOf(const PassFinding&) { return kPassFindingFields; }
constexpr const auto& FieldsOf(const PassesReport&) { return kPassesFields; }
constexpr const auto& FieldsOf(const StepFinding&) { return kStepFindingFields; }
constexpr const auto& FieldsOf(const StepsReport&) { return kStepsFields; }
constexpr const auto& FieldsOf(const KernelFinding&) { return kKernelFindingFields; }
constexpr const auto& FieldsOf(const KernelsReport&) { return kKernelsFields; }

template <typename Report>
concept HasFields = requires(const Report& report) {
  FieldsOf(report);
};

// A value as Python has it: a dict for a report, a list for some.
template <typename Value>
nb::object PythonOf(const Value& value) {
  return nb::cast(value);
}
nb::object PythonOf(BisectResult::Outcome outcome) {
  switch (outcome) {
    case BisectResult::Outcome::kStep:
      return nb::str("step");
    case BisectResult::Outcome::kNoDifference:
      return nb::str("no difference");
    case BisectResult::Outcome::kWrongBefore:
      break;
  }
  return nb::str("wrong before");
}
template <HasFields Report>
nb::object PythonOf(const std::vector<Report>& reports);
template <HasFields Report>
nb::dict PythonOf(const Report& report) {
  nb::dict dict;
  std::apply(
      [&](const auto&... field) { ((dict[field.key] = PythonOf(report.*field.member)), ...); },
      FieldsOf(report));
  return dict;
}
template <HasFields Report>
nb::object PythonOf(const std::vector<Report>& reports) {
  nb::list list;
  for (const Report& report : reports) list.append(PythonOf(report));
  return list;
}

// Calls `work` without the interpreter's lock. Errors of C++ become exceptions.
template <typename Work>
auto Unlocked(const Handle& handle, Work work) {
  auto result = [&] {
    const nb::gil_scoped_release unlocked;
    return work();
  }();
  if (!result.ok()) Raise(result.status(), handle->log()->Take());
  return *std::move(result);
}

// Names of files that declare operations, with their contents as JSON, or "" to read the file.
using OpFiles = std::vector<std::pair<std::string, std::string>>;

absl::StatusOr<std::shared_ptr<Extension>> ExtensionOf(const std::vector<std::string>& plugins,
                                                       const OpFiles& op_files) {
  auto extension = std::make_shared<Extension>();
  for (const auto& [file, json] : op_files) {
    if (json.empty()) {
      extension->op_files.push_back(file);
    } else {
      extension->op_texts.push_back({file, json});
    }
  }
  for (const std::string& plugin : plugins) {
    if (absl::Status status = LoadPlugin(plugin, *extension); !status.ok()) return status;
  }
  return extension;
}

Handle LoadWithPlugins(const std::string& path, const std::vector<std::string>& plugins,
                       const OpFiles& op_files, const std::string& external_data) {
  auto log = std::make_shared<DiagnosticLog>();
  absl::StatusOr<Model> model = [&]() -> absl::StatusOr<Model> {
    const nb::gil_scoped_release unlocked;
    LoadOptions options;
    options.external_data_root = external_data;
    options.on_diagnostic = [log](const Context& context, const Diagnostic& diagnostic) {
      log->Add(RecordOf(context, diagnostic));
    };
    absl::StatusOr<std::shared_ptr<Extension>> extension = ExtensionOf(plugins, op_files);
    if (!extension.ok()) return extension.status();
    options.extension = *std::move(extension);
    return Load(path, options);
  }();
  if (!model.ok()) Raise(model.status(), log->Take(), true);
  return std::make_shared<ModelHandle>(std::make_shared<const Model>(*std::move(model)),
                                       std::move(log));
}

nb::list SampleCases(const Handle& handle, const std::map<std::string, int64_t>& sizes) {
  struct Made {
    std::vector<Sample> samples;
    absl::Status why;
  };
  const std::shared_ptr<const Model> model = handle->Get();
  const Made made = Unlocked(handle, [&]() -> absl::StatusOr<Made> {
    if (model->main() == nullptr) {
      return absl::InvalidArgumentError(
          "there is nothing to run (expected a function @main, or one function with a body)");
    }
    Made result;
    for (int kind = 0; kind <= kLongSample; ++kind) {
      absl::StatusOr<Sample> sample = SampleInputs(model->main(), kind, sizes);
      if (sample.ok()) {
        result.samples.push_back(*std::move(sample));
      } else if (result.why.ok()) {
        result.why = sample.status();
      }
    }
    if (result.samples.empty()) return result.why;
    return result;
  });
  nb::list list;
  for (const Sample& sample : made.samples) {
    nb::list inputs;
    for (const Tensor& input : sample.inputs) inputs.append(TensorObject(input));
    list.append(nb::make_tuple(sample.text, inputs));
  }
  return list;
}

nb::list ReadCases(const Handle& handle, const ProgramHandle& program, const std::string& folder) {
  const std::vector<TestCase> cases =
      Unlocked(handle, [&] { return ReadTestCases(folder, program.program, {}); });
  nb::list list;
  for (const TestCase& one : cases) {
    nb::list inputs, expected;
    for (const Tensor& input : one.inputs) inputs.append(TensorObject(input));
    for (const Tensor& output : one.expected) expected.append(TensorObject(output));
    list.append(nb::make_tuple(one.name, inputs, expected));
  }
  return list;
}

// One comparison for each output. Both tensors of a text have the result of the text.
nb::list CompareOutputs(const ProgramHandle& program, const nb::list& actual,
                        const nb::list& expected, const Tolerances& tolerances) {
  const auto& specs = program.program.outputs();
  if (actual.size() != specs.size() || expected.size() != specs.size()) {
    Raise(absl::InvalidArgumentError(
        fmt::format("{} and {} outputs are compared (expected {}, as the model has)", actual.size(),
                    expected.size(), specs.size())));
  }
  Tensors ours, others;
  for (size_t i = 0; i < specs.size(); ++i) {
    ours.push_back(TensorFrom(actual[i], specs[i]));
    others.push_back(TensorFrom(expected[i], specs[i]));
  }
  const OutputComparer comparer(specs, ComparisonBy(tolerances));
  nb::list list;
  for (size_t i = 0; i < specs.size(); ++i)
    list.append(PythonOf(comparer.Compare(ours, others, i)));
  return list;
}

// The outputs of another engine, a function of Python that takes bytes. None becomes null.
absl::StatusOr<Tensors> RunOther(const nb::object& function, const std::string& more_outputs,
                                 std::optional<std::exception_ptr>& failure) {
  const nb::gil_scoped_acquire locked;
  try {
    Tensors tensors;
    const nb::object given = function(nb::bytes(more_outputs.data(), more_outputs.size()));
    for (const nb::handle one : given)
      tensors.push_back(one.is_none() ? Tensor() : TensorFrom(one, {}));
    return tensors;
  } catch (...) {
    failure = std::current_exception();
    return absl::UnavailableError("the other engine failed");
  }
}

nb::object FirstDifference(const std::string& path, const std::vector<std::string>& plugins,
                           const OpFiles& op_files, const PyTensors& inputs,
                           const nb::object& elsewhere, const Tolerances& tolerances) {
  std::optional<std::exception_ptr> failure;
  absl::StatusOr<NodeComparison> compared = [&]() -> absl::StatusOr<NodeComparison> {
    const nb::gil_scoped_release unlocked;
    LoadOptions load;
    absl::StatusOr<std::shared_ptr<Extension>> extension = ExtensionOf(plugins, op_files);
    if (!extension.ok()) return extension.status();
    load.extension = *std::move(extension);
    return CompareNodes(
        path, load, CompileOptionsOf(false), TensorsOf(inputs),
        [&](const std::string& more) { return RunOther(elsewhere, more, failure); },
        ComparisonBy(tolerances));
  }();
  if (failure.has_value()) std::rethrow_exception(*failure);
  const NodeComparison nodes = ValueOf(std::move(compared));
  const ComparedValue* const first = nodes.first();
  if (first == nullptr) return nb::none();
  return PythonOf(*first);
}

nb::dict BisectHandle(const Handle& handle, const nb::dict& optimize, bool reference,
                      const std::vector<PyTensors>& inputs, const std::vector<PyTensors>& expected,
                      const Tolerances& tolerances, bool reduce) {
  BisectOptions options;
  options.optimize = OptimizeOptionsOf(optimize);
  options.compile = CompileOptionsOf(reference);
  for (size_t i = 0; i < inputs.size(); ++i)
    options.cases.push_back(
        {TensorsOf(inputs[i]), i < expected.size() ? TensorsOf(expected[i]) : Tensors()});
  options.compare = ComparisonBy(tolerances);
  options.reduce = reduce;
  const std::shared_ptr<const Model> model = handle->Get();
  return PythonOf(Unlocked(handle, [&] { return Bisect(*model, options); }));
}

nb::dict CheckPassesOf(const Handle& handle, const nb::dict& optimize, bool reference,
                       const std::vector<PyTensors>& inputs, const Tolerances& tolerances) {
  CheckPassesOptions options;
  options.optimize = OptimizeOptionsOf(optimize);
  options.compile = CompileOptionsOf(reference);
  for (const PyTensors& one : inputs) options.cases.push_back(TensorsOf(one));
  options.compare = ComparisonBy(tolerances);
  const std::shared_ptr<const Model> model = handle->Get();
  return PythonOf(Unlocked(handle, [&] { return CheckPasses(*model, options); }));
}

nb::dict CheckStepsOf(const Handle& handle, const nb::dict& optimize, bool reference,
                      const Tolerances& tolerances, int64_t programs_per_rule) {
  CheckStepsOptions options;
  options.optimize = OptimizeOptionsOf(optimize);
  options.compile = CompileOptionsOf(reference);
  options.compare = ComparisonBy(tolerances);
  options.programs_per_rule = programs_per_rule;
  const std::shared_ptr<const Model> model = handle->Get();
  return PythonOf(Unlocked(handle, [&] { return CheckSteps(*model, options); }));
}

nb::dict CheckKernelsOf(const Handle& handle, const Tolerances& tolerances) {
  CheckKernelsOptions options;
  options.compile = CompileOptionsOf(false);
  options.compare = ComparisonBy(tolerances);
  const std::shared_ptr<const Model> model = handle->Get();
  return PythonOf(Unlocked(handle, [&] { return CheckKernels(*model, options); }));
}

}  // namespace

void BindTesting(nb::module_& module) {
  module.def("testing_load", LoadWithPlugins, nb::arg("path"), nb::kw_only(), nb::arg("plugins"),
             nb::arg("op_files"), nb::arg("external_data"));
  module.def("testing_sample_cases", SampleCases, nb::arg("model"), nb::kw_only(),
             nb::arg("sizes"));
  module.def("testing_read_cases", ReadCases, nb::arg("model"), nb::arg("program"),
             nb::arg("folder"));
  module.def("testing_compare", CompareOutputs, nb::arg("program"), nb::arg("actual"),
             nb::arg("expected"), nb::kw_only(), nb::arg("tolerances"));
  module.def("testing_first_difference", FirstDifference, nb::arg("path"), nb::kw_only(),
             nb::arg("plugins"), nb::arg("op_files"), nb::arg("inputs"), nb::arg("elsewhere"),
             nb::arg("tolerances"));
  module.def("testing_bisect", BisectHandle, nb::arg("model"), nb::kw_only(), nb::arg("optimize"),
             nb::arg("reference"), nb::arg("inputs"), nb::arg("expected"), nb::arg("tolerances"),
             nb::arg("reduce"));
  module.def("testing_check_passes", CheckPassesOf, nb::arg("model"), nb::kw_only(),
             nb::arg("optimize"), nb::arg("reference"), nb::arg("inputs"), nb::arg("tolerances"));
  module.def("testing_check_steps", CheckStepsOf, nb::arg("model"), nb::kw_only(),
             nb::arg("optimize"), nb::arg("reference"), nb::arg("tolerances"),
             nb::arg("programs_per_rule"));
  module.def("testing_check_kernels", CheckKernelsOf, nb::arg("model"), nb::kw_only(),
             nb::arg("tolerances"));
}

}  // namespace tenon::python
