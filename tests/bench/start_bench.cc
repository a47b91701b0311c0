// What one start of a model costs, phase by phase, in a process of its own. start_time.py compares.
//
//   start_bench MODEL INPUTS [CACHE] [--threads N] [--precision fp32|bf16|int8]
//
// INPUTS: a folder as that of ir-run's --inputs. CACHE: a folder for packed weights. Prints one
// JSON object: milliseconds of each phase, and where the weights came from.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/cpp/tenon.h"

namespace {

using Clock = std::chrono::steady_clock;

absl::Status Measure(const std::vector<std::string>& args, int threads,
                     tenon::Precision precision) {
  const std::string folder = args.size() > 2 ? args[2] : "";
  std::string phases;
  double total = 0;
  auto last = Clock::now();
  const auto lap = [&](const char* name) {
    const auto now = Clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last).count();
    phases += fmt::format("\"{}\": {:.3f}, ", name, ms);
    total += ms;
    last = now;
  };
  TENON_ASSIGN_OR_RETURN(tenon::Model model, tenon::Load(args[0]));
  lap("load");
  // Not a part of the start.
  TENON_ASSIGN_OR_RETURN(const tenon::Sample sample, tenon::ReadInputs(model.main(), args[1]));
  last = Clock::now();
  TENON_RETURN_IF_ERROR(tenon::Optimize(model, {.precision = precision}));
  lap("optimize");
  const auto weights = tenon::MakePackedWeights(model, folder);
  TENON_ASSIGN_OR_RETURN(
      const tenon::Program program,
      tenon::Compile(std::move(model), {.threads = threads, .weights = weights}));
  lap("compile");
  tenon::Session session = program.NewSession();
  std::vector<tenon::kernels::TensorView> views;
  for (const tenon::Tensor& input : sample.inputs) views.push_back(input.view());
  TENON_RETURN_IF_ERROR(session.OutputShapes(views).status());
  lap("prepare");
  TENON_RETURN_IF_ERROR(session.Run(sample.inputs).status());
  lap("first_run");
  const double start_ms = total;
  TENON_RETURN_IF_ERROR(session.Run(sample.inputs).status());
  lap("second_run");
  const tenon::PackedWeights::Stats stats = weights->stats();
  fmt::print(
      "{{{}\"start\": {:.3f}, \"packed\": {}, \"packed_mb\": {:.1f}, \"from_disk\": {}, "
      "\"from_disk_mb\": {:.1f}}}\n",
      phases, start_ms, stats.packed, static_cast<double>(stats.packed_bytes) / 1e6,
      stats.from_disk, static_cast<double>(stats.from_disk_bytes) / 1e6);
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  int threads = 1;
  tenon::Precision precision = tenon::Precision::kFp32;
  bool valid = true;
  while (args.size() >= 4 && args[args.size() - 2].starts_with("--")) {
    const std::string option = args[args.size() - 2], text = args.back();
    args.resize(args.size() - 2);
    if (option == "--threads") {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
      valid &= error == std::errc() && end == text.data() + text.size() && threads >= 0;
      continue;
    }
    const auto* const named = std::ranges::find_if(
        tenon::kPrecisions, [&](tenon::Precision p) { return tenon::Name(p) == text; });
    valid &= option == "--precision" && named != std::end(tenon::kPrecisions);
    if (valid) precision = *named;
  }
  if (args.size() < 2 || args.size() > 3 || !valid) {
    fmt::print(stderr,
               "expected MODEL INPUTS [CACHE] [--threads N] [--precision fp32|bf16|int8]\n");
    return 2;
  }
  const absl::Status status = Measure(args, threads, precision);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", std::string(status.message()));
  return 1;
}
