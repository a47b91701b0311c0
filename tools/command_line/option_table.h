// Command lines of the programs as tables. A row is an option. The table reads the command line and
// prints the help.
#ifndef TENON_TOOLS_COMMAND_LINE_OPTION_TABLE_H_
#define TENON_TOOLS_COMMAND_LINE_OPTION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/api/tenon.h"

namespace tenon::tools {

enum class Takes : uint8_t {
  kNothing,
  kValue,     // =VALUE, or the next argument; never an empty one
  kFlag,      // nothing, or =true, =false
  kOptional,  // nothing, or =VALUE
};

enum class Times : uint8_t {
  kOnce,  // given again with another value it is an error
  kAny,
};

// What one option was given. The texts live as long as the arguments.
struct Given {
  std::string option;      // its name without dashes
  std::string_view value;  // empty if there is none
  bool has_value = false;
  bool on = true;  // of kFlag
};

// How an option is written: all of a row but what it does.
struct OptionForm {
  std::string_view name;   // without dashes
  std::string_view alias;  // another name of it, or empty
  Takes takes = Takes::kNothing;
  std::string_view value_name;  // in the help
  std::string_view help;
  Times times = Times::kOnce;
  bool rare = false;  // left out of a short help
};

// A row without a name is no option: it is only printed in the help.
template <typename Options>
struct Option {
  OptionForm form;
  absl::Status (*apply)(Options& options, const Given& given);
};

// The heading of the rows that follow.
template <typename Options>
constexpr Option<Options> Heading(std::string_view title) {
  return {{"", "", Takes::kNothing, "", title}, nullptr};
}
// The levels -O0 to -O3, which the program reads itself.
template <typename Options>
constexpr Option<Options> LevelsRow(std::string_view help) {
  return {{"", "", Takes::kNothing, "-O0 … -O3", help}, nullptr};
}

// "--name", or "-n" for names of one letter and levels like "O2".
std::string WithDashes(std::string_view name);

// Splits an argument that begins with a dash into its name, without dashes, and its value.
Given SplitArgument(std::string_view argument);

// Takes the value of an option from `next` (the argument behind it, or null) if it needs one and
// has none, and checks what was given against the form. `used_next` says that the next argument was
// the value.
absl::Status TakeValue(const OptionForm& form, const std::string* next, bool& used_next,
                       Given& given);

// The options of a line by their names in the table, without flags that are off: a program that has
// them in a field `given` can refuse what would have no effect.
using GivenNames = std::set<std::string, std::less<>>;
// InvalidArgument for the first of `others` that was given: "--seed has no effect beside --check".
// All of them if `others` is empty, but for `allowed`, `with` itself, and limits (--max-...), which
// are harmless everywhere.
absl::Status RefuseBeside(const GivenNames& given, std::string_view with,
                          std::initializer_list<std::string_view> others,
                          std::initializer_list<std::string_view> allowed = {});
// InvalidArgument if `name` was given: "--seed has no effect" and why.
absl::Status RefuseUnless(const GivenNames& given, bool has_effect, std::string_view name,
                          std::string_view why);

// What options that go on a line once were given.
class GivenOnce {
 public:
  // Refuses an option that was given another value before.
  absl::Status Add(const OptionForm& form, const Given& given);

 private:
  std::map<std::string_view, std::string> values_;  // by the name of the row
};

// The lines of a row in the help. Continued lines are indented as far.
std::string HelpOf(const OptionForm& form);

// What a help text says beside its options.
struct HelpParts {
  std::string_view usage;     // "ir-run MODEL [options]"
  std::string_view intro;     // what the program does, and what its operands are
  std::string_view options;   // HelpOf(table)
  std::string_view statuses;  // lines "  0  done"
  std::string_view examples;  // lines "  command  # what it does"
  std::string_view guides;    // lines with pages of the documentation
};
std::string HelpText(const HelpParts& parts);

// Readers of values. Each returns InvalidArgument with the option, the value and what was expected.
absl::Status ReadInteger(const Given& given, int64_t least, int64_t most, int64_t& value);
absl::Status ReadCount(const Given& given, int least, int most, int& value);
absl::Status ReadNonNegative(const Given& given, double& value);                    // finite
absl::Status ReadSizes(const Given& given, std::map<std::string, int64_t>& sizes);  // a=1,b=128
absl::Status ReadPrecision(const Given& given, Precision& value);
absl::Status ReadDevice(const Given& given, bool& cuda);  // cpu or cuda
absl::Status ReadHelp(const Given& given, bool& all);     // nothing or all

// For options that no table has: one of -O0 to -O<kMaxOptLevel>, or InvalidArgument, with the
// nearest of `names` for what is no level at all.
absl::Status ReadLevel(const Given& given, const std::vector<std::string>& names, int& level);

// So that a row can be one expression.
inline absl::Status Set(std::string& field, std::string_view value) {
  field = std::string(value);
  return absl::OkStatus();
}
template <typename T>
absl::Status Set(T& field, T value) {
  field = value;
  return absl::OkStatus();
}

// Rows that every program has: --help and --version are actions of it, `help_all` is a field.
template <typename Options>
constexpr Option<Options> HelpRow() {
  return {{"help", "h", Takes::kOptional, "all", "print this help; all: with rarely used options"},
          [](Options& o, const Given& g) {
            o.action = Options::Action::kHelp;
            return ReadHelp(g, o.help_all);
          }};
}
template <typename Options>
constexpr Option<Options> VersionRow() {
  return {{"version", "", Takes::kNothing, "", "print the version"},
          [](Options& o, const Given&) { return Set(o.action, Options::Action::kVersion); }};
}

// The parts of a list with commas; one empty part for an empty text.
std::vector<std::string_view> SplitList(std::string_view text);

template <typename Options>
const Option<Options>* FindOption(std::span<const Option<Options>> table, std::string_view name) {
  for (const Option<Options>& option : table) {
    if (option.form.name.empty()) continue;
    if (name == option.form.name || (!option.form.alias.empty() && name == option.form.alias))
      return &option;
  }
  return nullptr;
}

// Reads a whole line: options by the table, in their order. `operand(options, argument)` gets what
// is no option: "-", what does not begin with a dash, and everything behind "--". Options that the
// table lacks go to `other(options, given)`, by name and value, which refuses those that it does
// not know either.
template <typename Options, typename Operand, typename Other>
absl::Status ReadCommandLine(std::span<const Option<Options>> table,
                             const std::vector<std::string>& arguments, Options& options,
                             Operand&& operand, Other&& other) {
  bool only_operands = false;
  GivenOnce once;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!only_operands && argument == "--") {
      only_operands = true;
      continue;
    }
    if (argument.empty()) return absl::InvalidArgumentError("an empty argument (expected a file)");
    absl::Status status;
    if (only_operands || argument == "-" || argument[0] != '-') {
      status = operand(options, argument);
    } else {
      Given given = SplitArgument(argument);
      if (const Option<Options>* option = FindOption(table, given.option)) {
        bool used_next = false;
        const std::string* next = i + 1 < arguments.size() ? &arguments[i + 1] : nullptr;
        status = TakeValue(option->form, next, used_next, given);
        if (status.ok()) status = once.Add(option->form, given);
        if (status.ok()) status = option->apply(options, given);
        if (status.ok() && given.on) options.given.emplace(option->form.name);
        i += used_next;
      } else {
        status = other(options, given);
      }
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// What to say of an option that nobody knows; `names` are those that the user may have meant.
absl::Status UnknownOption(std::string_view name, const std::vector<std::string>& names);

template <typename Options>
std::vector<std::string> NamesOf(std::span<const Option<Options>> table) {
  std::vector<std::string> names;
  for (const Option<Options>& option : table) {
    if (!option.form.name.empty()) names.emplace_back(option.form.name);
  }
  return names;
}

// The short help leaves out rare options, and headings without others.
template <typename Options>
std::string HelpOf(std::span<const Option<Options>> table, bool is_short = false) {
  std::string text, heading;
  for (const Option<Options>& option : table) {
    const OptionForm& form = option.form;
    if (form.name.empty() && form.value_name.empty()) {
      heading = HelpOf(form);
    } else if (!is_short || !form.rare) {
      text += heading + HelpOf(form);
      heading.clear();
    }
  }
  return text;
}

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_OPTION_TABLE_H_
