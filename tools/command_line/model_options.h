// The common part of the command lines of programs that run a model: fields, table rows, checks.
#ifndef TENON_TOOLS_COMMAND_LINE_MODEL_OPTIONS_H_
#define TENON_TOOLS_COMMAND_LINE_MODEL_OPTIONS_H_

#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "frontends/cpp/passes.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/compare.h"
#include "tools/command_line/extension_options.h"
#include "tools/command_line/external_data.h"
#include "tools/command_line/limits.h"
#include "tools/command_line/option_table.h"

namespace tenon::tools {

// The options of a program derive from these.
struct ModelOptions {
  std::string model;                        // a file, or "-" for standard input
  int level = 2;                            // -O0 to -O3
  int threads = 0;                          // 0: one per core
  bool cuda = false;                        // on the first GPU: OpenDevice (device.h)
  Precision precision = Precision::kFp32;   // --precision
  std::vector<std::string> rule_files;      // --rules
  std::vector<std::string> disabled_rules;  // --disable-rules
  bool fast_math = false;                   // --fast-math
  std::optional<double> given_atol,         // --atol
      given_rtol;                           // --rtol
  double atol = 0,                          // the tolerances of f32 and wider types
      rtol = 0;                             // ChooseTolerances sets both
  // The least tolerance, in steps of the output's element type from 1 on. --atol and --rtol
  // override it.
  double ulps = 0;
  double bf16_rtol = 0;  // the least relative tolerance of bf16 outputs; --rtol overrides it
  std::string json;      // file, "-", or empty
  std::string help;      // --help: what it asks for
  GivenNames given;      // the options on the command line
  Outputs outputs;       // the files that they name
  LimitOptions limits;   // --max-…
  ExternalDataOptions external_data;  // --external-data…
  ExtensionOptions added;             // --load-…
};

// Sets the tolerances: those on the command line, else 3e-2 for bf16 and 5e-2 for int8, else `atol`
// and `rtol`. 8-bit weights change the result of a product by half a percent, and the results of a
// deep network of random weights by a few. The largest of 10^5 such differences is 4 to 5 times the
// usual one.
void ChooseTolerances(double atol, double rtol, ModelOptions& options);
// A value for ModelOptions::ulps. Results that are rounded to f16 or bf16 in other places differ by
// a step or two.
constexpr double kNarrowUlps = 2;

// Compares an output by the tolerances of its element type.
Difference CompareOutput(const ModelOptions& options, const Tensor& actual, const Tensor& expected);

// Takes an argument that is no option as the model. InvalidArgument for a second one.
absl::Status TakeModel(ModelOptions& options, const std::string& argument);
absl::Status TwoLevels(int first, int second);  // the error for two levels
// --fast-math at a level that applies no rules.
absl::Status RefuseFastMath(const GivenNames& given, int level);

// Reads a command line by the table. It may also have one of the levels -O0 to -O<kMaxOptLevel>.
// Then loads what it names as plugins.
template <typename Options, typename Operand>
absl::Status ReadModelCommandLine(std::span<const Option<Options>> table,
                                  const std::vector<std::string>& arguments, Options& options,
                                  Operand&& operand) {
  bool has_level = false;
  const auto level = [&](Options& o, const Given& given) {
    const int before = o.level;
    absl::Status status = ReadLevel(given, NamesOf(table), o.level);
    if (status.ok() && has_level && o.level != before) status = TwoLevels(before, o.level);
    constexpr std::string_view kLevels[] = {"O0", "O1", "O2", "O3"};
    static_assert(std::size(kLevels) == kMaxOptLevel + 1);
    if (status.ok()) o.given.emplace(kLevels[o.level]);
    has_level = true;
    return status;
  };
  const absl::Status status = ReadCommandLine(table, arguments, options, operand, level);
  return status.ok() ? MakeExtension(options.added) : status;
}

// The row of --atol. It and the rows that follow differ by program only in their help.
template <typename Options>
constexpr Option<Options> AtolRow(std::string_view help) {
  return {{"atol", "", Takes::kValue, "A", help},
          [](Options& o, const Given& g) { return ReadNonNegative(g, o.given_atol.emplace()); }};
}
// The row of --rtol.
template <typename Options>
constexpr Option<Options> RtolRow(std::string_view help) {
  return {{"rtol", "", Takes::kValue, "R", help},
          [](Options& o, const Given& g) { return ReadNonNegative(g, o.given_rtol.emplace()); }};
}
// The row of --precision.
template <typename Options>
constexpr Option<Options> PrecisionRow(std::string_view help) {
  return {{"precision", "", Takes::kValue, "P", help},
          [](Options& o, const Given& g) { return ReadPrecision(g, o.precision); }};
}
// The row of --rules.
template <typename Options>
constexpr Option<Options> RulesRow() {
  return {
      {"rules", "", Takes::kInput, "FILE", "also apply the rules of FILE; repeatable", Times::kAny},
      [](Options& o, const Given& g) {
        o.rule_files.emplace_back(g.value);
        return absl::OkStatus();
      }};
}
// The row of --fast-math.
template <typename Options>
constexpr Option<Options> DisableRulesRow() {
  return {
      {"disable-rules", "", Takes::kValue, "NAME,…",
       "do not apply these rules, families or patterns such as 'pack-*'; repeatable", Times::kAny},
      [](Options& o, const Given& g) {
        for (std::string_view name : SplitList(g.value)) o.disabled_rules.emplace_back(name);
        return absl::OkStatus();
      }};
}
template <typename Options>
constexpr Option<Options> FastMathRow() {
  return {{"fast-math", "", Takes::kFlag, "",
           "apply rules that may overflow or mishandle infinities (default: off)"},
          [](Options& o, const Given& g) { return Set(o.fast_math, g.on); }};
}
// The row of --threads.
template <typename Options>
constexpr Option<Options> ThreadsRow(std::string_view help) {
  return {{"threads", "", Takes::kValue, "N", help},
          [](Options& o, const Given& g) { return ReadCount(g, 1, kMaxThreads, o.threads); }};
}
// The row of --device.
template <typename Options>
constexpr Option<Options> DeviceRow(std::string_view help) {
  return {{"device", "", Takes::kValue, "cpu|cuda", help},
          [](Options& o, const Given& g) { return ReadDevice(g, o.cuda); }};
}
// The row of --json.
template <typename Options>
constexpr Option<Options> JsonRow() {
  return {{"json", "", Takes::kOutput, "FILE",
           "write the report to FILE as JSON; \"-\" prints only the JSON"},
          [](Options& o, const Given& g) { return Set(o.json, g.value); }};
}

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_MODEL_OPTIONS_H_
