#include "tools/ir-reduce/options.h"

#include "ir/base/check.h"
#include "tools/command_line/help.h"
#include "tools/command_line/option_table.h"
#include "tools/command_line/progress.h"

namespace tenon::ir_reduce {
namespace {

using tools::Given;
using tools::Set;
using tools::Takes;

constexpr int64_t kMostSeconds = 86400;

constexpr tools::Option<Options> kTable[] = {
    tools::Heading<Options>("Test", "test"),
    {{"test", "", Takes::kValue, "CMD",
      "keep a program if CMD, with its file in place of {} or at the end, exits with 0"},
     [](Options& o, const Given& g) { return Set(o.test, g.value); }},
    {{"timeout", "", Takes::kValue, "S", "a test that takes longer fails (default: 60)"},
     [](Options& o, const Given& g) { return tools::ReadInteger(g, 1, kMostSeconds, o.timeout); }},
    {{"max-tries", "", Takes::kValue, "N", "stop after N tests (default: 10000)"},
     [](Options& o, const Given& g) { return tools::ReadInteger(g, 1, INT64_MAX, o.most_tries); }},

    tools::Heading<Options>("Reduction", "reduction"),
    {{"rules", "", Takes::kInput, "FILE",
      "also try the rules of FILE, which may change what is computed; repeatable",
      tools::Times::kAny},
     [](Options& o, const Given& g) {
       o.rule_files.emplace_back(g.value);
       return absl::OkStatus();
     }},
    {{"pass-pipeline", "", Takes::kValue, "TEXT",
      "also try the rewrites of a pipeline, such as canonicalize; repeatable", tools::Times::kAny},
     [](Options& o, const Given& g) {
       o.pipelines.emplace_back(g.value);
       return absl::OkStatus();
     }},
    {{"shrink-dims", "", Takes::kFlag, "", "also make dimensions smaller (default: on)"},
     [](Options& o, const Given& g) { return Set(o.shrink_dims, g.on); }},

    tools::Heading<Options>("Input", "input"),
    {{"allow-unregistered-dialect", "", Takes::kFlag, "", "accept operations of unknown dialects"},
     [](Options& o, const Given& g) { return Set(o.allow_unregistered_dialect, g.on); }},
    tools::LoadOpsRow<Options>(),
    tools::LoadPluginRow<Options>(),
    tools::ExternalDataRow<Options>(),
    tools::ExternalDataLinksRow<Options>(),
    tools::ParamsRow<Options>(),

    tools::Heading<Options>("Output", "output"),
    {{"o", "", Takes::kOutput, "FILE",
      "write the smallest program to FILE, also in between (default: standard output)"},
     [](Options& o, const Given& g) { return Set(o.output, g.value); }},
    {{"print-generic", "", Takes::kFlag, "", "write the form that mlir-opt reads, for CMD too"},
     [](Options& o, const Given& g) { return Set(o.generic, g.on); }},
    tools::JsonRow<Options>(),

    tools::Heading<Options>("Limits", "limits"),
    tools::MaxMemoryRow<Options>(),
    tools::MaxInputRow<Options>(),
    tools::MaxNestingRow<Options>(),
    tools::MaxMessageRow<Options>(),

    tools::Heading<Options>("General", "general"),
    tools::QuietRow<Options>(),
    tools::HelpRow<Options>(),
    tools::VersionRow<Options>(),
};
constexpr std::span<const tools::Option<Options>> kOptions(kTable);

absl::Status Wrong(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

}  // namespace

absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments) {
  Options options;
  TENON_RETURN_IF_ERROR(tools::ReadCommandLine(
      kOptions, arguments, options,
      [](Options& o, const std::string& argument) { return tools::TakeModel(o, argument); },
      [](Options&, const Given& given) {
        return tools::UnknownOption(given.option, tools::NamesOf(kOptions));
      }));
  TENON_RETURN_IF_ERROR(tools::MakeExtension(options.added));
  if (options.action != Options::Action::kRun) return options;
  if (options.model.empty())
    return Wrong("no program (expected ir-reduce FILE --test=CMD; --help lists the options)");
  if (options.test.empty())
    return Wrong("no test (expected --test=CMD, a command that exits with 0 to keep a program)");
  if (options.json == "-" && (options.output.empty() || options.output == "-")) {
    return Wrong(
        "--json=- and the program both go to standard output (expected -o FILE beside it)");
  }
  return options;
}

absl::StatusOr<std::string> HelpText(std::string_view form) {
  const tools::HelpParts parts = {
      .program = "ir-reduce",
      .usage = "ir-reduce FILE --test=CMD [options]",
      .intro =
          R"(Finds the smallest form of a program for which a test of yours still succeeds. Drops functions,
blocks, operations, operands and attributes, and makes dimensions smaller. Each program that is
tested verifies.
FILE is an ONNX file, IR text or a binary module. "-" is standard input.
)",
      .statuses = R"(  0  the smallest program is written
  1  the test fails for the program as it is
  2  the command line or a file is wrong, a limit is exceeded, or an output cannot be written
  3  the model uses an operation that Tenon cannot represent
)",
      .examples =
          R"(  ir-reduce crash.mlir --test='! ir-opt -O2 {}' -o small.mlir
  ir-reduce model.onnx --test='! ir-opt -O2 --verify-semantics --rules=my.drr {}' -o small.mlir
  ir-reduce m.mlir --test='ir-opt -O2 {} | grep fused.attention' -o small.mlir
)",
      .guides = R"(  docs/guide/reduce-a-program.md
)",
  };
  return tools::HelpIn(form, parts, tools::FormsOf(kOptions));
}

}  // namespace tenon::ir_reduce
