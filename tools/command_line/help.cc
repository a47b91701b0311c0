#include "tools/command_line/help.h"

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "ir/base/suggest.h"
#include "tools/command_line/extension_options.h"
#include "tools/command_line/program.h"

namespace tenon::tools {
namespace {

bool IsHeading(const OptionForm& form) { return form.name.empty() && form.value_name.empty(); }

// The lines of all rows. A short help leaves out rare ones and headings without others, and names
// the topic of a heading.
std::string RowsText(const std::vector<OptionForm>& rows, bool is_short) {
  std::string text, heading;
  for (const OptionForm& form : rows) {
    if (IsHeading(form)) {
      heading = is_short ? fmt::format("\n{} (--help={}):\n", form.help, form.alias) : HelpOf(form);
    } else if (!is_short || !form.rare) {
      text += heading + HelpOf(form);
      heading.clear();
    }
  }
  return text;
}

// The topics of headings that a short help lacks.
std::string MoreTopics(const std::vector<OptionForm>& rows) {
  std::string text = "\nMore options: ";
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!IsHeading(rows[i])) continue;
    bool shown = false;
    for (size_t k = i + 1; k < rows.size() && !IsHeading(rows[k]); ++k) shown |= !rows[k].rare;
    if (!shown) text += fmt::format("--help={}, ", rows[i].alias);
  }
  return text + "--help=all\n";
}

std::string PageText(const HelpParts& parts, const std::string& options) {
  return fmt::format("Usage: {}\n\n{}{}\nExit status:\n{}\nExamples:\n{}\nGuides:\n{}", parts.usage,
                     parts.intro, options, parts.statuses, parts.examples, parts.guides);
}

}  // namespace

absl::StatusOr<std::string> HelpIn(std::string_view form, const HelpParts& parts,
                                   const std::vector<OptionForm>& rows,
                                   const std::vector<OptionForm>& more) {
  if (form.empty()) return PageText(parts, RowsText(rows, /*is_short=*/true) + MoreTopics(rows));
  if (form == "all") return PageText(parts, RowsText(rows, /*is_short=*/false));
  std::vector<OptionForm> every = rows;
  every.insert(every.end(), more.begin(), more.end());
  if (form == "man") return ManPage(parts, rows);
  if (form == "bash") return BashCompletion(parts.program, every);
  if (form == "zsh") return ZshCompletion(parts.program, every);
  std::vector<std::string> known = {"all"};
  std::vector<OptionForm> topic;
  bool inside = false;
  for (const OptionForm& row : rows) {
    if (IsHeading(row)) {
      known.emplace_back(row.alias);
      inside = row.alias == form;
    }
    if (inside) topic.push_back(row);
  }
  if (!topic.empty())
    return fmt::format("Usage: {}\n{}", parts.usage, RowsText(topic, /*is_short=*/false));
  known.insert(known.end(), {"man", "bash", "zsh"});
  return absl::InvalidArgumentError(fmt::format("--help is '{}' (expected one of {}){}", form,
                                                fmt::join(known, ", "), DidYouMean(form, known)));
}

int PrintHelp(std::string_view program, std::string_view form,
              const absl::StatusOr<std::string>& help, const Extension* extension) {
  if (!help.ok()) return Fail(program, help.status());
  PrintText(*help);
  if (form.empty() || form == "all") PrintText(PluginHelp(extension));
  return kDone;
}

}  // namespace tenon::tools
