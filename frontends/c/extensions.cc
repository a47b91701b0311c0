#include "frontends/c/extensions.h"

#include <memory>
#include <utility>
#include <vector>

#include "drr/text/text.h"
#include "frontends/c/convert.h"
#include "frontends/c/objects.h"
#include "frontends/cpp/files/load_ops.h"
#include "frontends/cpp/passes.h"
#include "ir/core/context/context.h"
#include "ir/core/context/diagnostic.h"
#include "ir/dialect/dialects.h"
#include "pass/pass.h"
#include "patterns/facts/facts.h"

namespace c = tenon::c;

namespace {

// A pass that C has written.
class CalledPass : public tenon::Pass {
 public:
  CalledPass(TenonPassFn run, std::shared_ptr<void> state) : run_(run), state_(std::move(state)) {}
  absl::StatusOr<tenon::PassResult> Run(tenon::Operation* op, tenon::PassContext&) override {
    bool changed = false;
    const absl::Status status = c::TakeStatus(run_(c::ToC(op), &changed, state_.get()));
    if (!status.ok()) {
      const absl::Status emitted =
          tenon::EmitError(op->context(), op->location(), std::string(status.message()));
      return absl::Status(status.code(), emitted.message());
    }
    return tenon::PassResult{.changed = changed};
  }

 private:
  TenonPassFn run_;
  std::shared_ptr<void> state_;
};

absl::Status AddPass(tenon::Extension& extension, const TenonPass& pass,
                     std::shared_ptr<void> state) {
  tenon::PassInfo info;
  std::string_view name, summary;
  TENON_RETURN_IF_ERROR(c::ReadText(pass.name, "name", name));
  TENON_RETURN_IF_ERROR(c::ReadText(pass.summary, "summary", summary));
  TENON_RETURN_IF_ERROR(c::NotNull(pass.run, "run"));
  info.name = name;
  info.summary = summary;
  info.anchor = pass.on_modules ? "builtin.module" : "func.func";
  info.one_at_a_time = !pass.thread_safe;
  info.create = [run = pass.run, state = std::move(state)](const tenon::PassOptionValues&) {
    return std::make_unique<CalledPass>(run, state);
  };
  tenon::PassRegistry registry;
  TENON_RETURN_IF_ERROR(tenon::RegisterAllPasses(registry, &extension));
  TENON_RETURN_IF_ERROR(registry.Register(info));
  extension.passes.push_back(std::move(info));
  return absl::OkStatus();
}

absl::Status AddRules(tenon::Extension& extension, std::string_view text, const std::string& name) {
  tenon::Context context;
  tenon::RegisterAllDialects(context);
  for (const tenon::Dialect& dialect : extension.dialects)
    TENON_RETURN_IF_ERROR(context.RegisterDialect(dialect));
  for (const std::string& file : extension.op_files)
    TENON_RETURN_IF_ERROR(tenon::LoadOps(file, context));
  TENON_ASSIGN_OR_RETURN(std::vector<tenon::drr::Rule> rules,
                         tenon::drr::ParseRules(text, name, context, tenon::pattern::Facts()));
  for (tenon::drr::Rule& rule : rules) extension.rules.push_back(std::move(rule));
  return absl::OkStatus();
}

}  // namespace

TenonStatus* tenonExtensionCreate(TenonExtension** extension) {
  return c::Answer("making an extension", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(extension, "extension"));
    *extension = new TenonExtension;
    return absl::OkStatus();
  });
}

void tenonExtensionDestroy(TenonExtension* extension) { delete extension; }

TenonStatus* tenonExtensionAddOpFile(TenonExtension* extension, TenonString path) {
  return c::Answer("adding a file of operations", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(extension, "extension"));
    std::string_view text;
    TENON_RETURN_IF_ERROR(c::ReadText(path, "path", text));
    extension->extension.op_files.emplace_back(text);
    return absl::OkStatus();
  });
}

TenonStatus* tenonExtensionAddRules(TenonExtension* extension, TenonString rules,
                                    TenonString name) {
  TenonStatus* const answer = c::Answer("reading rules", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(extension, "extension"));
    std::string_view text, called;
    TENON_RETURN_IF_ERROR(c::ReadText(rules, "rules", text));
    TENON_RETURN_IF_ERROR(c::ReadText(name, "name", called));
    return AddRules(extension->extension, text, std::string(called));
  });
  return c::WithPlaceInText(answer, c::FromC(name));
}

TenonStatus* tenonExtensionAddPass(TenonExtension* extension, const TenonPass* pass) {
  return c::Answer("adding a pass", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(pass, "pass"));
    TenonPass given;
    TENON_RETURN_IF_ERROR(c::ReadOptions(pass, "pass", given));
    std::shared_ptr<void> state = c::OwnState(given.state, given.destroy);
    TENON_RETURN_IF_ERROR(c::NotNull(extension, "extension"));
    return AddPass(extension->extension, given, std::move(state));
  });
}
