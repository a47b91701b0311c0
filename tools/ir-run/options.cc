#include "tools/ir-run/options.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "fmt/format.h"
#include "frontends/api/passes.h"

namespace tenon::ir_run {
namespace {

absl::Status Wrong(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

template <typename T>
std::optional<T> Number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Parser {
 public:
  explicit Parser(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  absl::StatusOr<Options> Run() {
    for (; at_ < arguments_.size(); ++at_) {
      if (absl::Status status = Argument(arguments_[at_]); !status.ok()) return status;
    }
    if (options_.action == Options::Action::kRun && options_.model.empty()) {
      return Wrong("no model (expected ir-run MODEL.onnx; --help lists the options)");
    }
    if (options_.action == Options::Action::kOnnxTest) {
      options_.atol = atol_.value_or(1e-7);
      options_.rtol = rtol_.value_or(1e-3);
    } else if (options_.precision != Precision::kFp32) {
      options_.atol = atol_.value_or(3e-2);
      options_.rtol = rtol_.value_or(3e-2);
    } else {
      options_.atol = atol_.value_or(options_.atol);
      options_.rtol = rtol_.value_or(options_.rtol);
    }
    return options_;
  }

 private:
  absl::Status Argument(const std::string& argument) {
    if (argument == "-" || argument[0] != '-') {
      if (options_.action == Options::Action::kOnnxTest) {
        options_.onnx_tests.push_back(argument);
        return absl::OkStatus();
      }
      if (!options_.model.empty())
        return Wrong(fmt::format("two models: {} and {} (expected one)", options_.model, argument));
      options_.model = argument;
      return absl::OkStatus();
    }
    if (argument.size() == 3 && argument.substr(0, 2) == "-O") {
      options_.level = argument[2] - '0';
      if (options_.level < 0 || options_.level > kMaxOptLevel) {
        return Wrong(
            fmt::format("there is no level {} (expected -O0 to -O{})", argument, kMaxOptLevel));
      }
      return absl::OkStatus();
    }
    const size_t equals = argument.find('=');
    name_ = argument.substr(0, equals);
    inline_value_ =
        equals == std::string::npos ? std::nullopt : std::optional(argument.substr(equals + 1));
    if (name_ == "--help" || name_ == "-h")
      return Flag([&] { options_.action = Options::Action::kHelp; });
    if (name_ == "--version") return Flag([&] { options_.action = Options::Action::kVersion; });
    if (name_ == "--reference") return Flag([&] { options_.reference = true; });
    if (name_ == "--onnx-test") return OnnxTest();
    if (name_ == "--check-memory") return Flag([&] { options_.check_memory = true; });
    if (name_ == "--profile") {
      options_.profile = true;
      options_.profile_file = inline_value_.value_or("");
      const bool is_json = options_.profile_file.ends_with(".json");
      if (inline_value_ && !is_json) {
        return Wrong(fmt::format("--profile is '{}' (expected FILE.json or FILE.trace.json)",
                                 options_.profile_file));
      }
      return absl::OkStatus();
    }

    std::string value;
    static constexpr std::string_view kWithValue[] = {
        "--check",        "--atol", "--rtol", "--threads",      "--json",      "--input", "--shape",
        "--save-outputs", "--seed", "--runs", "--weight-cache", "--precision", "--device"};
    bool known = false;
    for (std::string_view option : kWithValue) known |= option == name_;
    if (!known) return Wrong(fmt::format("there is no option {} (--help lists them)", name_));
    if (inline_value_) {
      value = *inline_value_;
    } else if (at_ + 1 < arguments_.size()) {
      value = arguments_[++at_];
    } else {
      return Wrong(fmt::format("{} needs a value", name_));
    }
    if (value.empty()) return Wrong(fmt::format("{} needs a value", name_));
    if (name_ == "--check") return Set(options_.check, value);
    if (name_ == "--json") return Set(options_.json, value);
    if (name_ == "--weight-cache") return Set(options_.weight_cache, value);
    if (name_ == "--save-outputs") return Set(options_.save_outputs, value);
    if (name_ == "--atol") return Tolerance(value, atol_);
    if (name_ == "--rtol") return Tolerance(value, rtol_);
    if (name_ == "--precision") return SetPrecision(value);
    if (name_ == "--device") return Device(value);
    if (name_ == "--threads") return Count(value, 1, 1024, options_.threads);
    if (name_ == "--runs") return Count(value, 1, 1000000, options_.runs);
    if (name_ == "--input") return Input(value);
    if (name_ == "--shape") return Shape(value);
    const std::optional<uint64_t> seed = Number<uint64_t>(value);
    if (!seed) return Wrong(fmt::format("--seed is '{}' (expected a non-negative integer)", value));
    options_.seed = *seed;
    return absl::OkStatus();
  }

  template <typename F>
  absl::Status Flag(F&& set) {
    if (inline_value_) return Wrong(fmt::format("{} takes no value", name_));
    set();
    return absl::OkStatus();
  }

  absl::Status OnnxTest() {
    options_.action = Options::Action::kOnnxTest;
    if (inline_value_) options_.onnx_tests.push_back(*inline_value_);
    if (!options_.model.empty()) options_.onnx_tests.push_back(std::move(options_.model));
    options_.model.clear();
    return absl::OkStatus();
  }

  static absl::Status Set(std::string& field, std::string value) {
    field = std::move(value);
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

  absl::Status Tolerance(const std::string& text, std::optional<double>& field) {
    const std::optional<double> value = Number<double>(text);
    if (!value || !std::isfinite(*value) || *value < 0) {
      return Wrong(fmt::format("{} is '{}' (expected a number of at least 0)", name_, text));
    }
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

  absl::Status Device(const std::string& text) {
    if (text != "cpu" && text != "cuda") {
      return Wrong(fmt::format("--device is '{}' (expected cpu or cuda)", text));
    }
    options_.cuda = text == "cuda";
    return absl::OkStatus();
  }

  absl::Status Input(const std::string& text) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return Wrong(fmt::format("--input is '{}' (expected name=file.npy)", text));
    }
    options_.inputs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    return absl::OkStatus();
  }

  absl::Status Shape(std::string_view text) {
    while (!text.empty()) {
      const std::string_view entry = text.substr(0, text.find(','));
      text.remove_prefix(std::min(text.size(), entry.size() + 1));
      const size_t equals = entry.rfind('=');
      const std::optional<int64_t> size = equals == std::string_view::npos
                                              ? std::nullopt
                                              : Number<int64_t>(entry.substr(equals + 1));
      if (!size || *size < 0 || equals == 0) {
        return Wrong(fmt::format("--shape has '{}' (expected sizes like batch=1,seq=128)", entry));
      }
      options_.shape[std::string(entry.substr(0, equals))] = *size;
    }
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
  return R"(ir-run MODEL [options]: runs a model as it is and optimised, compares and times both.
MODEL is an ONNX file or IR text; "-" is standard input.

  -O0 … -O3            optimisation level (2)
  --check DIR          inputs and expected outputs: input_N.pb and output_N.pb as in ONNX's test data, in DIR or in
                       its folders test_data_set_N
  --atol A, --rtol R   an output passes if |a-b| <= A*max(1, max|b|) + R*|b| everywhere, with shape, element type, NaNs and
                       infinities as expected (1e-5, 1e-4; with --onnx-test 1e-7, 1e-3)
  --precision P        of linear layers in the optimised program: fp32; bf16, where the CPU multiplies it; int8, weights only.
                       The tolerances are then 3e-2 unless given
  --threads N          threads (one per core)
  --weight-cache DIR   keeps packed weights there for the next start (what TENON_WEIGHT_CACHE names)
  --device cpu|cuda    cuda: the optimised program on the first GPU, compared with the original on the CPU; what falls
                       back to the CPU is named
  --reference          the readable reference kernels alone, as the oracle
  --json FILE          the results as JSON; "-" prints them on standard output, and nothing else
  --input NAME=FILE    an input from a .npy file (or a TensorProto file); repeat for each
  --shape a=1,b=128    sizes of the model's named dimensions (1 if the name has "batch" in it, 8 otherwise)
  --seed N             of the random values of inputs that are not given (0): floats from -1 to 1; integers from 0 to 7,
                       but ones for masks, zeros for token types, and 0, 1, 2, … for positions, told by the name
  --save-outputs DIR   writes input_N.pb and the optimised program's output_N.pb
  --runs N             timed runs of each program (as many as fit a second, at least 3)
  --profile[=FILE]     where the optimised program's time goes: by node, kernel and layer, with GFLOP/s and GB/s. In FILE.json
                       all of it; in FILE.trace.json a trace that Perfetto (ui.perfetto.dev) and chrome://tracing open
  --check-memory       fills memory that holds nothing with NaNs, so that a wrong memory plan shows in the results
  --onnx-test DIR…     runs cases of ONNX's backend test suite: folders of model.onnx and test_data_set_N, or folders of
                       such folders
  --help, --version

Exit status: 0 ok; 1 an output differs; 2 bad input; 3 the model uses what Tenon cannot run (the message names it);
4 the device is not there (the message says what is missing).
)";
}

}  // namespace tenon::ir_run
