// The help of a program in all its forms, from its table of options: --help=….
#ifndef TENON_TOOLS_COMMAND_LINE_HELP_H_
#define TENON_TOOLS_COMMAND_LINE_HELP_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/command_line/option_table.h"

namespace tenon {
struct Extension;
}

namespace tenon::tools {

// The parts of a help text.
struct HelpParts {
  std::string_view program;   // "ir-run"
  std::string_view usage;     // "ir-run MODEL [options]"
  std::string_view intro;     // what the program does, and what its operands are
  std::string_view statuses;  // lines "  0  done"
  std::string_view examples;  // lines "  command  # what it does"
  std::string_view guides;    // lines with pages of the documentation
};

// Returns the help that `form` asks for. `rows` is the table of options with its headings; `more`
// are flags that the table lacks, such as passes.
//
//   ""             the options that most people need, on one screen
//   "all"          all options
//   a topic        all options under the heading with that topic (Heading)
//   "man"          a manual page in roff
//   "bash", "zsh"  a script that completes the command line
//
// InvalidArgument, with all forms, for another one.
absl::StatusOr<std::string> HelpIn(std::string_view form, const HelpParts& parts,
                                   const std::vector<OptionForm>& rows,
                                   const std::vector<OptionForm>& more = {});

// Returns the rows of a table without their functions.
template <typename Options>
std::vector<OptionForm> FormsOf(std::span<const Option<Options>> table) {
  std::vector<OptionForm> forms;
  for (const Option<Options>& option : table) forms.push_back(option.form);
  return forms;
}

// Prints the help, and behind a text for readers what plugins add to it. Returns the exit status.
int PrintHelp(std::string_view program, std::string_view form,
              const absl::StatusOr<std::string>& help, const Extension* extension);

// The next three make one form each. Rows without a name are headings, or stand for levels.
std::string ManPage(const HelpParts& parts, const std::vector<OptionForm>& rows);
std::string BashCompletion(std::string_view program, const std::vector<OptionForm>& rows);
std::string ZshCompletion(std::string_view program, const std::vector<OptionForm>& rows);

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_HELP_H_
