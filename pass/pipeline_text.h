// The text of pipelines, as in mlir-opt:
// `builtin.module(a,func.func(b,c{max-iterations=3 names=x,y}))`.
#ifndef TENON_PASS_PIPELINE_TEXT_H_
#define TENON_PASS_PIPELINE_TEXT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pass/pass.h"

namespace tenon {

// `key=value` between the braces; offsets count bytes of the whole text.
struct OptionText {
  std::string key;
  size_t offset = 0;
  bool has_value = false;  // false: `key` alone
  size_t value_offset = 0;
  // The value cut at its commas. Quotes around a piece, and braces around the whole value, are
  // taken off.
  std::vector<std::string> pieces;
  std::string whole;  // the value, not cut
};

// `name`, `name{options}` or `name(children)`.
struct PipelineElement {
  std::string name;
  size_t offset = 0;
  std::optional<std::vector<OptionText>> options;  // nullopt: no braces
  std::optional<std::vector<PipelineElement>> children;
};

// Can the name of a pass or an option be written in the text?
bool IsPipelineName(std::string_view name);

// An error names the column of the fault and what was expected there.
absl::StatusOr<std::vector<PipelineElement>> ParsePipelineText(std::string_view text);
// What stands between the braces of a pass, by itself.
absl::StatusOr<std::vector<OptionText>> ParseOptionsText(std::string_view text);

// InvalidArgument "pipeline:1:COLUMN: MESSAGE", with the line of the text and a caret below it.
absl::Status PipelineError(std::string_view text, size_t offset, std::string_view message);

// The value of an option that is not given; nullopt: its default is of another type than it.
std::optional<std::vector<std::string>> DefaultOf(const PassOption& option);
// Values of a pass's options: those given, checked against the declared ones, and defaults for the
// rest. The pass itself stands at `at` of `text`.
absl::StatusOr<PassOptionValues> ResolveOptions(const PassInfo& info, std::string_view text,
                                                size_t at, const std::vector<OptionText>& given);
// "name=value name2=a,b" in the order of declaration; ParseOptionsText reads it back.
std::string FormatOptions(const PassInfo& info, const PassOptionValues& values);

}  // namespace tenon

#endif  // TENON_PASS_PIPELINE_TEXT_H_
