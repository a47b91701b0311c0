// What the command lines of programs that run a model share: fields, rows of the table, checks.
#ifndef TENON_TOOLS_COMMAND_LINE_MODEL_OPTIONS_H_
#define TENON_TOOLS_COMMAND_LINE_MODEL_OPTIONS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "frontends/api/compare.h"
#include "frontends/api/tenon.h"
#include "tools/command_line/limits.h"
#include "tools/command_line/option_table.h"

namespace tenon::tools {

// A program derives its options from these.
struct ModelOptions {
  std::string model;
  int level = 2;
  int threads = 0;    // 0: one per core
  bool cuda = false;  // on the first GPU: OpenDevice (device.h)
  Precision precision = Precision::kFp32;
  std::vector<std::string> rule_files, disabled_rules;
  bool fast_math = false;
  std::optional<double> given_atol, given_rtol;
  double atol = 0, rtol = 0;  // of f32 and wider: ChooseTolerances
  double ulps = 0;        // and at least so many steps of the output's element type, unless given
  double bf16_rtol = 0;   // and at least that of bf16 outputs, unless given
  std::string json;       // file, "-", or empty
  bool help_all = false;  // --help=all
  GivenNames given;
  LimitOptions limits;
};

// What was given; else 3e-2 for bf16 and 5e-2 for int8, else these. Numbers of 8 bits move the
// result of a product by half a percent, and those of a deep network of random weights by a few:
// the largest of 10^5 such differences is 4 to 5 times as large as the usual one.
void ChooseTolerances(double atol, double rtol, ModelOptions& options);
// Two results of a program that rounds to f16 or bf16 in other places are a step or two apart.
constexpr double kNarrowUlps = 2;

// An output within the tolerances of its element type.
Difference CompareOutput(const ModelOptions& options, const Tensor& actual, const Tensor& expected);

// An argument that is no option; the second one is an error.
absl::Status TakeModel(ModelOptions& options, const std::string& argument);
absl::Status TwoLevels(int first, int second);

// Reads a line whose options are the table's and one of the levels -O0 to -O<kMaxOptLevel>.
template <typename Options, typename Operand>
absl::Status ReadModelCommandLine(std::span<const Option<Options>> table,
                                  const std::vector<std::string>& arguments, Options& options,
                                  Operand&& operand) {
  bool has_level = false;
  const auto level = [&](Options& o, const Given& given) {
    const int before = o.level;
    absl::Status status = ReadLevel(given, NamesOf(table), o.level);
    if (status.ok() && has_level && o.level != before) status = TwoLevels(before, o.level);
    has_level = true;
    return status;
  };
  return ReadCommandLine(table, arguments, options, operand, level);
}

// Rows that say the same in every program but for their help.
template <typename Options>
constexpr Option<Options> AtolRow(std::string_view help) {
  return {{"atol", "", Takes::kValue, "A", help},
          [](Options& o, const Given& g) { return ReadNonNegative(g, o.given_atol.emplace()); }};
}
template <typename Options>
constexpr Option<Options> RtolRow(std::string_view help) {
  return {{"rtol", "", Takes::kValue, "R", help},
          [](Options& o, const Given& g) { return ReadNonNegative(g, o.given_rtol.emplace()); }};
}
template <typename Options>
constexpr Option<Options> PrecisionRow(std::string_view help) {
  return {{"precision", "", Takes::kValue, "P", help},
          [](Options& o, const Given& g) { return ReadPrecision(g, o.precision); }};
}
template <typename Options>
constexpr Option<Options> RulesRow() {
  return {
      {"rules", "", Takes::kValue, "FILE", "also apply the rules of FILE; repeatable", Times::kAny},
      [](Options& o, const Given& g) {
        o.rule_files.emplace_back(g.value);
        return absl::OkStatus();
      }};
}
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
template <typename Options>
constexpr Option<Options> ThreadsRow(std::string_view help) {
  return {{"threads", "", Takes::kValue, "N", help},
          [](Options& o, const Given& g) { return ReadCount(g, 1, 1024, o.threads); }};
}
template <typename Options>
constexpr Option<Options> DeviceRow(std::string_view help) {
  return {{"device", "", Takes::kValue, "cpu|cuda", help},
          [](Options& o, const Given& g) { return ReadDevice(g, o.cuda); }};
}
template <typename Options>
constexpr Option<Options> JsonRow() {
  return {{"json", "", Takes::kValue, "FILE",
           "write the report to FILE as JSON; \"-\" prints only the JSON"},
          [](Options& o, const Given& g) { return Set(o.json, g.value); }};
}

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_MODEL_OPTIONS_H_
