#include "tests/filetest/golden_file.h"

#include <algorithm>
#include <sstream>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "ir/base/text_diff.h"

namespace tenon::filetest {
namespace {

bool IsComment(std::string_view line) { return line.substr(0, 2) == "//"; }
bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}
bool StartsWith(std::string_view line, std::string_view prefix) {
  return line.substr(0, prefix.size()) == prefix;
}

std::string Uncomment(std::string_view line) {
  line.remove_prefix(2);
  if (!line.empty() && line[0] == ' ') line.remove_prefix(1);
  return std::string(line);
}

}  // namespace

bool GoldenFile::Has(std::string_view option) const {
  return std::find(options.begin(), options.end(), option) != options.end();
}

std::vector<std::string> GoldenFile::Values(std::string_view name) const {
  std::vector<std::string> values;
  for (const std::string& option : options) {
    const size_t equals = option.find('=');
    if (equals != std::string::npos && option.substr(0, equals) == name)
      values.push_back(option.substr(equals + 1));
  }
  return values;
}

std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

absl::StatusOr<GoldenFile> ParseGoldenFile(std::string_view text) {
  std::vector<std::string> lines = SplitLines(text);
  GoldenFile file;
  constexpr std::string_view kTest = "// test: ", kOptions = "// options: ";
  if (lines.empty() || !StartsWith(lines[0], kTest)) {
    return absl::InvalidArgumentError(
        "the first line must be `// test: roundtrip`, `verify`, `opt <pipeline>`, …");
  }
  std::string command = lines[0].substr(kTest.size());
  size_t space = command.find(' ');
  file.kind = command.substr(0, space);
  if (space != std::string::npos) file.argument = command.substr(space + 1);
  file.header.push_back(lines[0]);
  size_t i = 1;
  if (i < lines.size() && StartsWith(lines[i], kOptions)) {
    std::istringstream words(lines[i].substr(kOptions.size()));
    for (std::string word; words >> word;) file.options.push_back(word);
    file.header.push_back(lines[i++]);
  }
  std::vector<std::string> before;
  while (i < lines.size()) {
    if (IsBlank(lines[i]) || IsComment(lines[i])) {
      before.push_back(lines[i++]);
      continue;
    }
    Case c;
    c.before = std::move(before);
    before.clear();
    c.first_line = i + 1;
    while (i < lines.size() && !IsBlank(lines[i]) && !IsComment(lines[i]))
      c.code.push_back(lines[i++]);
    while (i < lines.size() && IsComment(lines[i])) c.expected.push_back(Uncomment(lines[i++]));
    file.cases.push_back(std::move(c));
  }
  file.after = std::move(before);
  return file;
}

std::string WriteGoldenFile(const GoldenFile& file) {
  std::string out;
  auto add = [&](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) out += line + "\n";
  };
  add(file.header);
  for (const Case& c : file.cases) {
    add(c.before);
    add(c.code);
    for (const std::string& line : c.expected) out += line.empty() ? "//\n" : "// " + line + "\n";
  }
  add(file.after);
  return out;
}

std::string CodeText(const Case& c) {
  std::string out(c.first_line - 1, '\n');
  for (const std::string& line : c.code) out += line + "\n";
  return out;
}

std::vector<ExpectedError> ExpectedErrors(const Case& c) {
  constexpr std::string_view kError = "// error: ";
  std::vector<ExpectedError> errors;
  for (size_t i = 0; i < c.code.size(); ++i) {
    size_t at = c.code[i].find(kError);
    if (at != std::string::npos)
      errors.push_back({c.first_line + i, c.code[i].substr(at + kError.size())});
  }
  return errors;
}

std::string UnifiedDiff(const std::vector<std::string>& expected,
                        const std::vector<std::string>& actual) {
  return tenon::UnifiedDiff(fmt::format("{}", fmt::join(expected, "\n")),
                            fmt::format("{}", fmt::join(actual, "\n")), "expected", "actual");
}

}  // namespace tenon::filetest
