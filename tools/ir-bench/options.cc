#include "tools/ir-bench/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "fmt/format.h"
#include "frontends/api/passes.h"

namespace tenon::ir_bench {
namespace {

constexpr std::string_view kEngines[] = {"onnxruntime", "openvino"};

absl::Status Wrong(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

template <typename T>
std::optional<T> Number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Calls f(entry) for each part of a list with commas, until one fails.
template <typename F>
absl::Status ForEachEntry(std::string_view text, F&& f) {
  while (true) {
    const size_t comma = text.find(',');
    if (absl::Status status = f(text.substr(0, comma)); !status.ok()) return status;
    if (comma == std::string_view::npos) return absl::OkStatus();
    text.remove_prefix(comma + 1);
  }
}

class Parser {
 public:
  explicit Parser(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  absl::StatusOr<Options> Run() {
    for (; at_ < arguments_.size(); ++at_) {
      if (absl::Status status = Argument(arguments_[at_]); !status.ok()) return status;
    }
    if (options_.action != Options::Action::kRun) return options_;
    if (options_.model.empty())
      return Wrong("no model (expected ir-bench MODEL; --help lists the options)");
    if (!options_.inputs.empty() && !options_.dims.empty())
      return Wrong("--inputs and --dim both say the sizes (expected one of them)");
    const bool less = options_.precision != Precision::kFp32;
    options_.atol = atol_.value_or(less ? 3e-2 : options_.atol);
    options_.rtol = rtol_.value_or(less ? 3e-2 : options_.rtol);
    return options_;
  }

 private:
  absl::Status Argument(const std::string& argument) {
    if (argument.empty() || argument[0] != '-') {
      if (!options_.model.empty())
        return Wrong(fmt::format("two models: {} and {} (expected one)", options_.model, argument));
      options_.model = argument;
      return absl::OkStatus();
    }
    if (argument.size() == 3 && argument.substr(0, 2) == "-O") {
      options_.level = argument[2] - '0';
      if (options_.level >= 0 && options_.level <= kMaxOptLevel) return absl::OkStatus();
      return Wrong(
          fmt::format("there is no level {} (expected -O0 to -O{})", argument, kMaxOptLevel));
    }
    const size_t equals = argument.find('=');
    name_ = argument.substr(0, equals);
    inline_value_ =
        equals == std::string::npos ? std::nullopt : std::optional(argument.substr(equals + 1));
    if (name_ == "--help" || name_ == "-h")
      return Flag([&] { options_.action = Options::Action::kHelp; });
    if (name_ == "--version") return Flag([&] { options_.action = Options::Action::kVersion; });
    if (name_ == "--pin") return Flag([&] { options_.pin = true; });
    if (name_ == "--neighbour") return Flag([&] { options_.neighbour = true; });
    return OptionWithValue();
  }

  absl::Status OptionWithValue() {
    static constexpr std::string_view kNames[] = {
        "--against", "--python", "--threads", "--dim",  "--inputs", "--rounds",
        "--time",    "--warmup", "--atol",    "--rtol", "--json",   "--precision"};
    if (std::find(std::begin(kNames), std::end(kNames), name_) == std::end(kNames))
      return Wrong(fmt::format("there is no option {} (--help lists them)", name_));
    std::string value;
    if (inline_value_) {
      value = *inline_value_;
    } else if (at_ + 1 < arguments_.size()) {
      value = arguments_[++at_];
    }
    if (value.empty()) return Wrong(fmt::format("{} needs a value", name_));
    if (name_ == "--against")
      return ForEachEntry(value, [this](std::string_view e) { return Engine(e); });
    if (name_ == "--dim") return ForEachEntry(value, [this](std::string_view e) { return Dim(e); });
    if (name_ == "--python") return Set(options_.python, value);
    if (name_ == "--inputs") return Set(options_.inputs, value);
    if (name_ == "--json") return Set(options_.json, value);
    if (name_ == "--threads") return Count(value, 1, 1024, options_.threads);
    if (name_ == "--rounds") return Count(value, 1, 100000, options_.rounds);
    if (name_ == "--warmup") return Count(value, 1, 100000, options_.warmup);
    if (name_ == "--time") return Real(value, options_.seconds);
    if (name_ == "--precision") return SetPrecision(value);
    std::optional<double>& tolerance = name_ == "--atol" ? atol_ : rtol_;
    return Real(value, tolerance.emplace());
  }

  template <typename F>
  absl::Status Flag(F&& set) {
    if (inline_value_) return Wrong(fmt::format("{} takes no value", name_));
    set();
    return absl::OkStatus();
  }

  static absl::Status Set(std::string& field, std::string value) {
    field = std::move(value);
    return absl::OkStatus();
  }

  absl::Status Real(const std::string& text, double& field) {
    const std::optional<double> value = Number<double>(text);
    if (!value || !std::isfinite(*value) || *value < 0)
      return Wrong(fmt::format("{} is '{}' (expected a number of at least 0)", name_, text));
    field = *value;
    return absl::OkStatus();
  }

  absl::Status Count(const std::string& text, int least, int most, int& field) {
    const std::optional<int> value = Number<int>(text);
    if (!value || *value < least || *value > most) {
      return Wrong(
          fmt::format("{} is '{}' (expected an integer from {} to {})", name_, text, least, most));
    }
    field = *value;
    return absl::OkStatus();
  }

  absl::Status SetPrecision(const std::string& text) {
    for (Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kInt8}) {
      if (Name(precision) != text) continue;
      options_.precision = precision;
      return absl::OkStatus();
    }
    return Wrong(fmt::format("--precision is '{}' (expected fp32, bf16 or int8)", text));
  }

  absl::Status Engine(std::string_view name) {
    if (std::find(std::begin(kEngines), std::end(kEngines), name) == std::end(kEngines)) {
      return Wrong(fmt::format("--against has '{}' (expected one or more of {})", name,
                               fmt::join(kEngines, ", ")));
    }
    if (std::find(options_.against.begin(), options_.against.end(), name) != options_.against.end())
      return Wrong(fmt::format("--against has {} twice", name));
    options_.against.emplace_back(name);
    return absl::OkStatus();
  }

  absl::Status Dim(std::string_view entry) {
    const size_t equals = entry.rfind('=');
    const std::optional<int64_t> size =
        equals == std::string_view::npos ? std::nullopt : Number<int64_t>(entry.substr(equals + 1));
    if (!size || *size < 0 || equals == 0)
      return Wrong(fmt::format("--dim has '{}' (expected sizes like batch=1,seq=128)", entry));
    options_.dims[std::string(entry.substr(0, equals))] = *size;
    return absl::OkStatus();
  }

  const std::vector<std::string>& arguments_;
  size_t at_ = 0;
  std::string name_;
  std::optional<std::string> inline_value_;
  std::optional<double> atol_, rtol_;  // as given
  Options options_;
};

}  // namespace

absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments) {
  return Parser(arguments).Run();
}

std::string HelpText() {
  return R"(ir-bench MODEL [options]: times a model, alone or in turns with other engines.
MODEL is an ONNX file or IR text (ONNX with --against).

  -O0 … -O3            optimisation level (2)
  --against=LIST       onnxruntime, openvino: Python packages that run the same model on the same inputs with as many
                       threads, round by round in turns with Tenon; outputs are compared
  --python=PATH        the Python that has them (python3)
  --threads=N          threads of each engine (1)
  --dim=B=1,S=128      sizes of the model's named dimensions (1 if the name has "batch" in it, 128 otherwise)
  --inputs=DIR         inputs from DIR/input_N.pb or .npy, as in ONNX's test data
  --rounds=N           rounds (21)
  --time=S             no round begins after S seconds (60)
  --warmup=N           runs of each engine before the first round (3)
  --pin                every engine on the first N of the processors allowed, N being --threads
  --neighbour          with a process that keeps the last of the processors busy
  --atol=A, --rtol=R   outputs agree if |a-b| <= A*max(1, max|b|) + R*|b| everywhere (1e-4, 1e-3)
  --precision=P        of Tenon's linear layers: fp32; bf16, where the CPU multiplies it; int8, weights only. The others
                       stay at fp32, and outputs agree within 3e-2 unless --atol and --rtol say otherwise
  --json=FILE          the results as JSON; "-" prints them on standard output, and nothing else
  --help, --version

A round is one run that is not counted, then timed runs for 40 ms, at least one; then it is the next engine's turn, once
all threads of the one before sleep. Ratios are medians over rounds of (median of theirs / median of ours), with a
95 % interval.

Exit status: 0 ok; 1 an output differs; 2 bad input; 3 the model uses what Tenon cannot run; 4 another engine is not
installed or does not run the model.
)";
}

}  // namespace tenon::ir_bench
