#include "tools/ir-bench/bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "frontends/cpp/files/saved_program.h"
#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/cpp/samples/sample_random.h"
#include "frontends/cpp/samples/sample_sizes.h"
#include "frontends/cpp/tenon.h"
#include "frontends/cpp/version.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "kernels/gpu/queue.h"
#include "tools/command_line/device.h"
#include "tools/command_line/peer.h"
#include "tools/command_line/program.h"
#include "tools/command_line/saved_program.h"
#include "tools/command_line/temporary_folder.h"
#include "tools/ir-bench/processors.h"

namespace tenon::ir_bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using tools::Peer;
using tools::TemporaryFolder;

constexpr int kMostRunsARound = 10000;

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double PeakMemoryMb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// One that is timed: Tenon or a peer.
struct Contestant {
  std::string name;
  // One run that is not timed, then `count`: milliseconds of each.
  std::function<absl::StatusOr<std::vector<double>>(int count)> run;
  clockid_t clock;
  int runs_a_round = 1;
  EngineReport report;
};

// Tenon: a session, with memory for inputs and results.
class Ours {
 public:
  static absl::StatusOr<std::unique_ptr<Ours>> Make(const Program& program,
                                                    std::span<const Tensor> inputs) {
    std::unique_ptr<Ours> ours(new Ours(program.NewSession()));
    for (const Tensor& input : inputs) ours->inputs_.push_back(input.view());
    TENON_ASSIGN_OR_RETURN(const std::vector<ResultShape> shapes,
                           ours->session_.OutputShapes(ours->inputs_));
    for (const ResultShape& shape : shapes) {
      TENON_ASSIGN_OR_RETURN(ours->outputs_.emplace_back(),
                             Tensor::TryMake(shape.dtype, shape.shape));
    }
    for (const Tensor& output : ours->outputs_) ours->views_.push_back(output.view());
    return ours;
  }

  absl::StatusOr<std::vector<double>> Run(int count) {
    std::vector<double> ms(static_cast<size_t>(count));
    TENON_RETURN_IF_ERROR(session_.Run(inputs_, views_));
    for (double& value : ms) {
      const Clock::time_point start = Clock::now();
      TENON_RETURN_IF_ERROR(session_.Run(inputs_, views_));
      value = MsSince(start);
    }
    return ms;
  }
  std::span<const Tensor> outputs() const { return outputs_; }

 private:
  explicit Ours(Session session) : session_(std::move(session)) {}
  Session session_;
  std::vector<kernels::TensorView> inputs_, views_;
  std::vector<Tensor> outputs_;
};

absl::StatusOr<std::map<std::string, int64_t>> SizesOf(const Options& options, const Model& model,
                                                       std::vector<std::string>& notes) {
  Model inferred = model.Clone();
  OptimizeOptions optimize;
  optimize.level = 0;
  TENON_RETURN_IF_ERROR(Optimize(inferred, optimize));
  Operation* main = inferred.main();
  std::map<std::string, int64_t> sizes =
      ChooseSizes(main, options.dims, [](std::string_view symbol, size_t) -> int64_t {
        return ContainsIgnoringCase(symbol, "batch") ? 1 : 128;
      });
  std::vector<std::string_view> symbols;
  Block& entry = main->region().front();
  for (unsigned i = 0; i < entry.num_arguments(); ++i) {
    if (!entry.argument(i).type().is_tensor()) continue;
    for (DimExpr dim : entry.argument(i).type().dims()) dim.CollectSymbols(symbols);
  }
  for (const auto& [symbol, size] : sizes) {
    if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end()) {
      return absl::InvalidArgumentError(
          fmt::format("--dim names '{}', which no input has (there are: {})", symbol,
                      fmt::join(std::set<std::string_view>(symbols.begin(), symbols.end()), ", ")));
    }
    if (options.dims.count(symbol) != 0) continue;
    notes.push_back(fmt::format("dimension '{}' is {} (--dim={}=N sets it)", symbol, size, symbol));
  }
  return sizes;
}

absl::StatusOr<std::vector<Tensor>> MakeInputs(const Options& options, const Model& model,
                                               std::vector<std::string>& notes) {
  if (!options.inputs.empty()) {
    TENON_ASSIGN_OR_RETURN(Sample sample,
                           ReadInputs(model.main(), options.inputs, options.limits.library));
    return std::move(sample.inputs);
  }
  TENON_ASSIGN_OR_RETURN(const auto sizes, SizesOf(options, model, notes));
  TENON_ASSIGN_OR_RETURN(Sample sample, SampleInputs(model.main(), 0, sizes));
  return std::move(sample.inputs);
}

absl::StatusOr<std::vector<OutputReport>> CompareOutputs(const Options& options,
                                                         const Program& program,
                                                         std::span<const Tensor> ours,
                                                         std::string_view engine,
                                                         std::span<const Tensor> theirs) {
  if (ours.size() != theirs.size()) {
    return absl::UnavailableError(
        fmt::format("{}: it has {} results (expected {})", engine, theirs.size(), ours.size()));
  }
  std::vector<OutputReport> reports;
  for (size_t i = 0; i < ours.size(); ++i) {
    OutputReport& report = reports.emplace_back();
    report.name = program.outputs()[i].name;
    report.type = ours[i].type_text();
    if (theirs[i]) {
      report.difference = tools::CompareOutput(options, ours[i], theirs[i]);
    } else {
      report.difference.pass = true;
      report.difference.problem = fmt::format("{} gives no numbers", engine);
    }
  }
  return reports;
}

// The bench from the point where Tenon runs the model.
class Match {
 public:
  // `one_thread`: null unless it is among the engines.
  Match(const Options& options, const Program& program, Ours& ours, Ours* one_thread,
        Report& report)
      : options_(options),
        program_(program),
        ours_(ours),
        one_thread_(one_thread),
        report_(report) {}

  absl::Status Run(EngineReport tenon, std::span<const Tensor> inputs) {
    contestants_.push_back({"tenon", [this](int n) { return ours_.Run(n); },
                            CLOCK_PROCESS_CPUTIME_ID, 1, std::move(tenon)});
    TENON_RETURN_IF_ERROR(WarmUp(contestants_[0]));
    contestants_[0].report.memory_mb = PeakMemoryMb();
    TENON_RETURN_IF_ERROR(AddPeers(inputs));
    std::optional<Machine> machine;
    if (!options_.cuda) machine.emplace(options_.threads);
    TENON_RETURN_IF_ERROR(Rounds(machine));
    if (machine.has_value()) report_.machine = machine->report();
    for (Contestant& contestant : contestants_) {
      for (const std::unique_ptr<Peer>& peer : peers_) {
        if (peer->engine() == contestant.name) contestant.report.memory_mb = peer->memory_mb();
      }
      report_.engines.push_back(std::move(contestant.report));
    }
    for (EngineReport& failed : failed_) report_.engines.push_back(std::move(failed));
    return absl::OkStatus();
  }

 private:
  absl::Status WarmUp(Contestant& contestant) {
    TENON_ASSIGN_OR_RETURN(std::vector<double> ms, contestant.run(options_.warmup));
    const double fastest = std::max(*std::min_element(ms.begin(), ms.end()), 1e-6);
    contestant.runs_a_round = static_cast<int>(
        std::clamp<double>(std::floor(options_.turn_ms / fastest), 1, kMostRunsARound));
    return absl::OkStatus();
  }

  absl::Status AddPeers(std::span<const Tensor> inputs) {
    if (options_.against.empty()) return absl::OkStatus();
    TENON_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Make("ir-bench"));
    TENON_RETURN_IF_ERROR(tools::WritePeerInputs(folder.path(), program_, inputs));
    for (const std::string& engine : options_.against) {
      if (absl::Status status = AddPeer(engine, folder.path()); !status.ok()) {
        EngineReport& failed = failed_.emplace_back();
        failed.name = engine;
        failed.failure = std::string(status.message());
      }
    }
    return absl::OkStatus();
  }

  // In this process: the threads of the one sleep while the other runs.
  absl::Status AddOneThread() {
    contestants_.push_back({std::string(kOneThread),
                            [this](int n) { return one_thread_->Run(n); },
                            CLOCK_PROCESS_CPUTIME_ID,
                            1,
                            {}});
    EngineReport& report = contestants_.back().report;
    report.name = kOneThread;
    report.version = TENON_VERSION;
    TENON_RETURN_IF_ERROR(WarmUp(contestants_.back()));
    TENON_ASSIGN_OR_RETURN(report.outputs, CompareOutputs(options_, program_, ours_.outputs(),
                                                          kOneThread, one_thread_->outputs()));
    return absl::OkStatus();
  }

  absl::Status AddPeer(const std::string& engine, const std::string& folder) {
    if (engine == kOneThread) return AddOneThread();
    std::error_code error;
    const std::string model = fs::absolute(options_.model, error).string();
    TENON_ASSIGN_OR_RETURN(std::unique_ptr<Peer> peer, Peer::Start({.python = options_.python,
                                                                    .engine = engine,
                                                                    .model = model,
                                                                    .folder = folder,
                                                                    .threads = options_.threads,
                                                                    .cuda = options_.cuda}));
    Contestant contestant{
        engine, [p = peer.get()](int n) { return p->Run(n); }, peer->cpu_clock(), 1, {}};
    EngineReport& report = contestant.report;
    report.name = engine;
    report.version = peer->version();
    report.load_ms = peer->load_ms();
    TENON_RETURN_IF_ERROR(WarmUp(contestant));
    TENON_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, peer->Outputs());
    TENON_ASSIGN_OR_RETURN(report.outputs,
                           CompareOutputs(options_, program_, ours_.outputs(), engine, outputs));
    contestants_.push_back(std::move(contestant));
    peers_.push_back(std::move(peer));
    return absl::OkStatus();
  }

  absl::Status Rounds(std::optional<Machine>& machine) {
    const Clock::time_point start = Clock::now();
    for (int round = 0; round < options_.rounds; ++round) {
      if (round > 0 && MsSince(start) > options_.seconds * 1e3) break;
      if (machine.has_value()) Measure(*machine);
      // Every other round backwards: what drifts meets all alike.
      for (size_t i = 0; i < contestants_.size(); ++i) {
        Contestant& c = contestants_[round % 2 == 0 ? i : contestants_.size() - 1 - i];
        WaitForOthers(&c);
        TENON_ASSIGN_OR_RETURN(std::vector<double> ms, c.run(c.runs_a_round));
        c.report.ms.insert(c.report.ms.end(), ms.begin(), ms.end());
        c.report.rounds_ms.push_back(PercentilesOf(std::move(ms)).median);
      }
    }
    return absl::OkStatus();
  }

  void Measure(Machine& machine) {
    WaitForOthers(nullptr);
    machine.Turn(options_.turn_ms);
  }

  // Threads that spin for their next run would slow this one (null: the machine's turn).
  void WaitForOthers(const Contestant* contestant) {
    for (const Contestant& other : contestants_) {
      if (&other == contestant || WaitUntilIdle(other.clock)) continue;
      std::string note =
          fmt::format("threads of {} did not come to rest while others ran", other.name);
      if (std::find(report_.notes.begin(), report_.notes.end(), note) == report_.notes.end())
        report_.notes.push_back(std::move(note));
    }
  }

  const Options& options_;
  const Program& program_;
  Ours& ours_;
  Ours* one_thread_;
  Report& report_;
  std::vector<Contestant> contestants_;       // Tenon first
  std::vector<std::unique_ptr<Peer>> peers_;  // of those in processes of their own
  std::vector<EngineReport> failed_;
};

// The program of a file, with the settings of others.
absl::StatusOr<Program> LoadSaved(const Options& options, const CompileOptions& compile,
                                  const LoadOptions& load) {
  LoadProgramOptions saved;
  saved.threads = compile.threads;
  saved.limits = compile.limits;
  saved.extension = load.extension;
  saved.on_diagnostic = load.on_diagnostic;
  saved.on_fallback = compile.on_fallback;
  saved.gpu = compile.gpu;
  return LoadProgram(options.model, saved);
}

}  // namespace

bool Report::agree() const {
  for (const EngineReport& engine : engines) {
    for (const OutputReport& output : engine.outputs) {
      if (!output.difference.pass) return false;
    }
  }
  return true;
}

bool Report::complete() const {
  return std::all_of(engines.begin(), engines.end(),
                     [](const EngineReport& engine) { return engine.failure.empty(); });
}

absl::StatusOr<Report> RunBench(const Options& options, std::vector<std::string>& errors) {
  std::optional<Neighbour> neighbour;
  if (options.neighbour && !neighbour.emplace(options.neighbour_ms).running())
    return absl::InternalError("--neighbor: no process for it");
  if (options.pin) TENON_RETURN_IF_ERROR(PinToFirst(options.threads));

  LoadOptions load;
  load.extension = options.added.extension;
  load.on_diagnostic = [&](const Context& context, const Diagnostic& diagnostic) {
    if (diagnostic.severity == Severity::kError)
      errors.push_back(FormatDiagnostic(context, diagnostic));
    if (diagnostic.severity == Severity::kWarning)
      tools::PrintError(FormatDiagnostic(context, diagnostic));
  };
  Report report;
  report.processor = ProcessorName();
  CompileOptions compile;
  compile.limits = options.limits.library;
  compile.threads = options.threads;
  if (options.cuda) {
    TENON_ASSIGN_OR_RETURN(compile.gpu, tools::OpenDevice());
    report.notes.push_back(fmt::format("on {}, whose rates are not measured", compile.gpu->name()));
  }
  compile.on_fallback = [&report](std::string_view line) { report.notes.emplace_back(line); };
  EngineReport tenon;
  tenon.name = "tenon";
  tenon.version = TENON_VERSION;
  double load_ms = 0;
  Clock::time_point start = Clock::now();
  load.limits = options.limits.library;
  tools::SetExternalData(options.external_data, load);
  TENON_ASSIGN_OR_RETURN(Model model, Load(options.model, load));
  TENON_RETURN_IF_ERROR(options.outputs.CheckFiles(model.files()));
  if (model.main() == nullptr) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: nothing to run (expected a function @main, or one with a body)", options.model));
  }
  load_ms += MsSince(start);
  TENON_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                         MakeInputs(options, model, report.notes));
  const bool saved = IsSavedProgram(options.model);
  if (saved) {
    TENON_RETURN_IF_ERROR(tools::RefuseForSavedProgram(options));
    load_ms = 0;  // the model in the file is only looked at
  }
  start = Clock::now();
  OptimizeOptions optimize;
  optimize.level = saved ? 0 : options.level;
  optimize.precision = options.precision;
  optimize.rule_files = options.rule_files;
  optimize.disabled_rules = options.disabled_rules;
  optimize.fast_math = options.fast_math;
  OptimizeReport left;
  TENON_RETURN_IF_ERROR(Optimize(model, optimize, &left));
  report.precision = left.precision;
  if (left.precision != options.precision) {
    report.notes.push_back(fmt::format("--precision={}: the program stays in {}",
                                       Name(options.precision), Name(left.precision)));
  }
  report.cost = CostOf(model.main(), inputs);
  const std::shared_ptr<Context> context = model.shared_context();
  const bool with_one_thread = std::find(options.against.begin(), options.against.end(),
                                         kOneThread) != options.against.end();
  std::optional<Model> again;
  if (with_one_thread) again.emplace(model.Clone());
  if (saved) start = Clock::now();
  const auto make_program = [&](Model&& from) {
    return saved ? LoadSaved(options, compile, load) : Compile(std::move(from), compile);
  };
  TENON_ASSIGN_OR_RETURN(const Program program, make_program(std::move(model)));
  TENON_ASSIGN_OR_RETURN(const std::unique_ptr<Ours> ours, Ours::Make(program, inputs));
  tenon.load_ms = load_ms + MsSince(start);
  for (size_t i = 0; i < inputs.size(); ++i)
    report.inputs.push_back(fmt::format("{}: {}", program.inputs()[i].name, inputs[i].type_text()));
  std::unique_ptr<Ours> one_thread;
  if (with_one_thread) {
    compile.threads = 1;
    compile.on_fallback = nullptr;  // as of the first
    TENON_ASSIGN_OR_RETURN(const Program narrow, make_program(*std::move(again)));
    TENON_ASSIGN_OR_RETURN(one_thread, Ours::Make(narrow, inputs));
  }
  TENON_RETURN_IF_ERROR(
      Match(options, program, *ours, one_thread.get(), report).Run(std::move(tenon), inputs));
  context->diagnostics().SetHandler(nullptr);
  return report;
}

}  // namespace tenon::ir_bench
