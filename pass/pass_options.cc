// Typed options of passes: reading, checking, printing.
#include <algorithm>
#include <charconv>
#include <optional>

#include "fmt/format.h"
#include "ir/base/suggest.h"
#include "pass/pipeline_text.h"

namespace tenon {
namespace {

std::string_view TypeName(PassOption::Type type) {
  switch (type) {
    case PassOption::Type::kBool:
      return "true or false";
    case PassOption::Type::kInt:
      return "an integer";
    case PassOption::Type::kCount:
      return "an integer of 0 or more";
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
    case PassOption::Type::kCount:
      return ParseInt(text).value_or(-1) >= 0;
    default:
      return true;
  }
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

}  // namespace

std::optional<std::vector<std::string>> DefaultOf(const PassOption& option) {
  if (option.type != PassOption::Type::kStringList) {
    if (!Fits(option.type, option.default_text)) return std::nullopt;
    return std::vector<std::string>{option.default_text};
  }
  absl::StatusOr<std::vector<OptionText>> parsed = ParseOptionsText("x=" + option.default_text);
  if (!parsed.ok() || parsed->size() != 1) return std::nullopt;
  return std::move(parsed->front().pieces);
}

// The default may be none of the choices ("all of them"), and is written out with the others.
static bool IsChoice(const PassOption& option, const std::string& piece) {
  const auto holds = [&](const std::vector<std::string>& texts) {
    return std::find(texts.begin(), texts.end(), piece) != texts.end();
  };
  return option.choices.empty() || holds(option.choices) || holds(*DefaultOf(option));
}

absl::StatusOr<PassOptionValues> ResolveOptions(const PassInfo& info, std::string_view text,
                                                size_t at, const std::vector<OptionText>& given) {
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
    const bool list = option->type == PassOption::Type::kStringList;
    if (list && !entry.has_value) {
      return PipelineError(
          text, entry.offset,
          fmt::format("option '{}' has no value (expected a list a,b,c)", entry.key));
    }
    const std::vector<std::string> whole(entry.has_value ? 1 : 0, entry.whole);
    for (const std::string& piece : list ? entry.pieces : whole) {
      if (IsChoice(*option, piece)) continue;
      const std::vector<std::string>& choices = option->choices;
      return PipelineError(
          text, entry.value_offset,
          fmt::format("option '{}' has the value '{}' (expected {} of {}){}", entry.key, piece,
                      list ? "some" : "one", fmt::join(choices, ", "), DidYouMean(piece, choices)));
    }
    if (list) {
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
    values = {option->type != PassOption::Type::kBool ? value
              : value == "true" || value == "1"       ? "true"
                                                      : "false"};
  }
  for (const PassOption& option : info.options) {
    if (result.values.count(option.name) != 0) continue;
    if (option.required) {
      return PipelineError(
          text, at,
          fmt::format("pass '{}' needs the option '{}' ({})", info.name, option.name, option.help));
    }
    result.values[option.name] = *DefaultOf(option);
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

namespace {

// The text of an option with one value; null if there is none.
const std::string* Single(const PassOptionValues& values, std::string_view name) {
  const auto found = values.values.find(name);
  const bool single = found != values.values.end() && found->second.size() == 1;
  return single ? &found->second.front() : nullptr;
}

}  // namespace

bool PassOptionValues::GetBool(std::string_view name) const {
  const std::string* text = Single(*this, name);
  if (text == nullptr || !Fits(PassOption::Type::kBool, *text)) NoteWrong(name);
  return text != nullptr && (*text == "true" || *text == "1");
}

int64_t PassOptionValues::GetInt(std::string_view name) const {
  const std::string* text = Single(*this, name);
  const std::optional<int64_t> value = text == nullptr ? std::nullopt : ParseInt(*text);
  if (!value.has_value()) NoteWrong(name);
  return value.value_or(0);
}

std::string PassOptionValues::GetString(std::string_view name) const {
  const std::string* text = Single(*this, name);
  if (text == nullptr) NoteWrong(name);
  return text == nullptr ? std::string() : *text;
}

std::vector<std::string> PassOptionValues::GetStringList(std::string_view name) const {
  const auto found = values.find(name);
  if (found != values.end()) return found->second;
  NoteWrong(name);
  return {};
}

void PassOptionValues::NoteWrong(std::string_view name) const {
  if (wrong_name_.empty()) wrong_name_ = std::string(name);
}

}  // namespace tenon
