// The text form of pipelines, as in mlir-opt: `builtin.module(a,func.func(b,c{max-iterations=3
// names=x,y}))`.
#ifndef TENON_PASS_PIPELINE_TEXT_H_
#define TENON_PASS_PIPELINE_TEXT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pass/pass.h"

namespace tenon {

// One `key=value` between braces. Offsets count bytes of the whole text.
struct OptionText {
  std::string key;
  size_t offset = 0;
  bool has_value = false;  // false: the key stands alone
  size_t value_offset = 0;
  // The value split at its commas, without quotes around pieces and braces around the whole.
  std::vector<std::string> pieces;
  std::string whole;  // the value, not split
};

// One `name`, `name{options}` or `name(children)`.
struct PipelineElement {
  std::string name;
  size_t offset = 0;
  std::optional<std::vector<OptionText>> options;  // nullopt: no braces
  std::optional<std::vector<PipelineElement>> children;
};

// True if the text can hold this name of a pass or an option: letters, digits, '-', '_' and '.'.
bool IsPipelineName(std::string_view name);

// Reads a pipeline. InvalidArgument (PipelineError) points at the mistake.
absl::StatusOr<std::vector<PipelineElement>> ParsePipelineText(std::string_view text);
// Reads the text between the braces of a pass.
absl::StatusOr<std::vector<OptionText>> ParseOptionsText(std::string_view text);

// Returns InvalidArgument "pipeline:LINE:COLUMN: MESSAGE", with the line of the text and a caret
// below it.
absl::Status PipelineError(std::string_view text, size_t offset, std::string_view message);

// The value of an option that is not given; nullopt if its default is of another type.
std::optional<std::vector<std::string>> DefaultOf(const PassOption& option);
// Returns the values of all options of a pass: the given ones, checked against their declarations,
// and defaults. The pass stands at offset `at` of `text`, for errors.
absl::StatusOr<PassOptionValues> ResolveOptions(const PassInfo& info, std::string_view text,
                                                size_t at, const std::vector<OptionText>& given);
// Returns "name=value name2=a,b" in the order of declaration. ParseOptionsText reads it.
std::string FormatOptions(const PassInfo& info, const PassOptionValues& values);

}  // namespace tenon

#endif  // TENON_PASS_PIPELINE_TEXT_H_
