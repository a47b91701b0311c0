#include "tools/command_line/option_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>

#include "fmt/format.h"
#include "frontends/cpp/passes.h"
#include "ir/base/suggest.h"
#include "ir/base/write_file.h"

namespace tenon::tools {
namespace {

constexpr size_t kHelpColumn = 32;
constexpr size_t kHelpWidth = 100;

template <typename T>
std::optional<T> Number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// How many columns the text takes: bytes that continue a UTF-8 character take none.
size_t Columns(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

bool IsOptional(Takes takes) {
  return takes == Takes::kOptional || takes == Takes::kOptionalOutput;
}

// True if the value cannot be left out.
bool TakesValue(Takes takes) {
  return takes == Takes::kValue || takes == Takes::kInput || takes == Takes::kOutput;
}

// The file or folder that a name stands for, whatever its spelling; empty for devices and pipes.
std::string PlaceOf(const std::string& name) {
  std::error_code error;
  if (!std::filesystem::is_directory(name, error)) return ReplacedPath(name);
  return std::filesystem::canonical(name, error).string();
}

// "--name=VALUE", or "-O0 … -O3".
std::string Label(const OptionForm& form) {
  if (form.name.empty()) return std::string(form.value_name);
  const std::string name = WithDashes(form.name);
  if (IsOptional(form.takes)) return fmt::format("{}[={}]", name, form.value_name);
  if (TakesValue(form.takes)) return fmt::format("{}={}", name, form.value_name);
  return name;
}

bool IsLevel(std::string_view name) { return name.size() == 2 && name[0] == 'O'; }

// A level, or a number that is none, such as O99 and O-1.
bool StartsAsLevel(std::string_view name) {
  return IsLevel(name) || (name.size() > 2 && name[0] == 'O' &&
                           name.find_first_not_of("+-.0123456789", 1) == std::string_view::npos);
}

absl::Status NoSuchLevel(std::string_view name) {
  return absl::InvalidArgumentError(
      fmt::format("there is no level -{} (expected -O0 to -O{})", name, kMaxOptLevel));
}

absl::Status Expected(const Given& given, std::string_view what) {
  return absl::InvalidArgumentError(
      fmt::format("{} is '{}' (expected {})", WithDashes(given.option), given.value, what));
}

}  // namespace

std::string WithDashes(std::string_view name) {
  return fmt::format("{}{}", name.size() == 1 || IsLevel(name) ? "-" : "--", name);
}

Given SplitArgument(std::string_view argument) {
  // "-j2", as for make.
  if (argument.size() > 2 && argument.starts_with("-j") &&
      argument.find_first_not_of("0123456789", 2) == std::string_view::npos) {
    return {.option = "j", .value = argument.substr(2), .has_value = true};
  }
  argument.remove_prefix(argument.size() > 1 && argument[1] == '-' ? 2 : 1);
  const size_t equals = argument.find('=');
  Given given;
  given.option = std::string(argument.substr(0, equals));
  given.has_value = equals != std::string_view::npos;
  if (given.has_value) given.value = argument.substr(equals + 1);
  return given;
}

absl::Status TakeValue(const OptionForm& form, const std::string* next, bool& used_next,
                       Given& given) {
  used_next = false;
  switch (form.takes) {
    case Takes::kOptional:
    case Takes::kOptionalOutput:
      if (!given.has_value || !given.value.empty()) return absl::OkStatus();
      return absl::InvalidArgumentError(
          fmt::format("{}= needs a value ({})", WithDashes(given.option), form.value_name));
    case Takes::kNothing:
      if (!given.has_value) return absl::OkStatus();
      return absl::InvalidArgumentError(fmt::format("{} takes no value", WithDashes(given.option)));
    case Takes::kFlag:
      if (!given.has_value) return absl::OkStatus();
      given.on = given.value == "true" || given.value == "1";
      if (given.on || given.value == "false" || given.value == "0") return absl::OkStatus();
      return Expected(given, "true or false");
    case Takes::kValue:
    case Takes::kInput:
    case Takes::kOutput:
      if (!given.has_value && next != nullptr) {
        given.value = *next;
        given.has_value = used_next = true;
      }
      if (!given.value.empty()) return absl::OkStatus();
      return absl::InvalidArgumentError(
          fmt::format("{} needs a value ({})", WithDashes(given.option), form.value_name));
  }
  return absl::OkStatus();
}

absl::Status GivenOnce::Add(const OptionForm& form, const Given& given) {
  if (form.times == Times::kAny) return absl::OkStatus();
  const std::string value =
      form.takes == Takes::kFlag ? (given.on ? "true" : "false") : std::string(given.value);
  const auto [before, is_new] = values_.emplace(form.name, value);
  if (is_new || before->second == value) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{} is given twice: '{}', then '{}' (expected once)", WithDashes(given.option),
                  before->second, value));
}

void Outputs::Add(const OptionForm& form, const Given& given) {
  if (given.value.empty() || given.value == "-") return;
  std::string_view file = given.value;
  if (form.takes == Takes::kInput) {
    if (form.value_name.starts_with("NAME=")) file.remove_prefix(file.find('=') + 1);
    inputs_.push_back({std::string(file), fmt::format("{} reads", WithDashes(form.name))});
  } else if (form.takes == Takes::kOutput || form.takes == Takes::kOptionalOutput) {
    files_.insert_or_assign(std::string(form.name), std::string(file));
  }
}

void Outputs::AddOperand(const std::string& file) {
  inputs_.push_back({file, "is the input", true});
}

absl::Status Outputs::CheckInput(const Input& input) const {
  const std::string place = PlaceOf(input.file);
  if (place.empty()) return absl::OkStatus();
  for (const auto& [option, file] : files_) {
    if ((input.replaceable && option == "o") || PlaceOf(file) != place) continue;
    return absl::InvalidArgumentError(
        fmt::format("{} would replace {}, which {} (expected another "
                    "name)",
                    WithDashes(option), file, input.reader));
  }
  return absl::OkStatus();
}

absl::Status Outputs::CheckFiles(std::span<const SourceFile> files) const {
  for (const SourceFile& file : files) {
    if (file.path.empty()) continue;
    const bool is_operand = std::any_of(inputs_.begin(), inputs_.end(), [&](const Input& input) {
      return input.replaceable && PlaceOf(input.file) == PlaceOf(file.path);
    });
    const absl::Status status = CheckInput({file.path, "the model needs", is_operand});
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Outputs::Check() const {
  std::map<std::string, std::string> options;  // by file
  for (const auto& [option, file] : files_) {
    const std::string place = PlaceOf(file);
    if (place.empty()) continue;
    const auto [other, is_new] = options.emplace(place, option);
    if (is_new) continue;
    return absl::InvalidArgumentError(fmt::format("{} and {} both write {} (expected two files)",
                                                  WithDashes(other->second), WithDashes(option),
                                                  file));
  }
  for (const Input& input : inputs_) {
    if (absl::Status status = CheckInput(input); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status RefuseBeside(const GivenNames& given, std::string_view with,
                          std::initializer_list<std::string_view> others,
                          std::initializer_list<std::string_view> allowed) {
  const auto in = [](std::initializer_list<std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::string& name : given) {
    const bool refused = others.size() > 0
                             ? in(others, name)
                             : name != with && !name.starts_with("max-") && !in(allowed, name);
    if (!refused) continue;
    return absl::InvalidArgumentError(
        fmt::format("{} has no effect beside {}", WithDashes(name), WithDashes(with)));
  }
  return absl::OkStatus();
}

absl::Status RefuseUnless(const GivenNames& given, bool has_effect, std::string_view name,
                          std::string_view why) {
  if (has_effect || given.count(name) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{} has no effect {}", WithDashes(name), why));
}

std::string HelpOf(const OptionForm& form) {
  if (form.name.empty() && form.value_name.empty()) return fmt::format("\n{}:\n", form.help);
  std::string text = "  " + Label(form);
  const size_t used = Columns(text);
  const std::string indent(kHelpColumn, ' ');
  text += used + 2 <= kHelpColumn ? std::string(kHelpColumn - used, ' ') : "\n" + indent;
  std::string help(form.help);
  if (form.alias.size() > 1) help += fmt::format(" [--{}]", form.alias);
  size_t column = kHelpColumn;
  std::string_view rest = help;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    if (column > kHelpColumn && column + 1 + word.size() > kHelpWidth) {
      text += "\n" + indent;
      column = kHelpColumn;
    }
    if (column > kHelpColumn) {
      text += ' ';
      ++column;
    }
    text += word;
    column += word.size();
  }
  return text + "\n";
}

absl::Status ReadInteger(const Given& given, int64_t least, int64_t most, int64_t& value) {
  const std::optional<int64_t> number = Number<int64_t>(given.value);
  if (!number || *number < least || *number > most)
    return Expected(given, fmt::format("an integer from {} to {}", least, most));
  value = *number;
  return absl::OkStatus();
}

absl::Status ReadCount(const Given& given, int least, int most, int& value) {
  int64_t number = 0;
  const absl::Status status = ReadInteger(given, least, most, number);
  if (status.ok()) value = static_cast<int>(number);
  return status;
}

absl::Status ReadDevice(const Given& given, bool& cuda) {
  if (given.value != "cpu" && given.value != "cuda") return Expected(given, "cpu or cuda");
  return Set(cuda, given.value == "cuda");
}

absl::Status ReadNonNegative(const Given& given, double& value) {
  const std::optional<double> number = Number<double>(given.value);
  constexpr double kMost = 1e9;  // years of seconds
  if (!number || !(*number >= 0 && *number <= kMost))
    return Expected(given, "a number from 0 to 1e9");
  value = *number;
  return absl::OkStatus();
}

absl::Status ReadSizes(const Given& given, std::map<std::string, int64_t>& sizes) {
  for (std::string_view entry : SplitList(given.value)) {
    const size_t equals = entry.rfind('=');
    const std::optional<int64_t> size =
        equals == std::string_view::npos ? std::nullopt : Number<int64_t>(entry.substr(equals + 1));
    if (!size || *size < 0 || equals == 0) {
      return absl::InvalidArgumentError(fmt::format(
          "{} has '{}' (expected sizes like batch=1,seq=128)", WithDashes(given.option), entry));
    }
    const std::string name(entry.substr(0, equals));
    const auto [known, is_new] = sizes.emplace(name, *size);
    if (!is_new && known->second != *size) {
      return absl::InvalidArgumentError(
          fmt::format("{} says that {} is {}, and before that it is {}", WithDashes(given.option),
                      name, *size, known->second));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadShapes(const Given& given, std::map<std::string, std::vector<int64_t>>& shapes) {
  std::map<std::string, std::vector<int64_t>> read;
  std::vector<int64_t>* numbers = nullptr;  // of the name before
  for (std::string_view entry : SplitList(given.value)) {
    const size_t equals = entry.rfind('=');
    if (equals != std::string_view::npos) {
      const auto [name, is_new] = read.emplace(entry.substr(0, equals), std::vector<int64_t>());
      numbers = is_new && equals != 0 ? &name->second : nullptr;
      entry.remove_prefix(equals + 1);
    }
    const std::optional<int64_t> size = Number<int64_t>(entry);
    if (!size || *size < 0 || numbers == nullptr) {
      return absl::InvalidArgumentError(
          fmt::format("{} is '{}' (expected sizes like batch=1,input_ids=2,128, each name once)",
                      WithDashes(given.option), given.value));
    }
    numbers->push_back(*size);
  }
  for (auto& [name, sizes] : read) {
    const auto [known, is_new] = shapes.emplace(name, sizes);
    if (!is_new && known->second != sizes) {
      return absl::InvalidArgumentError(
          fmt::format("{} gives '{}' two different sizes", WithDashes(given.option), name));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadPrecision(const Given& given, Precision& value) {
  std::string names;
  for (Precision precision : kPrecisions) {
    if (Name(precision) == given.value) {
      value = precision;
      return absl::OkStatus();
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", Name(precision));
  }
  return Expected(given, fmt::format("one of {}", names));
}

absl::Status ReadLevel(const Given& given, const std::vector<std::string>& names, int& level) {
  if (!StartsAsLevel(given.option) || given.has_value) return UnknownOption(given.option, names);
  const int number = IsLevel(given.option) ? given.option[1] - '0' : -1;
  if (number < 0 || number > kMaxOptLevel) return NoSuchLevel(given.option);
  level = number;
  return absl::OkStatus();
}

std::vector<std::string_view> SplitList(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

absl::Status UnknownOption(std::string_view name, const std::vector<std::string>& names) {
  const bool has_levels = std::find(names.begin(), names.end(), "O0") != names.end();
  if (has_levels && StartsAsLevel(name)) return NoSuchLevel(name);
  if (name.empty())
    return absl::InvalidArgumentError("an option without a name (--help lists the options)");
  const std::string_view nearest = Nearest(name, names);
  return absl::InvalidArgumentError(
      nearest.empty()
          ? fmt::format("unknown option '{}' (--help lists the options)", WithDashes(name))
          : fmt::format("unknown option '{}'; did you mean '{}'?", WithDashes(name),
                        WithDashes(nearest)));
}

}  // namespace tenon::tools
