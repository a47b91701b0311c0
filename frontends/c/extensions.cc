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

struct TenonPassCall {
  tenon::Operation* op;
  const tenon::PassOptionValues& options;
  tenon::Statistics* statistics;
};

namespace {

// The enumerators are the same in both languages, and stay what they are.
static_assert(static_cast<int>(tenon::PassOption::Type::kCount) == TENON_OPTION_COUNT);
static_assert(static_cast<int>(tenon::PassOption::Type::kStringList) == TENON_OPTION_TEXTS);

// A pass that C has written: one of the two functions.
struct PassFns {
  TenonPassFn run;
  TenonPassCallFn call;
};

class CalledPass : public tenon::Pass {
 public:
  CalledPass(PassFns fns, std::shared_ptr<void> state, tenon::PassOptionValues options)
      : fns_(fns), state_(std::move(state)), options_(std::move(options)) {}
  absl::StatusOr<tenon::PassResult> Run(tenon::Operation* op,
                                        tenon::PassContext& context) override {
    bool changed = false;
    TenonPassCall call = {op, options_, context.statistics};
    const absl::Status status =
        c::TakeStatus(fns_.call != nullptr ? fns_.call(&call, &changed, state_.get())
                                           : fns_.run(c::ToC(op), &changed, state_.get()));
    if (!status.ok()) {
      const absl::Status emitted =
          tenon::EmitError(op->context(), op->location(), std::string(status.message()));
      return absl::Status(status.code(), emitted.message());
    }
    return tenon::PassResult{.changed = changed};
  }

 private:
  PassFns fns_;
  std::shared_ptr<void> state_;
  const tenon::PassOptionValues options_;
};

absl::Status ReadPassOptions(const TenonPass& pass, std::vector<tenon::PassOption>& options) {
  if (pass.num_options > 0) TENON_RETURN_IF_ERROR(c::NotNull(pass.options, "options"));
  for (size_t i = 0; i < pass.num_options; ++i) {
    const TenonPassOption& given = pass.options[i];
    if (given.type < TENON_OPTION_BOOL || given.type > TENON_OPTION_TEXTS)
      return c::Wrong("options[{}] has the type {}, which there is not", i, given.type);
    std::string_view name, default_text, summary;
    TENON_RETURN_IF_ERROR(c::ReadText(given.name, "name", name));
    TENON_RETURN_IF_ERROR(c::ReadText(given.default_text, "default_text", default_text));
    TENON_RETURN_IF_ERROR(c::ReadText(given.summary, "summary", summary));
    tenon::PassOption& option = options.emplace_back();
    option.name = name;
    option.type = static_cast<tenon::PassOption::Type>(given.type);
    option.default_text = default_text;
    option.help = summary;
    option.required = given.required;
    TENON_RETURN_IF_ERROR(
        c::ReadTexts(given.choices, given.num_choices, "choices", option.choices));
  }
  return absl::OkStatus();
}

// The texts of an option of a call; null if there is none.
const std::vector<std::string>* FindTexts(const TenonPassCall* call, TenonString option) {
  if (call == nullptr) return nullptr;
  const auto found = call->options.values.find(c::FromC(option));
  return found == call->options.values.end() ? nullptr : &found->second;
}

absl::Status AddPass(tenon::Extension& extension, const TenonPass& pass,
                     std::shared_ptr<void> state) {
  tenon::PassInfo info;
  std::string_view name, summary;
  TENON_RETURN_IF_ERROR(c::ReadText(pass.name, "name", name));
  TENON_RETURN_IF_ERROR(c::ReadText(pass.summary, "summary", summary));
  if (pass.call == nullptr) TENON_RETURN_IF_ERROR(c::NotNull(pass.run, "run"));
  if (pass.call != nullptr && pass.run != nullptr)
    return c::Wrong("'run' beside 'call' (expected one of the two)");
  TENON_RETURN_IF_ERROR(ReadPassOptions(pass, info.options));
  info.name = name;
  info.summary = summary;
  info.anchor = pass.on_modules ? "builtin.module" : "func.func";
  info.one_at_a_time = !pass.thread_safe;
  info.create = [fns = PassFns{pass.run, pass.call},
                 state = std::move(state)](const tenon::PassOptionValues& options) {
    return std::make_unique<CalledPass>(fns, state, options);
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

TenonOperation tenonPassCallOperation(const TenonPassCall* call) {
  return {call == nullptr ? nullptr : call->op};
}

size_t tenonPassCallNumTexts(const TenonPassCall* call, TenonString option) {
  const std::vector<std::string>* const texts = FindTexts(call, option);
  return texts == nullptr ? 0 : texts->size();
}

TenonString tenonPassCallText(const TenonPassCall* call, TenonString option, size_t index) {
  const std::vector<std::string>* const texts = FindTexts(call, option);
  if (texts == nullptr || index >= texts->size()) return {nullptr, 0};
  return c::ToC(std::string_view((*texts)[index]));
}

bool tenonPassCallBool(const TenonPassCall* call, TenonString option) {
  return call != nullptr && FindTexts(call, option) != nullptr &&
         call->options.GetBool(c::FromC(option));
}

int64_t tenonPassCallInt64(const TenonPassCall* call, TenonString option) {
  if (call == nullptr || FindTexts(call, option) == nullptr) return 0;
  return call->options.GetInt(c::FromC(option));
}

TenonStatus* tenonPassCallCount(TenonPassCall* call, TenonString counter, int64_t n) {
  return c::Answer("counting", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(call, "call"));
    std::string_view name;
    TENON_RETURN_IF_ERROR(c::ReadText(counter, "counter", name));
    if (name.empty()) return c::Wrong("the counter has no name");
    if (call->statistics != nullptr) call->statistics->Add(name, n);
    return absl::OkStatus();
  });
}
