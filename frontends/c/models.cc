#include "frontends/c/models.h"

#include <memory>
#include <utility>

#include "frontends/c/convert.h"
#include "frontends/c/errors.h"
#include "frontends/c/objects.h"
#include "ir/core/builder.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/verify/verifier.h"

namespace c = tenon::c;

namespace tenon::c {

Limits FromC(const TenonLimits& limits) {
  const auto given = [](int64_t value, int64_t otherwise) {
    return value == 0 ? otherwise : value;
  };
  Limits known;
  known.stream_bytes = given(limits.stream_bytes, known.stream_bytes);
  known.loop_trips = given(limits.loop_trips, known.loop_trips);
  known.memory_bytes = given(limits.memory_bytes, known.memory_bytes);
  known.nesting = given(limits.nesting, known.nesting);
  known.message_bytes = given(limits.message_bytes, known.message_bytes);
  return known;
}

absl::Status CheckModel(const TenonModel* model) {
  TENON_RETURN_IF_ERROR(NotNull(model, "model"));
  return Verify(model->model.module());
}

namespace {

void Tell(TenonDiagnosticFn handler, void* state, const Context& context,
          const Diagnostic& diagnostic) {
  const std::string place = DescribeLocation(context, diagnostic.location);
  const std::string text = FormatDiagnostic(context, diagnostic);
  TenonDiagnostic told;
  told.severity = TENON_REMARK;
  if (diagnostic.severity == Severity::kError) told.severity = TENON_ERROR;
  if (diagnostic.severity == Severity::kWarning) told.severity = TENON_WARNING;
  told.message = ToC(std::string_view(diagnostic.message));
  told.location = ToC(std::string_view(place));
  told.text = ToC(std::string_view(text));
  handler(&told, state);
}

}  // namespace

std::function<void(const Context&, const Diagnostic&)> HandlerOf(TenonDiagnosticFn handler,
                                                                 std::shared_ptr<void> state) {
  if (handler == nullptr) return nullptr;
  return [handler, state = std::move(state)](const Context& context, const Diagnostic& diagnostic) {
    Tell(handler, state.get(), context, diagnostic);
  };
}

namespace {

// Makes the context, or shares that of another model.
absl::Status ReadContext(const TenonLoadOptions& options, std::shared_ptr<void> state,
                         LoadOptions& load) {
  load.limits = FromC(options.limits);
  load.allow_unregistered_dialects = options.allow_unregistered_dialects;
  if (options.context_of != nullptr) {
    if (options.extension != nullptr || options.on_diagnostic != nullptr ||
        options.allow_unregistered_dialects)
      return Wrong("'context_of' beside an extension, a handler or a setting of the context");
    load.context = options.context_of->model.shared_context();
    load.extension = options.context_of->model.extension();
    return absl::OkStatus();
  }
  if (options.extension != nullptr)
    load.extension = std::make_shared<const Extension>(options.extension->extension);
  load.on_diagnostic = HandlerOf(options.on_diagnostic, std::move(state));
  TENON_ASSIGN_OR_RETURN(load.context, MakeContext(load));
  return absl::OkStatus();
}

absl::Status ReadLoadOptions(const TenonLoadOptions* given, LoadOptions& load) {
  TenonLoadOptions options;
  TENON_RETURN_IF_ERROR(ReadOptions(given, "options", options));
  std::shared_ptr<void> state =
      OwnState(options.diagnostic_state, options.destroy_diagnostic_state);
  std::string_view root;
  TENON_RETURN_IF_ERROR(ReadText(options.external_data_root, "external_data_root", root));
  load.external_data_root = root;
  load.allow_external_data_links = options.allow_external_data_links;
  TENON_RETURN_IF_ERROR(ReadTexts(options.parameter_files, options.num_parameter_files,
                                  "parameter_files", load.parameter_files));
  TENON_RETURN_IF_ERROR(
      ReadTexts(options.replaceable, options.num_replaceable, "replaceable", load.replaceable));
  return ReadContext(options, std::move(state), load);
}

// Makes a model with `make`, which gets the options with a context.
template <typename Make>
TenonStatus* MakeModel(const TenonLoadOptions* options, TenonModel** model, Make make) {
  LoadOptions load;
  if (TenonStatus* wrong = Answer("making a context", [&]() -> absl::Status {
        // First, so that the state of the handler is destroyed whatever else is wrong.
        TENON_RETURN_IF_ERROR(ReadLoadOptions(options, load));
        return NotNull(model, "model");
      })) {
    return wrong;
  }
  return AnswerIn(*load.context, "loading", [&]() -> absl::Status {
    TENON_ASSIGN_OR_RETURN(Model made, make(load));
    *model = new TenonModel{std::move(made)};
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace tenon::c

TenonStatus* tenonModelLoad(TenonString path, const TenonLoadOptions* options, TenonModel** model) {
  return c::MakeModel(options, model,
                      [&](const tenon::LoadOptions& load) -> absl::StatusOr<tenon::Model> {
                        std::string file;
                        TENON_RETURN_IF_ERROR(c::ReadPath(path, "path", file));
                        return tenon::Load(file, load);
                      });
}

TenonStatus* tenonModelLoadBytes(const void* bytes, size_t size, TenonString name,
                                 const TenonLoadOptions* options, TenonModel** model) {
  return c::MakeModel(
      options, model, [&](const tenon::LoadOptions& load) -> absl::StatusOr<tenon::Model> {
        std::string_view text, called;
        TENON_RETURN_IF_ERROR(c::ReadText({static_cast<const char*>(bytes), size}, "bytes", text));
        TENON_RETURN_IF_ERROR(c::ReadText(name, "name", called));
        return tenon::LoadFromBytes(text, std::string(called), load);
      });
}

TenonStatus* tenonModelCreate(const TenonLoadOptions* options, TenonModel** model) {
  return c::MakeModel(
      options, model, [&](const tenon::LoadOptions& load) -> absl::StatusOr<tenon::Model> {
        return tenon::Model(load.context, tenon::CreateModule(*load.context), {}, load.extension);
      });
}

TenonStatus* tenonModelClone(const TenonModel* model, TenonModel** copy) {
  return c::Answer("copying a model", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(model, "model"));
    TENON_RETURN_IF_ERROR(c::NotNull(copy, "copy"));
    *copy = new TenonModel{model->model.Clone()};
    return absl::OkStatus();
  });
}

void tenonModelDestroy(TenonModel* model) { delete model; }

TenonContext tenonModelContext(const TenonModel* model) {
  return model == nullptr ? TenonContext{nullptr} : c::ToC(model->model.context());
}

TenonOperation tenonModelModule(const TenonModel* model) {
  return {model == nullptr ? nullptr : model->model.module()};
}

TenonOperation tenonModelMain(const TenonModel* model) {
  return {model == nullptr ? nullptr : model->model.main()};
}
