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
#include "frontends/cpp/tenon.h"
#include "ir/base/source_file.h"

namespace tenon::tools {

// The value that an option takes.
enum class Takes : uint8_t {
  kNothing,         // none
  kValue,           // =VALUE, or the next argument; never an empty one
  kFlag,            // nothing, or =true, =false
  kOptional,        // nothing, or =VALUE
  kInput,           // as kValue: FILE, DIR or NAME=FILE that the program reads
  kOutput,          // as kValue: FILE or DIR that the program writes
  kOptionalOutput,  // as kOptional: the same
};

// How often an option may be given.
enum class Times : uint8_t {
  kOnce,  // a second time with another value is an error
  kAny,   // any number of times
};

// One option on a command line. The texts live as long as the arguments.
struct Given {
  std::string option;      // its name without dashes
  std::string_view value;  // empty if there is none
  bool has_value = false;  // true for an empty value, too
  bool on = true;          // kFlag: its value
};

// The spelling of an option and its help: a row without its function.
struct OptionForm {
  std::string_view name;          // without dashes
  std::string_view alias;         // another name of it, or empty; of a heading, its topic
  Takes takes = Takes::kNothing;  // the value that it takes
  std::string_view value_name;    // in the help
  std::string_view help;          // what it does, in a few words
  Times times = Times::kOnce;     // how often it may be given
  bool rare = false;              // left out of a short help
};

// A row of a table. A row without a name is no option: only the help prints it.
template <typename Options>
struct Option {
  OptionForm form;                                              // how it is written
  absl::Status (*apply)(Options& options, const Given& given);  // stores what was given
};

// A row with the heading of the rows that follow. --help=`topic` prints them.
template <typename Options>
constexpr Option<Options> Heading(std::string_view title, std::string_view topic) {
  return {{"", topic, Takes::kNothing, "", title}, nullptr};
}
// A row for the levels -O0 to -O3, which ReadLevel reads.
template <typename Options>
constexpr Option<Options> LevelsRow(std::string_view help) {
  return {{"", "", Takes::kNothing, "-O0 … -O3", help}, nullptr};
}

// Returns "--name", or "-n" for names of one letter and levels like "O2".
std::string WithDashes(std::string_view name);

// Splits an argument that begins with a dash into its name, without dashes, and its value.
Given SplitArgument(std::string_view argument);

// Completes and checks one option by its form. An option that needs a value and has none takes
// `next`, the argument behind it; null if there is none. `used_next` is set to true then.
// InvalidArgument for a value that is missing, superfluous or, for a flag, wrong.
absl::Status TakeValue(const OptionForm& form, const std::string* next, bool& used_next,
                       Given& given);

// The options of a command line, by their names in the table, without flags that are off. Programs
// hold them in a field `given`, so that they can refuse options without effect.
using GivenNames = std::set<std::string, std::less<>>;
// Returns InvalidArgument if one of `others` was given: "--seed has no effect beside --check". An
// empty `others` means all options except `with`, `allowed` and the limits (--max-...).
absl::Status RefuseBeside(const GivenNames& given, std::string_view with,
                          std::initializer_list<std::string_view> others,
                          std::initializer_list<std::string_view> allowed = {});
// Returns InvalidArgument if `name` was given without `has_effect`: "--seed has no effect" and
// `why`.
absl::Status RefuseUnless(const GivenNames& given, bool has_effect, std::string_view name,
                          std::string_view why);

// Finds options that are given twice. For one command line.
class GivenOnce {
 public:
  // Returns InvalidArgument for a kOnce option that had another value before.
  absl::Status Add(const OptionForm& form, const Given& given);

 private:
  std::map<std::string_view, std::string> values_;  // by the name of the row
};

// Finds outputs that would replace each other, or a file that the program reads. For one command
// line. Options that hold one in a field `outputs` can ask about the files of a model, too.
class Outputs {
 public:
  // Takes note of an option whose value may be the name of an input or output.
  void Add(const OptionForm& form, const Given& given);
  // Takes note of an argument that is no option: the program reads it. `-o` may replace it.
  void AddOperand(const std::string& file);
  // Returns InvalidArgument if two options name one output, or an output is an input, in whatever
  // spelling.
  absl::Status Check() const;
  // The same for files that the program has found: those of a model with its external data.
  absl::Status CheckFiles(std::span<const SourceFile> files) const;

 private:
  struct Input {
    std::string file, reader;  // its name, and who reads it: "--rules reads"
    bool replaceable = false;  // by -o
  };
  absl::Status CheckInput(const Input& input) const;

  std::map<std::string, std::string, std::less<>> files_;  // outputs, by name of the option
  std::vector<Input> inputs_;
};

// Returns the lines of a row in the help. Continued lines are indented.
std::string HelpOf(const OptionForm& form);

// Reads an integer from `least` to `most`. This and the functions that follow return
// InvalidArgument for other values, with the option, the value and what was expected.
absl::Status ReadInteger(const Given& given, int64_t least, int64_t most, int64_t& value);
absl::Status ReadCount(const Given& given, int least, int most, int& value);        // likewise
absl::Status ReadNonNegative(const Given& given, double& value);                    // finite
absl::Status ReadSizes(const Given& given, std::map<std::string, int64_t>& sizes);  // a=1,b=128
// Reads "a=1,x=2,3": numbers of each name.
absl::Status ReadShapes(const Given& given, std::map<std::string, std::vector<int64_t>>& shapes);
absl::Status ReadPrecision(const Given& given, Precision& value);  // fp32, bf16 or int8
absl::Status ReadDevice(const Given& given, bool& cuda);           // cpu or cuda

// Reads an option that the table lacks as one of -O0 to -O<kMaxOptLevel>. InvalidArgument for any
// other one, with the nearest of `names`.
absl::Status ReadLevel(const Given& given, const std::vector<std::string>& names, int& level);

// Assigns a field. Always OK, so that a row can be one expression.
inline absl::Status Set(std::string& field, std::string_view value) {
  field = std::string(value);
  return absl::OkStatus();
}
// The same for other types.
template <typename T>
absl::Status Set(T& field, T value) {
  field = value;
  return absl::OkStatus();
}

// The row of --help, for programs with Options::Action::kHelp and the field `help` (HelpIn in
// help.h).
template <typename Options>
constexpr Option<Options> HelpRow() {
  return {{"help", "h", Takes::kOptional, "TOPIC",
           "print this help; TOPIC: that of a heading, or all, man, bash, zsh"},
          [](Options& o, const Given& g) {
            o.action = Options::Action::kHelp;
            return Set(o.help, g.value);
          }};
}
// The row of --version, for programs with Options::Action::kVersion.
template <typename Options>
constexpr Option<Options> VersionRow() {
  return {{"version", "", Takes::kNothing, "", "print the version"},
          [](Options& o, const Given&) { return Set(o.action, Options::Action::kVersion); }};
}

// Splits a list at its commas. An empty text has one empty part.
std::vector<std::string_view> SplitList(std::string_view text);

// Returns the row with this name or alias; null if there is none.
template <typename Options>
const Option<Options>* FindOption(std::span<const Option<Options>> table, std::string_view name) {
  for (const Option<Options>& option : table) {
    if (option.form.name.empty()) continue;
    if (name == option.form.name || (!option.form.alias.empty() && name == option.form.alias))
      return &option;
  }
  return nullptr;
}

// Reads a command line. Applies the options of the table in the order given, and stops at the first
// error. `operand(options, argument)` gets every argument that is no option: "-", arguments without
// a dash, and all behind "--". `other(options, given)` gets options that the table lacks. It must
// refuse those that it does not know.
template <typename Options, typename Operand, typename Other>
absl::Status ReadCommandLine(std::span<const Option<Options>> table,
                             const std::vector<std::string>& arguments, Options& options,
                             Operand&& operand, Other&& other) {
  bool only_operands = false;
  GivenOnce once;
  Outputs outputs;
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
      if (argument != "-") outputs.AddOperand(argument);
    } else {
      Given given = SplitArgument(argument);
      if (const Option<Options>* option = FindOption(table, given.option)) {
        bool used_next = false;
        const std::string* next = i + 1 < arguments.size() ? &arguments[i + 1] : nullptr;
        status = TakeValue(option->form, next, used_next, given);
        if (status.ok()) status = once.Add(option->form, given);
        if (status.ok()) status = option->apply(options, given);
        if (status.ok()) outputs.Add(option->form, given);
        if (status.ok() && given.on) options.given.emplace(option->form.name);
        i += used_next;
      } else {
        status = other(options, given);
      }
    }
    if (!status.ok()) return status;
  }
  if constexpr (requires { options.outputs = outputs; }) options.outputs = outputs;
  return outputs.Check();
}

// Returns the error for an unknown option, with the nearest of `names`.
absl::Status UnknownOption(std::string_view name, const std::vector<std::string>& names);

// Returns the names of all options of a table.
template <typename Options>
std::vector<std::string> NamesOf(std::span<const Option<Options>> table) {
  std::vector<std::string> names;
  for (const Option<Options>& option : table) {
    if (!option.form.name.empty()) names.emplace_back(option.form.name);
  }
  return names;
}

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_OPTION_TABLE_H_
