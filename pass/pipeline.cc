#include "pass/pipeline.h"

#include <algorithm>

#include "fmt/format.h"
#include "ir/base/suggest.h"
#include "pass/module_properties.h"
#include "pass/pipeline_text.h"

namespace tenon {
namespace {

constexpr int kMaxExpansions = 16;

class Builder {
 public:
  explicit Builder(const PassRegistry& registry) : registry_(registry) {}

  absl::Status AddText(std::string_view text, PassPipeline& into, int expansions) {
    absl::StatusOr<std::vector<PipelineElement>> elements = ParsePipelineText(text);
    if (!elements.ok()) return elements.status();
    const bool has_outer_anchor = elements->size() == 1 && elements->front().name == into.anchor &&
                                  elements->front().children.has_value();
    const std::vector<PipelineElement>& list =
        has_outer_anchor ? *elements->front().children : *elements;
    for (const PipelineElement& element : list)
      TENON_RETURN_IF_ERROR(Add(text, element, into, expansions));
    return absl::OkStatus();
  }

  absl::Status Add(std::string_view text, const PipelineElement& element, PassPipeline& into,
                   int expansions) {
    if (element.children.has_value()) return AddNested(text, element, into, expansions);
    if (const PassInfo* info = registry_.Find(element.name))
      return AddPass(text, element, *info, into);
    const auto pipeline = registry_.pipelines().find(element.name);
    if (pipeline == registry_.pipelines().end()) return Unknown(text, element);
    if (element.options.has_value() && !element.options->empty()) {
      return PipelineError(text, element.options->front().offset,
                           fmt::format("pipeline '{}' takes no options", element.name));
    }
    if (expansions == kMaxExpansions) {
      return PipelineError(text, element.offset,
                           fmt::format("pipeline '{}' contains itself", element.name));
    }
    const absl::Status status = AddText(pipeline->second.text, into, expansions + 1);
    if (status.ok()) return status;
    return absl::InvalidArgumentError(
        fmt::format("in pipeline '{}': {}", element.name, std::string(status.message())));
  }

 private:
  absl::Status Unknown(std::string_view text, const PipelineElement& element) const {
    std::vector<std::string> names;
    for (const auto& [name, info] : registry_.passes()) names.push_back(name);
    for (const auto& [name, pipeline] : registry_.pipelines()) names.push_back(name);
    const std::string hint = DidYouMean(element.name, names);
    return PipelineError(text, element.offset,
                         fmt::format("unknown pass '{}'{}", element.name,
                                     hint.empty() ? " (expected a pass of --list-passes)" : hint));
  }

  absl::Status AddNested(std::string_view text, const PipelineElement& element, PassPipeline& into,
                         int expansions) {
    if (registry_.Find(element.name) != nullptr) {
      return PipelineError(
          text, element.offset,
          fmt::format("pass '{}' cannot hold passes (options are written {}{{name=value}})",
                      element.name, element.name));
    }
    std::vector<std::string> anchors = {std::string(kModuleAnchor), std::string(kAnyAnchor),
                                        "func.func"};
    for (const auto& [name, info] : registry_.passes()) anchors.push_back(info.anchor);
    if (std::find(anchors.begin(), anchors.end(), element.name) == anchors.end()) {
      return PipelineError(
          text, element.offset,
          fmt::format("'{}' is no operation that passes run on (expected builtin.module, "
                      "func.func or any{})",
                      element.name, DidYouMean(element.name, anchors)));
    }
    if (into.anchor != kModuleAnchor) {
      return PipelineError(
          text, element.offset,
          fmt::format("'{}' cannot be nested in {} (expected inside builtin.module)", element.name,
                      into.anchor));
    }
    PassPipeline& nested = Nest(element.name, into);
    for (const PipelineElement& child : *element.children) {
      TENON_RETURN_IF_ERROR(Add(text, child, nested, expansions));
    }
    return absl::OkStatus();
  }

  absl::Status AddPass(std::string_view text, const PipelineElement& element, const PassInfo& info,
                       PassPipeline& into) {
    const bool fits = info.anchor.empty() || info.anchor == into.anchor ||
                      (info.on_any_op && into.anchor == kAnyAnchor);
    if (!fits && (into.anchor != kModuleAnchor || info.anchor == kModuleAnchor)) {
      return PipelineError(text, element.offset,
                           fmt::format("pass '{}' runs on {} and cannot stand inside {}(…)",
                                       info.name, info.anchor, into.anchor));
    }
    absl::StatusOr<PassOptionValues> values = ResolveOptions(
        info, text, element.offset, element.options.value_or(std::vector<OptionText>()));
    if (!values.ok()) return values.status();
    PipelineItem item;
    item.info = &info;
    item.pass = info.create(*values);
    if (!values->wrong_name().empty()) {
      return PipelineError(
          text, element.offset,
          fmt::format("the create function of pass '{}' asks for an option '{}', which the pass "
                      "does not have as that type",
                      info.name, values->wrong_name()));
    }
    if (item.pass == nullptr) {
      return PipelineError(
          text, element.offset,
          fmt::format("the create function of pass '{}' gives no pass", info.name));
    }
    item.values = *std::move(values);
    (fits ? into : Nest(info.anchor, into)).items.push_back(std::move(item));
    return absl::OkStatus();
  }

  // The nested pipeline at the end of `into`; neighbours of one anchor share one, so that each op
  // goes through all their passes before the next op.
  static PassPipeline& Nest(std::string_view anchor, PassPipeline& into) {
    if (into.items.empty() || !into.items.back().nested ||
        into.items.back().nested->anchor != anchor) {
      into.items.emplace_back().nested = std::make_unique<PassPipeline>();
      into.items.back().nested->anchor = std::string(anchor);
    }
    return *into.items.back().nested;
  }

  const PassRegistry& registry_;
};

void Splice(PassPipeline& from, PassPipeline& to) {
  for (PipelineItem& item : from.items) {
    PassPipeline* last = to.items.empty() ? nullptr : to.items.back().nested.get();
    if (item.nested && last != nullptr && last->anchor == item.nested->anchor) {
      Splice(*item.nested, *last);
    } else {
      to.items.push_back(std::move(item));
    }
  }
}

}  // namespace

absl::Status AppendPipelineText(const PassRegistry& registry, std::string_view text,
                                PassPipeline& pipeline) {
  PassPipeline added;
  added.anchor = pipeline.anchor;
  TENON_RETURN_IF_ERROR(Builder(registry).AddText(text, added, 0));
  Splice(added, pipeline);
  return absl::OkStatus();
}

absl::Status AppendPass(const PassRegistry& registry, std::string_view name,
                        std::string_view options, PassPipeline& pipeline) {
  absl::StatusOr<std::vector<OptionText>> parsed = ParseOptionsText(options);
  if (!parsed.ok()) return parsed.status();
  PipelineElement element;
  element.name = std::string(name);
  if (!parsed->empty()) element.options = *std::move(parsed);
  PassPipeline added;
  added.anchor = pipeline.anchor;
  const bool known = registry.Find(name) != nullptr || registry.pipelines().count(name) != 0;
  TENON_RETURN_IF_ERROR(Builder(registry).Add(known ? options : name, element, added, 0));
  Splice(added, pipeline);
  return absl::OkStatus();
}

void NumberItems(PassPipeline& pipeline, std::string_view around) {
  for (size_t i = 0; i < pipeline.items.size(); ++i) {
    PipelineItem& item = pipeline.items[i];
    item.number = around.empty() ? fmt::format("{}", i) : fmt::format("{}_{}", around, i);
    if (item.nested) NumberItems(*item.nested, item.number);
  }
}

PassPipeline ClonePipeline(const PassPipeline& pipeline) {
  PassPipeline copy;
  copy.anchor = pipeline.anchor;
  for (const PipelineItem& item : pipeline.items) {
    PipelineItem& made = copy.items.emplace_back();
    made.info = item.info;
    made.values = item.values;
    made.number = item.number;
    if (item.nested) {
      made.nested = std::make_unique<PassPipeline>(ClonePipeline(*item.nested));
    } else {
      made.pass = item.info->create(made.values);
    }
  }
  return copy;
}

std::string PipelineText(const PassPipeline& pipeline) {
  std::string text = pipeline.anchor + '(';
  for (size_t i = 0; i < pipeline.items.size(); ++i) {
    if (i > 0) text += ',';
    text += PipelineText(pipeline.items[i]);
  }
  return text + ')';
}

std::string PipelineText(const PipelineItem& item) {
  if (item.nested) return PipelineText(*item.nested);
  const std::string options = FormatOptions(*item.info, item.values);
  return options.empty() ? item.info->name : item.info->name + '{' + options + '}';
}

std::string ShortPipelineText(const PipelineItem& item) {
  if (item.nested) return PipelineText(item);
  const absl::StatusOr<PassOptionValues> defaults = ResolveOptions(*item.info, "", 0, {});
  if (!defaults.ok()) return PipelineText(item);  // an option is required
  PassInfo shown = *item.info;
  std::erase_if(shown.options, [&](const PassOption& option) {
    const auto own = item.values.values.find(option.name);
    const auto usual = defaults->values.find(option.name);
    return own == item.values.values.end() ||
           (usual != defaults->values.end() && own->second == usual->second);
  });
  const std::string options = FormatOptions(shown, item.values);
  return options.empty() ? shown.name : shown.name + '{' + options + '}';
}

absl::Status CheckPropertyOrder(const PassRegistry& registry, const PassPipeline& pipeline,
                                uint32_t& properties) {
  for (const PipelineItem& item : pipeline.items) {
    if (item.nested) {
      TENON_RETURN_IF_ERROR(CheckPropertyOrder(registry, *item.nested, properties));
      continue;
    }
    const uint32_t missing = item.info->needs & ~properties;
    if (missing != 0) {
      const auto maker =
          std::find_if(registry.passes().begin(), registry.passes().end(),
                       [&](const auto& pass) { return (pass.second.establishes & missing) != 0; });
      return absl::FailedPreconditionError(
          fmt::format("pass '{}' cannot run here: it needs the module to be {} (no pass before it "
                      "establishes that{})",
                      item.info->name, PropertyNames(registry, missing),
                      maker == registry.passes().end() ? std::string()
                                                       : fmt::format("; '{}' does", maker->first)));
    }
    properties = (properties & ~item.info->destroys) | item.info->establishes;
  }
  return absl::OkStatus();
}

}  // namespace tenon
