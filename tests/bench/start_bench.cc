// What one start of a model costs, phase by phase, in a process of its own. start_time.py compares.
//
//   start_bench MODEL INPUTS [CACHE] [--threads N] [--precision fp32|bf16|int8] [--save FILE]
//
// INPUTS: a folder as that of ir-run's --inputs. CACHE: a folder for packed weights. Prints one
// JSON object: milliseconds of each phase, and where the weights came from. A saved program as
// MODEL is loaded as such. With --save nothing is measured: the program is saved to FILE.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontends/cpp/files/saved_program.h"
#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/cpp/tenon.h"
#include "ir/base/check.h"

namespace {

using Clock = std::chrono::steady_clock;

// Times what follows each other.
class Phases {
 public:
  void Lap(const char* name) {
    const auto now = Clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    text_ += fmt::format("\"{}\": {:.3f}, ", name, ms);
    total_ += ms;
    last_ = now;
  }
  // What has happened since the last one does not count.
  void Restart() { last_ = Clock::now(); }
  const std::string& text() const { return text_; }
  double total() const { return total_; }

 private:
  Clock::time_point last_ = Clock::now();
  std::string text_;
  double total_ = 0;
};

struct Started {
  tenon::Program program;
  std::shared_ptr<const tenon::PackedWeights> weights;
};

absl::StatusOr<Started> StartModel(const std::vector<std::string>& args, int threads,
                                   tenon::Precision precision, tenon::Model model, Phases& phases) {
  TENON_RETURN_IF_ERROR(tenon::Optimize(model, {.precision = precision}));
  phases.Lap("optimize");
  const auto weights = tenon::MakePackedWeights(model, args.size() > 2 ? args[2] : "");
  TENON_ASSIGN_OR_RETURN(
      tenon::Program program,
      tenon::Compile(std::move(model), {.threads = threads, .weights = weights}));
  phases.Lap("compile");
  return Started{std::move(program), weights};
}

absl::StatusOr<Started> StartSaved(const std::string& path, int threads, Phases& phases) {
  tenon::LoadProgramReport report;
  TENON_ASSIGN_OR_RETURN(tenon::Program program,
                         tenon::LoadProgram(path, {.threads = threads}, &report));
  if (!report.lowered_again.empty()) return absl::FailedPreconditionError(report.lowered_again);
  phases.Lap("load");
  return Started{std::move(program), report.weights};
}

absl::Status Save(const std::vector<std::string>& args, tenon::Precision precision,
                  const std::string& path) {
  TENON_ASSIGN_OR_RETURN(tenon::Model model, tenon::Load(args[0]));
  TENON_ASSIGN_OR_RETURN(tenon::Sample sample, tenon::ReadInputs(model.main(), args[1]));
  TENON_RETURN_IF_ERROR(tenon::Optimize(model, {.precision = precision}));
  return tenon::SaveProgram(model, path, {.runs = {std::move(sample.inputs)}});
}

absl::Status Measure(const std::vector<std::string>& args, int threads,
                     tenon::Precision precision) {
  // Inputs are no part of the start.
  absl::StatusOr<Started> started = absl::UnknownError("not started");
  tenon::Sample sample;
  Phases phases;
  if (tenon::IsSavedProgram(args[0])) {
    {
      TENON_ASSIGN_OR_RETURN(const tenon::Model model, tenon::Load(args[0]));
      TENON_ASSIGN_OR_RETURN(sample, tenon::ReadInputs(model.main(), args[1]));
    }
    phases.Restart();
    started = StartSaved(args[0], threads, phases);
  } else {
    phases.Restart();
    TENON_ASSIGN_OR_RETURN(tenon::Model model, tenon::Load(args[0]));
    phases.Lap("load");
    TENON_ASSIGN_OR_RETURN(sample, tenon::ReadInputs(model.main(), args[1]));
    phases.Restart();
    started = StartModel(args, threads, precision, std::move(model), phases);
  }
  TENON_RETURN_IF_ERROR(started.status());
  tenon::Session session = started->program.NewSession();
  std::vector<tenon::kernels::TensorView> views;
  for (const tenon::Tensor& input : sample.inputs) views.push_back(input.view());
  TENON_RETURN_IF_ERROR(session.OutputShapes(views).status());
  phases.Lap("prepare");
  TENON_RETURN_IF_ERROR(session.Run(sample.inputs).status());
  phases.Lap("first_run");
  const double start_ms = phases.total();
  TENON_RETURN_IF_ERROR(session.Run(sample.inputs).status());
  phases.Lap("second_run");
  const tenon::PackedWeights::Stats stats = started->weights->stats();
  fmt::print(
      "{{{}\"start\": {:.3f}, \"packed\": {}, \"packed_mb\": {:.1f}, \"from_disk\": {}, "
      "\"from_disk_mb\": {:.1f}}}\n",
      phases.text(), start_ms, stats.packed, static_cast<double>(stats.packed_bytes) / 1e6,
      stats.from_disk, static_cast<double>(stats.from_disk_bytes) / 1e6);
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  int threads = 1;
  std::string save;
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
    if (option == "--save") {
      save = text;
      continue;
    }
    const auto* const named = std::ranges::find_if(
        tenon::kPrecisions, [&](tenon::Precision p) { return tenon::Name(p) == text; });
    valid &= option == "--precision" && named != std::end(tenon::kPrecisions);
    if (valid) precision = *named;
  }
  if (args.size() < 2 || args.size() > 3 || !valid) {
    fmt::print(stderr,
               "expected MODEL INPUTS [CACHE] [--threads N] [--precision fp32|bf16|int8] "
               "[--save FILE]\n");
    return 2;
  }
  const absl::Status status =
      save.empty() ? Measure(args, threads, precision) : Save(args, precision, save);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", std::string(status.message()));
  return 1;
}
