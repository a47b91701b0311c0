// Typed options of passes: reading, checking, printing.
#include <algorithm>
#include <charconv>
#include <optional>

#include "fmt/format.h"
#include "ir/core/suggest.h"
#include "pass/pipeline_text.h"

namespace tenon {
namespace {

std::string_view TypeName(PassOption::Type type) {
  switch (type) {
    case PassOption::Type::kBool:
      return "true or false";
    case PassOption::Type::kInt:
      return "an integer";
    case PassOption::Type::kString:
      return "text";
    case PassOption::Type::kStringList:
      return "a list a,b,c";
  }
  return "";
}

std::optional<int64_t> ParseInt(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool Fits(PassOption::Type type, std::string_view text) {
  switch (type) {
    case PassOption::Type::kBool:
      return text == "true" || text == "false" || text == "1" || text == "0";
    case PassOption::Type::kInt:
      return ParseInt(text).has_value();
    default:
      return true;
  }
}

std::vector<std::string> DefaultOf(const PassOption& option) {
  if (option.type != PassOption::Type::kStringList) return {option.default_text};
  absl::StatusOr<std::vector<OptionText>> parsed = ParseOptionsText("x=" + option.default_text);
  TENON_CHECK_MSG(parsed.ok(), "the default of a pass option is malformed");
  return parsed->front().pieces;
}

const PassOption* FindOption(const PassInfo& info, std::string_view name) {
  for (const PassOption& option : info.options) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

std::string Quoted(const std::string& piece) {
  const bool plain = !piece.empty() && piece.find_first_of(" \t\r\n,{}\"'\\") == std::string::npos;
  if (plain) return piece;
  std::string text = "\"";
  for (char c : piece) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

// The default may be none of the choices ("all of them"), and is written out with the others.
bool IsChoice(const PassOption& option, const std::string& value) {
  const std::vector<std::string>& choices = option.choices;
  return choices.empty() || value == option.default_text ||
         std::find(choices.begin(), choices.end(), value) != choices.end();
}

}  // namespace

absl::StatusOr<PassOptionValues> ResolveOptions(const PassInfo& info, std::string_view text,
                                                const std::vector<OptionText>& given) {
  PassOptionValues result;
  std::vector<std::string> names;
  for (const PassOption& option : info.options) names.push_back(option.name);
  for (const OptionText& entry : given) {
    const PassOption* option = FindOption(info, entry.key);
    if (option == nullptr) {
      return PipelineError(
          text, entry.offset,
          fmt::format("pass '{}' has no option '{}' ({}{})", info.name, entry.key,
                      names.empty() ? std::string("it has none")
                                    : fmt::format("expected one of {}", fmt::join(names, ", ")),
                      DidYouMean(entry.key, names)));
    }
    if (result.values.count(entry.key) != 0) {
      return PipelineError(text, entry.offset,
                           fmt::format("option '{}' is given twice", entry.key));
    }
    std::vector<std::string>& values = result.values[entry.key];
    if (option->type == PassOption::Type::kStringList) {
      if (!entry.has_value) {
        return PipelineError(
            text, entry.offset,
            fmt::format("option '{}' has no value (expected a list a,b,c)", entry.key));
      }
      for (const std::string& piece : entry.pieces) {
        if (IsChoice(*option, piece)) continue;
        return PipelineError(
            text, entry.value_offset,
            fmt::format("option '{}' has the value '{}' (expected some of {}){}", entry.key, piece,
                        fmt::join(option->choices, ", "), DidYouMean(piece, option->choices)));
      }
      values = entry.pieces;
      continue;
    }
    const std::string value = entry.has_value ? entry.whole : "true";
    const bool missing = !entry.has_value && option->type != PassOption::Type::kBool;
    if (missing || !Fits(option->type, value)) {
      const size_t at = entry.has_value ? entry.value_offset : entry.offset;
      const std::string what = missing ? "no value" : fmt::format("the value '{}'", value);
      return PipelineError(
          text, at,
          fmt::format("option '{}' has {} (expected {})", entry.key, what, TypeName(option->type)));
    }
    if (!IsChoice(*option, value)) {
      return PipelineError(
          text, entry.value_offset,
          fmt::format("option '{}' has the value '{}' (expected one of {}){}", entry.key, value,
                      fmt::join(option->choices, ", "), DidYouMean(value, option->choices)));
    }
    values = {option->type != PassOption::Type::kBool ? value
              : value == "true" || value == "1"       ? "true"
                                                      : "false"};
  }
  for (const PassOption& option : info.options) {
    if (result.values.count(option.name) == 0) result.values[option.name] = DefaultOf(option);
  }
  return result;
}

std::string FormatOptions(const PassInfo& info, const PassOptionValues& values) {
  std::string text;
  for (const PassOption& option : info.options) {
    const auto found = values.values.find(option.name);
    if (found == values.values.end()) continue;
    if (!text.empty()) text += ' ';
    text += option.name + '=';
    for (size_t i = 0; i < found->second.size(); ++i) {
      if (i > 0) text += ',';
      text += Quoted(found->second[i]);
    }
  }
  return text;
}

bool PassOptionValues::GetBool(std::string_view name) const { return GetString(name) == "true"; }

int64_t PassOptionValues::GetInt(std::string_view name) const {
  const std::optional<int64_t> value = ParseInt(GetString(name));
  TENON_CHECK_MSG(value.has_value(), name);
  return *value;
}

std::string PassOptionValues::GetString(std::string_view name) const {
  const auto found = values.find(name);
  TENON_CHECK_MSG(found != values.end() && found->second.size() == 1, name);
  return found->second.front();
}

std::vector<std::string> PassOptionValues::GetStringList(std::string_view name) const {
  const auto found = values.find(name);
  TENON_CHECK_MSG(found != values.end(), name);
  return found->second;
}

}  // namespace tenon
