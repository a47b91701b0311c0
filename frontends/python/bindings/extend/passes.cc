#include "frontends/python/bindings/extend/passes.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <variant>

#include "fmt/format.h"
#include "frontends/cpp/passes.h"
#include "frontends/python/bindings/extend/calls.h"
#include "frontends/python/bindings/ir/handles.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/verify/verifier.h"
#include "pass/ir_fingerprint.h"

namespace tenon::python {
namespace {

// What a pass may ask of the pass manager, while it runs.
struct PassCall {
  std::string pass;
  StatePtr state;
  std::shared_ptr<PassCounts> counts;
  PassContext* context = nullptr;  // null once the pass has ended
  // What error() was told: the place and the message.
  std::optional<std::pair<Location, std::string>> failure;

  PassContext& get() const {
    if (context != nullptr) return *context;
    Raise(absl::FailedPreconditionError(fmt::format("pass '{}' has ended", pass)));
  }
  Location At(const PyOperation* op) const {
    (void)get();
    if (op == nullptr) return state->Root()->location();
    CheckSame(op->state(), state);
    return op->get()->location();
  }
};

void Count(const PassCall& call, const std::string& name, int64_t n) {
  call.get().statistics->Add(name, n);
  call.counts->Add(call.pass, name, n);
}

bool RunNested(const PassCall& call, const std::string& pipeline) {
  PassContext& context = call.get();
  Operation* root = call.state->Root();
  if (const absl::Status status = Verify(root); !status.ok())
    Raise(status, call.state->log->Take(), true);
  // Passes replace what handles refer to.
  call.state->ForgetAll();
  call.state->busy = true;
  const absl::StatusOr<PassResult> result = context.pipelines->RunPipeline(pipeline, root);
  call.state->busy = false;
  if (!result.ok()) Raise(result.status(), call.state->log->Take());
  return result->changed;
}

using OptionValue = std::variant<bool, int64_t, std::string, std::vector<std::string>>;

OptionValue Read(const PassOptionValues& values, const PassOption& option) {
  switch (option.type) {
    case PassOption::Type::kBool:
      return values.GetBool(option.name);
    case PassOption::Type::kInt:
    case PassOption::Type::kCount:
      return values.GetInt(option.name);
    case PassOption::Type::kString:
      return values.GetString(option.name);
    case PassOption::Type::kStringList:
      return values.GetStringList(option.name);
  }
  return false;
}

// What the runs of a pass share.
struct PassFunction {
  std::string name;
  PythonFunction function;
  PassHost host;
  std::vector<std::string> keywords;  // the names of options in Python
};

class PythonPass : public Pass {
 public:
  PythonPass(std::shared_ptr<const PassFunction> shared, std::vector<OptionValue> options)
      : shared_(std::move(shared)), options_(std::move(options)) {}

  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    const std::string what = fmt::format("pass '{}'", shared_->name);
    const uint64_t before = IrFingerprint(*op);
    std::optional<std::pair<Location, std::string>> failure;
    const absl::Status called = CallPython(what, [&] { return Call(op, context, failure); });
    if (!called.ok()) {
      // An error that the pass has found in the program needs no traceback.
      if (!failure.has_value()) failure.emplace(op->location(), called.message());
      const absl::Status emitted = EmitError(op->context(), failure->first, failure->second);
      return absl::Status(called.code(), emitted.message());
    }
    const bool changed = IrFingerprint(*op) != before;
    if (!changed) return PassResult{.changed = false};
    // Code in C++ relies on IR that is well-formed, and Python may have made any.
    if (const absl::Status wrong = Verify(op); !wrong.ok())
      return absl::InvalidArgumentError(fmt::format("{}: {}", what, std::string(wrong.message())));
    return PassResult{.changed = true};
  }

 private:
  absl::Status Call(Operation* op, PassContext& context,
                    std::optional<std::pair<Location, std::string>>& failure) const {
    const auto state = std::make_shared<IrState>(shared_->host.origin, shared_->host.log, op);
    const auto call = std::make_shared<PassCall>(
        PassCall{shared_->name, state, shared_->host.counts, &context, {}});
    // However the call ends, nobody reaches the IR afterward.
    struct End {
      IrState& state;
      PassCall& call;
      std::optional<std::pair<Location, std::string>>& failure;
      ~End() {
        failure = std::move(call.failure);
        state.ForgetAll();
        state.root = nullptr;
        call.context = nullptr;
      }
    } const end{*state, *call, failure};
    nb::dict keywords;
    for (size_t i = 0; i < options_.size(); ++i) {
      keywords[shared_->keywords[i].c_str()] =
          std::visit([](const auto& value) { return nb::cast(value); }, options_[i]);
    }
    shared_->function.get()(HandleOf(state, op), call, **keywords);
    return absl::OkStatus();
  }

  std::shared_ptr<const PassFunction> shared_;
  std::vector<OptionValue> options_;
};

PassOption::Type OptionType(const std::string& word) {
  if (word == "bool") return PassOption::Type::kBool;
  if (word == "int") return PassOption::Type::kInt;
  return word == "list" ? PassOption::Type::kStringList : PassOption::Type::kString;
}

// `spec` is a PassSpec of tenon/passes.py.
PassInfo InfoOf(nb::handle spec, const PassHost& host) {
  PassInfo info;
  info.name = nb::cast<std::string>(spec.attr("name"));
  info.summary = nb::cast<std::string>(spec.attr("summary"));
  info.anchor = nb::cast<std::string>(spec.attr("on"));
  info.one_at_a_time = true;
  std::vector<std::string> keywords;
  for (const nb::handle given : spec.attr("options")) {
    PassOption option;
    option.name = nb::cast<std::string>(given.attr("name"));
    option.type = OptionType(nb::cast<std::string>(given.attr("type")));
    option.default_text = nb::cast<std::string>(given.attr("default_text"));
    option.required = nb::cast<bool>(given.attr("required"));
    info.options.push_back(std::move(option));
    keywords.push_back(nb::cast<std::string>(given.attr("keyword")));
  }
  auto shared = std::make_shared<const PassFunction>(PassFunction{
      info.name, PythonFunction(nb::borrow(spec.attr("function"))), host, std::move(keywords)});
  info.create = [shared = std::move(shared),
                 options = info.options](const PassOptionValues& values) -> std::unique_ptr<Pass> {
    std::vector<OptionValue> read;
    for (const PassOption& option : options) read.push_back(Read(values, option));
    return std::make_unique<PythonPass>(shared, std::move(read));
  };
  return info;
}

// Raises the error of a registry that has all other passes.
void CheckPass(nb::handle spec) {
  PassRegistry registry;
  RaiseIfError(RegisterAllPasses(registry));
  RaiseIfError(registry.Register(InfoOf(spec, PassHost())));
}

}  // namespace

std::vector<PassInfo> RegisteredPasses(const PassHost& host) {
  std::vector<PassInfo> passes;
  for (const nb::handle spec : nb::module_::import_("tenon.passes").attr("registered")())
    passes.push_back(InfoOf(spec, host));
  return passes;
}

void BindPasses(nb::module_& module) {
  nb::class_<PassCall>(module, "PassContext",
                       "The services for a pass in Python while it runs; see tenon.register_pass.")
      .def("count", Count, nb::arg("name"), nb::arg("n") = 1, "Adds to a counter of the pass.")
      .def(
          "warning",
          [](const PassCall& call, const std::string& message, const PyOperation* op) {
            EmitWarning(call.state->context(), call.At(op), message);
          },
          nb::arg("message"), nb::arg("op").none() = nb::none(),
          "Emits a warning about an operation.")
      .def(
          "remark",
          [](const PassCall& call, const std::string& message, const PyOperation* op) {
            EmitRemark(call.state->context(), call.At(op), message);
          },
          nb::arg("message"), nb::arg("op").none() = nb::none(),
          "Emits a remark about an operation.")
      .def(
          "error",
          [](PassCall& call, const std::string& message, const PyOperation* op) {
            call.failure.emplace(call.At(op), message);
            Raise(absl::InvalidArgumentError(message));
          },
          nb::arg("message"), nb::arg("op").none() = nb::none(),
          nb::sig("def error(self, message: str, op: Operation | None = None) -> typing.NoReturn"),
          "Ends the pass with an error about an operation: raises InvalidArgument.")
      .def("run", RunNested, nb::arg("pipeline"),
           "Runs a pipeline on the operation of the pass, and returns whether it changed it. "
           "Handles are gone afterward.");
  module.def("check_pass", CheckPass, nb::arg("spec"));
}

}  // namespace tenon::python
