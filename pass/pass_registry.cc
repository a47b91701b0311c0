#include <set>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "pass/pass.h"
#include "pass/pipeline_text.h"

namespace tenon {
namespace {

constexpr std::string_view kNameCharacters = "expected letters, digits, '-', '_' and '.'";

// A dialect, and a name in it.
bool IsOpName(std::string_view name) {
  const size_t dot = name.find('.');
  return dot != name.npos && dot > 0 && dot + 1 < name.size() && IsPipelineName(name);
}

absl::Status CheckName(const PassRegistry& registry, std::string_view kind, std::string_view name) {
  if (!IsPipelineName(name)) {
    return absl::InvalidArgumentError(fmt::format(
        "{} '{}' has a name that pipelines cannot hold ({})", kind, name, kNameCharacters));
  }
  if (registry.Find(name) == nullptr && !registry.pipelines().contains(name))
    return absl::OkStatus();
  return absl::AlreadyExistsError(fmt::format("there are two passes or pipelines '{}'", name));
}

}  // namespace

absl::Status PassRegistry::Register(PassInfo info) {
  TENON_RETURN_IF_ERROR(CheckName(*this, "pass", info.name));
  if (info.create == nullptr)
    return absl::InvalidArgumentError(
        fmt::format("pass '{}' lacks its create function", info.name));
  if (!info.anchor.empty() && !IsOpName(info.anchor)) {
    return absl::InvalidArgumentError(fmt::format(
        "pass '{}' runs on '{}', which is no name of an operation (expected one such as "
        "func.func)",
        info.name, info.anchor));
  }
  std::set<std::string_view> names;
  for (const PassOption& option : info.options) {
    const auto wrong = [&](std::string_view what) {
      return absl::InvalidArgumentError(
          fmt::format("option '{}' of pass '{}' {}", option.name, info.name, what));
    };
    if (!IsPipelineName(option.name))
      return wrong(fmt::format("has a name that pipelines cannot hold ({})", kNameCharacters));
    if (!names.insert(option.name).second) return wrong("is declared twice");
    if (!DefaultOf(option).has_value())
      return wrong(fmt::format("does not take its default '{}'", option.default_text));
  }
  std::string name = info.name;
  passes_.emplace(std::move(name), std::move(info));
  return absl::OkStatus();
}

absl::Status PassRegistry::RegisterPipeline(std::string name, std::string summary,
                                            std::string text) {
  TENON_RETURN_IF_ERROR(CheckName(*this, "pipeline", name));
  pipelines_.emplace(std::move(name), Pipeline{std::move(summary), std::move(text)});
  return absl::OkStatus();
}

const PassInfo* PassRegistry::Find(std::string_view name) const {
  const auto found = passes_.find(name);
  return found == passes_.end() ? nullptr : &found->second;
}

}  // namespace tenon
