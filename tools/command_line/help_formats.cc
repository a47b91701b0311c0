// The help as a manual page, and as scripts that complete command lines.
#include <algorithm>

#include "fmt/format.h"
#include "frontends/cpp/passes.h"
#include "frontends/cpp/version.h"
#include "tools/command_line/help.h"

namespace tenon::tools {
namespace {

bool TakesValue(const OptionForm& form) {
  return form.takes != Takes::kNothing && form.takes != Takes::kFlag;
}

bool MayLackValue(const OptionForm& form) {
  return form.takes == Takes::kOptional || form.takes == Takes::kOptionalOutput;
}

// The words that a value may be, separated by spaces; empty if it may be anything.
std::string ChoicesOf(const OptionForm& form) {
  if (form.value_name.find('|') == std::string_view::npos) return "";
  std::string words(form.value_name);
  std::replace(words.begin(), words.end(), '|', ' ');
  return words;
}

// A row of levels as flags: "O0", "O1", ….
std::vector<std::string> NamesOf(const OptionForm& form) {
  std::vector<std::string> names;
  if (!form.name.empty()) {
    names.emplace_back(form.name);
    if (!form.alias.empty()) names.emplace_back(form.alias);
  } else if (form.value_name.starts_with("-O0")) {
    for (int level = 0; level <= kMaxOptLevel; ++level) names.push_back(fmt::format("O{}", level));
  }
  return names;
}

// ---- the manual page

// Text for groff. Terminals without UTF-8 lack the ellipsis.
std::string RoffText(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool starts_line = i == 0 || text[i - 1] == '\n';
    if (starts_line && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\') {
      out += "\\e";
    } else if (text[i] == '-') {
      out += "\\-";
    } else if (text[i] == '\'') {
      out += "\\(aq";
    } else if (byte < 0x80) {
      out += text[i];
    } else {
      const size_t size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      uint32_t code = byte & (0xffU >> (size + 1));
      for (size_t k = 1; k < size && i + 1 < text.size(); ++k)
        code = (code << 6U) | (static_cast<unsigned char>(text[++i]) & 0x3fU);
      out += code == 0x2026 ? "..." : fmt::format("\\[u{:04X}]", code);
    }
  }
  return out;
}

std::string RoffOption(const OptionForm& form) {
  if (form.name.empty()) return fmt::format("\\fB{}\\fR", RoffText(form.value_name));
  std::string text = fmt::format("\\fB{}\\fR", RoffText(WithDashes(form.name)));
  const std::string value = fmt::format("=\\fI{}\\fR", RoffText(form.value_name));
  if (TakesValue(form)) text += MayLackValue(form) ? fmt::format("[{}]", value) : value;
  if (!form.alias.empty()) text += fmt::format(", \\fB{}\\fR", RoffText(WithDashes(form.alias)));
  return text;
}

// Lines as they are, which is what examples and statuses need.
std::string RoffLines(std::string_view lines) {
  return fmt::format(".nf\n{}.fi\n", RoffText(lines));
}

// ---- completion

// In single quotes, for both shells.
std::string ShellQuoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// A text inside of a specification of _arguments.
std::string ZshText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string FunctionOf(std::string_view program) {
  std::string name = fmt::format("_{}", program);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace

std::string ManPage(const HelpParts& parts, const std::vector<OptionForm>& rows) {
  std::string title(parts.program);
  std::transform(title.begin(), title.end(), title.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const std::string_view first = parts.intro.substr(0, parts.intro.find_first_of(".\n"));
  std::string text = fmt::format(
      ".TH {} 1 \"\" \"Tenon {}\" \"Tenon\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n"
      ".SH DESCRIPTION\n{}.SH OPTIONS\n",
      title, TENON_VERSION, RoffText(parts.program), RoffText(first), RoffText(parts.usage),
      RoffText(parts.intro));
  for (const OptionForm& form : rows) {
    if (form.name.empty() && form.value_name.empty()) {
      text += fmt::format(".SS {}\n", RoffText(form.help));
    } else {
      text += fmt::format(".TP\n{}\n{}\n", RoffOption(form), RoffText(form.help));
    }
  }
  return text + ".SH \"EXIT STATUS\"\n" + RoffLines(parts.statuses) + ".SH EXAMPLES\n" +
         RoffLines(parts.examples) + ".SH \"SEE ALSO\"\n" + RoffLines(parts.guides);
}

std::string BashCompletion(std::string_view program, const std::vector<OptionForm>& rows) {
  std::string flags, cases, files;
  for (const OptionForm& form : rows) {
    const std::string choices = ChoicesOf(form);
    for (const std::string& name : NamesOf(form)) {
      const std::string option = WithDashes(name);
      // Where a value may be missing, both ways are offered.
      if (!TakesValue(form) || MayLackValue(form)) flags += option + ' ';
      if (TakesValue(form)) flags += option + "= ";
      if (!choices.empty())
        cases += fmt::format("    {}) COMPREPLY=($(compgen -W {} -- \"$word\")) ;;\n", option,
                             ShellQuoted(choices));
    }
  }
  return fmt::format(R"(# Completion of {0} for bash. Made by {0} --help=bash.
{1}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} option=''
  COMPREPLY=()
  # A value stands behind "=", which bash takes for a word.
  if [[ $word == '=' ]]; then
    option=${{COMP_WORDS[COMP_CWORD-1]}}
    word=''
  elif (( COMP_CWORD >= 2 )) && [[ ${{COMP_WORDS[COMP_CWORD-1]}} == '=' ]]; then
    option=${{COMP_WORDS[COMP_CWORD-2]}}
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W {2} -- "$word"))
    [[ ${{#COMPREPLY[@]}} == 1 && ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace 2>/dev/null
    return
  fi
  case $option in
{3}    *) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -F {1} {0}
)",
                     program, FunctionOf(program), ShellQuoted(flags), cases);
}

std::string ZshCompletion(std::string_view program, const std::vector<OptionForm>& rows) {
  std::string specs;
  for (const OptionForm& form : rows) {
    const std::string choices = ChoicesOf(form);
    const std::string action = choices.empty() ? "_files" : fmt::format("({})", choices);
    for (const std::string& name : NamesOf(form)) {
      std::string spec = form.times == Times::kAny ? "*" : "";
      spec += WithDashes(name) + (TakesValue(form) ? "=" : "");
      spec += fmt::format("[{}]", ZshText(form.help));
      if (TakesValue(form))
        spec += fmt::format("{}{}:{}", MayLackValue(form) ? "::" : ":", ZshText(form.value_name),
                            action);
      specs += fmt::format("  {} \\\n", ShellQuoted(spec));
    }
  }
  return fmt::format(
      "#compdef {0}\n# Completion of {0} for zsh. Made by {0} --help=zsh.\n"
      "_arguments -S \\\n{1}  '*:file:_files'\n",
      program, specs);
}

}  // namespace tenon::tools
