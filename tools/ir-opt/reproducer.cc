#include "tools/ir-opt/reproducer.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/shown_text.h"
#include "ir/base/write_file.h"
#include "ir/core/text/printer.h"
#include "tools/command_line/program.h"
#include "tools/ir-opt/files.h"

namespace tenon::ir_opt {
namespace {

constexpr int kFatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// What the handler prints, which must not allocate. Empty: nothing.
char signal_note[1024];
volatile std::sig_atomic_t signal_note_size = 0;

extern "C" void TellOfReproducer(int signal) {
  const ssize_t written = write(STDERR_FILENO, signal_note, static_cast<size_t>(signal_note_size));
  (void)written;  // the process ends
  raise(signal);  // with the default action, once this returns
}

// Handlers of others, such as sanitizers, stay.
void SetHandlers(bool on) {
  // A stack that has overflowed cannot run a handler.
  static char stack[1 << 16];
  stack_t alternative = {};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  stack_t before = {};
  if (on && sigaltstack(nullptr, &before) == 0 && (before.ss_flags & SS_DISABLE) != 0)
    sigaltstack(&alternative, nullptr);
  for (const int signal : kFatal) {
    struct sigaction now = {};
    sigaction(signal, nullptr, &now);
    const auto expected = on ? SIG_DFL : TellOfReproducer;
    if (now.sa_handler != expected) continue;
    struct sigaction action = {};
    action.sa_handler = on ? TellOfReproducer : SIG_DFL;
    action.sa_flags = on ? static_cast<int>(SA_RESETHAND) | SA_ONSTACK : 0;
    sigaction(signal, &action, nullptr);
  }
}

// A string of MLIR. Text of the user may hold any byte.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\') {
      out += fmt::format("\\{:02X}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::optional<int> Digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// Takes a string in quotes. Nullopt if it does not end.
std::optional<std::string> TakeQuoted(std::string_view& text) {
  std::string value;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    }
    if (text[i] != '\\' || i + 1 >= text.size()) {
      value += text[i];
      continue;
    }
    const std::optional<int> high = Digit(text[i + 1]);
    const std::optional<int> low = i + 2 < text.size() ? Digit(text[i + 2]) : std::nullopt;
    if (high && low) {
      value += static_cast<char>(*high * 16 + *low);
      i += 2;
    } else {
      ++i;
      value += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
    }
  }
  return std::nullopt;
}

// The entries `key: value` of the resource at the end of the text. Values are strings, or words.
std::map<std::string, std::string> EntriesOf(std::string_view text) {
  constexpr std::string_view kHead = "mlir_reproducer:";
  const size_t at = text.rfind(kHead);
  std::map<std::string, std::string> entries;
  if (at == std::string_view::npos) return entries;
  text.remove_prefix(at + kHead.size());
  const auto skip = [&](std::string_view what) {
    text.remove_prefix(std::min(text.find_first_not_of(what), text.size()));
  };
  constexpr std::string_view kSpace = " \t\r\n";
  skip(kSpace);
  if (!text.starts_with('{')) return entries;
  text.remove_prefix(1);
  while (true) {
    skip(" \t\r\n,");
    const size_t end = std::min(text.find_first_of(": \t\r\n}"), text.size());
    std::string key(text.substr(0, end));
    text.remove_prefix(end);
    skip(kSpace);
    if (key.empty() || !text.starts_with(':')) return entries;
    text.remove_prefix(1);
    skip(kSpace);
    if (text.starts_with('"')) {
      std::optional<std::string> value = TakeQuoted(text);
      if (!value) return entries;
      entries.emplace(std::move(key), *std::move(value));
    } else {
      const size_t word = std::min(text.find_first_of(", \t\r\n}"), text.size());
      entries.emplace(std::move(key), text.substr(0, word));
      text.remove_prefix(word);
    }
  }
}

}  // namespace

Reproducer::Reproducer(std::string file, std::vector<std::string> arguments)
    : file_(std::move(file)), arguments_(std::move(arguments)) {}

Reproducer::~Reproducer() {
  if (signal_note_size == 0) return;
  SetHandlers(false);
  signal_note_size = 0;
}

absl::Status Reproducer::Write(const std::string& pipeline, const Operation& module) {
  std::string arguments;
  for (const std::string& argument : arguments_) arguments += argument + "\n";
  const bool verifies =
      std::find(arguments_.begin(), arguments_.end(), "--verify-each=false") == arguments_.end();
  TENON_RETURN_IF_ERROR(WriteFile(file_, [&](TextSink sink) {
    // A text has one section of resources, at its end.
    constexpr std::string_view kEnd = "\n#-}\n";
    std::string tail;
    TENON_RETURN_IF_ERROR(Print(module, {.locations = true}, [&](std::string_view piece) {
      tail += piece;
      if (tail.size() <= kEnd.size()) return absl::OkStatus();
      const size_t ready = tail.size() - kEnd.size();
      TENON_RETURN_IF_ERROR(sink(std::string_view(tail).substr(0, ready)));
      tail.erase(0, ready);
      return absl::OkStatus();
    }));
    const bool has_resources = tail == kEnd;
    return sink(fmt::format(R"({}
  external_resources: {{
    mlir_reproducer: {{
      pipeline: {},
      disable_threading: true,
      verify_each: {},
      arguments: {}
    }}
  }}
#-}}
)",
                            has_resources ? "," : tail + "\n{-#", Quoted(pipeline), verifies,
                            Quoted(arguments)));
  }));
  if (signal_note_size > 0) return absl::OkStatus();
  const std::string note = fmt::format("ir-opt: {}\n", Note());
  const size_t size = std::min(note.size(), sizeof signal_note);
  std::copy_n(note.begin(), size, signal_note);
  signal_note_size = static_cast<std::sig_atomic_t>(size);
  SetHandlers(true);
  return absl::OkStatus();
}

void Reproducer::Remove() {
  const std::string file = ReplacedPath(file_);  // empty for what WriteFile does not make
  if (!file.empty()) unlink(file.c_str());
}

std::string Reproducer::Note() const {
  return fmt::format("{} repeats this: ir-opt {} --run-reproducer", file_, file_);
}

absl::Status CheckReproducerFile(const std::string& file, const std::string& input) {
  TENON_RETURN_IF_ERROR(tools::CheckReportFile(file, tools::OutputFormat::kIrText));
  const std::string replaced = ReplacedPath(file);
  std::error_code error;
  if (replaced.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: not a regular file (expected one: the reproducer is removed after a run "
                    "that ends well)",
                    ShownName(file)));
  }
  if (input != "-" && std::filesystem::equivalent(replaced, input, error)) {
    return absl::InvalidArgumentError(
        fmt::format("{}: the input (expected another file: the reproducer is removed after a run "
                    "that ends well)",
                    ShownName(file)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ReproducerArguments(const std::string& file,
                                                             const Limits& limits) {
  TENON_ASSIGN_OR_RETURN(const std::string text, ReadInput(file, limits));
  const std::map<std::string, std::string> entries = EntriesOf(text);
  const auto pipeline = entries.find("pipeline");
  if (pipeline == entries.end()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: holds no mlir_reproducer with a pipeline (expected a file of "
                    "--pass-pipeline-crash-reproducer)",
                    file));
  }
  std::vector<std::string> arguments = {"--pass-pipeline=" + pipeline->second};
  const auto given = entries.find("arguments");
  std::string_view rest = given == entries.end() ? std::string_view() : given->second;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    arguments.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto verify = entries.find("verify_each");
  if (given == entries.end() && verify != entries.end() && verify->second == "false")
    arguments.emplace_back("--verify-each=false");
  return arguments;
}

}  // namespace tenon::ir_opt
