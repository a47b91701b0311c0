#include "tools/ir-opt/expected_diagnostics.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include "fmt/format.h"
#include "ir/core/location.h"
#ifdef TENON_HAVE_RE2
#include <re2/re2.h>
#endif

namespace tenon::ir_opt {
namespace {

constexpr std::string_view kSeverities[] = {"error", "warning", "remark", "note"};

bool Take(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool TakeNumber(std::string_view& text, uint32_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

void SkipSpace(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

// The text up to the braces that close, which are taken, too; nullopt if there are none. Braces
// nest where `expression` is not 0. At that depth and below they hold expressions. Of an odd number
// of braces that close there, the first belongs to the expression: {{a{2}}}.
std::optional<std::string_view> TakeBraced(std::string_view& rest, int expression) {
  int depth = 1;
  for (size_t at = 0; at + 1 < rest.size(); ++at) {
    const std::string_view two = rest.substr(at, 2);
    if (two == "{{" && expression > 0) {
      ++depth;
      ++at;
    } else if (two == "}}") {
      const size_t run = std::min(rest.find_first_not_of('}', at), rest.size()) - at;
      if (expression > 0 && depth >= expression && run % 2 == 1) ++at;
      if (--depth == 0) {
        const std::string_view text = rest.substr(0, at);
        rest.remove_prefix(at + 2);
        return text;
      }
      ++at;
    }
  }
  return std::nullopt;
}

// Compiles a part of a message in which inner braces hold regular expressions.
absl::Status SetRegex(ExpectedDiagnostic& expected) {
#ifdef TENON_HAVE_RE2
  std::string pattern;
  std::string_view rest = expected.text;
  while (!rest.empty()) {
    const size_t open = std::min(rest.find("{{"), rest.size());
    const std::string_view plain = rest.substr(0, open);
    pattern += RE2::QuoteMeta(re2::StringPiece(plain.data(), plain.size()));
    rest.remove_prefix(open);
    if (!Take(rest, "{{")) break;
    const std::optional<std::string_view> inner = TakeBraced(rest, 1);
    pattern += fmt::format("(?:{})", inner.value_or(rest));
    if (!inner) break;
  }
  RE2::Options quiet;
  quiet.set_log_errors(false);
  const auto regex = std::make_shared<const RE2>(pattern, quiet);
  if (!regex->ok()) return absl::InvalidArgumentError(regex->error());
  expected.matches = [regex](std::string_view message) {
    return RE2::PartialMatch(re2::StringPiece(message.data(), message.size()), *regex);
  };
  return absl::OkStatus();
#else
  (void)expected;
  return absl::UnimplementedError("this build has no RE2 (expected libre2-dev where it is built)");
#endif
}

// After "expected-". False if malformed.
bool ParseOne(std::string_view& rest, ExpectedDiagnostic& out, bool& is_regex) {
  const auto* severity = std::find_if(std::begin(kSeverities), std::end(kSeverities),
                                      [&](std::string_view name) { return Take(rest, name); });
  if (severity == std::end(kSeverities)) return false;
  out.severity = static_cast<Severity>(severity - std::begin(kSeverities));
  is_regex = Take(rest, "-re");
  if (Take(rest, "@")) {
    uint32_t n = 0;
    if (Take(rest, "above")) {
      --out.line;
    } else if (Take(rest, "below")) {
      ++out.line;
    } else if (Take(rest, "unknown")) {
      out.line = 0;
    } else if (Take(rest, "+")) {
      if (!TakeNumber(rest, n)) return false;
      out.line += n;
    } else if (Take(rest, "-")) {
      if (!TakeNumber(rest, n) || n >= out.line) return false;
      out.line -= n;
    } else if (!TakeNumber(rest, out.line)) {
      return false;
    }
  }
  SkipSpace(rest);
  uint32_t count = 1;
  TakeNumber(rest, count);
  out.count = static_cast<int>(count);
  SkipSpace(rest);
  if (!Take(rest, "{{")) return false;
  const std::optional<std::string_view> text = TakeBraced(rest, is_regex ? 2 : 0);
  if (text) out.text = std::string(*text);
  return text.has_value();
}

// The line of a location in the file; 0 if it is elsewhere.
uint32_t LineOf(const Context& context, Location location, std::string_view file) {
  const LocationData& data = Resolve(context, location);
  if (data.kind == Location::Kind::kFileLineCol) return data.text == file ? data.line : 0;
  for (Location part : data.parts) {
    if (const uint32_t line = LineOf(context, part, file)) return line;
  }
  return 0;
}

}  // namespace

absl::StatusOr<std::vector<ExpectedDiagnostic>> ParseExpected(std::string_view text) {
  std::vector<ExpectedDiagnostic> result;
  for (uint32_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    for (size_t at; (at = rest.find("expected-")) != std::string_view::npos;) {
      rest.remove_prefix(at + 9);
      ExpectedDiagnostic& expected = result.emplace_back();
      expected.comment_line = expected.line = line;
      bool is_regex = false;
      if (!ParseOne(rest, expected, is_regex)) {
        return absl::InvalidArgumentError(fmt::format(
            "line {}: malformed comment (expected 'expected-error@+1 {{{{text}}}}')", line));
      }
      if (!is_regex) continue;
      if (const absl::Status status = SetRegex(expected); !status.ok()) {
        return absl::Status(status.code(),
                            fmt::format("line {}: {}", line, std::string(status.message())));
      }
    }
  }
  return result;
}

void RecordDiagnostic(const Context& context, const Diagnostic& diagnostic, std::string_view file,
                      std::vector<SeenDiagnostic>& seen) {
  Diagnostic alone = diagnostic;
  alone.notes.clear();
  seen.push_back({diagnostic.severity, LineOf(context, diagnostic.location, file),
                  diagnostic.message, FormatDiagnostic(context, alone)});
  for (const Diagnostic& note : diagnostic.notes) RecordDiagnostic(context, note, file, seen);
}

std::vector<std::string> CompareDiagnostics(std::string_view file,
                                            const std::vector<ExpectedDiagnostic>& expected,
                                            const std::vector<SeenDiagnostic>& seen) {
  const auto counts = [&](Severity severity) {
    return severity <= Severity::kWarning ||
           std::any_of(expected.begin(), expected.end(),
                       [&](const auto& e) { return e.severity == severity; });
  };
  std::vector<std::string> problems;
  std::vector<ExpectedDiagnostic> open = expected;
  for (const SeenDiagnostic& diagnostic : seen) {
    const auto match = std::find_if(open.begin(), open.end(), [&](const ExpectedDiagnostic& e) {
      return e.count > 0 && e.severity == diagnostic.severity && e.line == diagnostic.line &&
             (e.matches ? e.matches(diagnostic.message)
                        : diagnostic.message.find(e.text) != std::string::npos);
    });
    if (match != open.end()) {
      --match->count;
    } else if (counts(diagnostic.severity)) {
      problems.push_back("unexpected diagnostic: " + diagnostic.formatted);
    }
  }
  for (const ExpectedDiagnostic& e : open) {
    if (e.count <= 0) continue;
    problems.push_back(fmt::format("{}:{}: error: expected {} \"{}\" was not produced", file,
                                   e.comment_line, kSeverities[static_cast<int>(e.severity)],
                                   e.text));
  }
  return problems;
}

}  // namespace tenon::ir_opt
