#include "tools/ir-bench/report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "fmt/format.h"
#include "ir/base/shown_text.h"

namespace tenon::ir_bench {
namespace {

using Json = nlohmann::ordered_json;

// The output that is furthest off.
const OutputReport* Worst(const EngineReport& engine) {
  const OutputReport* worst = nullptr;
  for (const OutputReport& output : engine.outputs) {
    const bool worse = worst == nullptr || (worst->difference.pass && !output.difference.pass) ||
                       (worst->difference.pass == output.difference.pass &&
                        output.difference.max_rel > worst->difference.max_rel);
    if (worse) worst = &output;
  }
  return worst;
}

std::string Agreement(const EngineReport& engine) {
  const OutputReport* worst = Worst(engine);
  if (worst == nullptr) return "";
  const Difference& d = worst->difference;
  if (!d.pass) return fmt::format("; output {} DIFFERS: {}", worst->name, d.problem);
  const auto without_numbers =
      std::count_if(engine.outputs.begin(), engine.outputs.end(),
                    [](const OutputReport& output) { return !output.difference.problem.empty(); });
  std::string text;
  if (static_cast<size_t>(without_numbers) < engine.outputs.size())
    text = fmt::format("; outputs agree within {:.1e} abs {:.1e} rel", d.max_abs, d.max_rel);
  if (without_numbers > 0)
    text += fmt::format("; {} outputs give no numbers to compare", without_numbers);
  return text;
}

Estimate RatioOf(const EngineReport& theirs, const EngineReport& ours) {
  return MedianEstimate(Ratios(theirs.rounds_ms, ours.rounds_ms));
}

std::vector<double> RoundsOf(const MachineReport& machine, double MachineRates::*rate) {
  std::vector<double> values;
  for (const MachineRates& round : machine.rounds) values.push_back(round.*rate);
  return values;
}

// What Tenon reaches of what the machine reached beside it, round by round. `amount`: of a run, in
// units of which `rate` counts 1e9 in a second.
Estimate ShareOf(const Report& report, double amount, double MachineRates::*rate) {
  std::vector<double> reached;
  for (const double ms : report.engines.front().rounds_ms) reached.push_back(amount / ms / 1e6);
  return MedianEstimate(Ratios(reached, RoundsOf(report.machine, rate)));
}

// The least time by the machine's rates: of all FLOPs, or of all bytes.
double BoundMs(const Report& report) {
  const double by_flops = report.cost.flops / report.machine.best.gflops;
  const double by_bytes = report.cost.bytes / report.machine.best.read_gbps;
  return std::max(by_flops, by_bytes) / 1e6;
}

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json EstimateJson(const Estimate& estimate) {
  return {{"median", Number(estimate.median)},
          {"low", Number(estimate.low)},
          {"high", Number(estimate.high)}};
}

Json EngineJson(const EngineReport& engine, const EngineReport& tenon) {
  Json json = {{"name", engine.name}, {"version", engine.version}};
  if (!engine.failure.empty()) {
    json["failure"] = engine.failure;
    return json;
  }
  const Percentiles p = PercentilesOf(engine.ms);
  json["ms"] = {{"min", p.min}, {"median", p.median}, {"p90", p.p90}, {"p99", p.p99}};
  json["runs"] = engine.ms.size();
  json["rounds_ms"] = engine.rounds_ms;
  json["load_ms"] = engine.load_ms;
  json["memory_mb"] = engine.memory_mb;
  if (&engine == &tenon) return json;
  json["ratio"] = EstimateJson(RatioOf(engine, tenon));
  Json outputs = Json::array();
  for (const OutputReport& output : engine.outputs) {
    const Difference& d = output.difference;
    outputs.push_back({{"name", output.name},
                       {"type", output.type},
                       {"pass", d.pass},
                       {"max_abs_error", Number(d.max_abs)},
                       {"max_rel_error", Number(d.max_rel)}});
    if (!d.problem.empty()) outputs.back()["problem"] = d.problem;
  }
  json["outputs"] = std::move(outputs);
  return json;
}

// Zero: not measured, as of what runs in the process of another.
std::string Shown(double value) { return value == 0 ? "-" : fmt::format("{:.0f}", value); }

std::string NeighbourText(const Options& options) {
  if (!options.neighbour) return "";
  if (options.neighbour_ms == 0) return ", beside a busy process";
  return fmt::format(", beside a process busy for {} ms and idle for {} ms", options.neighbour_ms,
                     options.neighbour_ms);
}

std::string Notes(const Report& report) {
  std::string text;
  for (const std::string& note : report.notes) text += "note: " + ShownMessage(note) + "\n";
  return text;
}

// The parts of the JSON report that compare with the machine; null where it was not measured.
Json MachineJson(const Report& report) {
  if (report.machine.rounds.empty()) return nullptr;
  return {{"gflops", report.machine.best.gflops},
          {"read_gbps", report.machine.best.read_gbps},
          {"rounds_gflops", RoundsOf(report.machine, &MachineRates::gflops)},
          {"rounds_read_gbps", RoundsOf(report.machine, &MachineRates::read_gbps)}};
}
Json ShareJson(const Report& report) {
  if (report.machine.rounds.empty()) return nullptr;
  return {{"flops", EstimateJson(ShareOf(report, report.cost.flops, &MachineRates::gflops))},
          {"read", EstimateJson(ShareOf(report, report.cost.bytes, &MachineRates::read_gbps))}};
}

}  // namespace

std::string TextReport(const Report& report, const Options& options) {
  constexpr size_t kShown = 4;
  const EngineReport& tenon = report.engines.front();
  const size_t shown = std::min(kShown, report.inputs.size());
  std::string inputs =
      fmt::format("{}", fmt::join(report.inputs.data(), report.inputs.data() + shown, ", "));
  if (shown < report.inputs.size())
    inputs += fmt::format(" and {} more", report.inputs.size() - shown);
  std::string text = fmt::format("{}: {}\n{}; {} thread{}{}{}\n\n", options.model, inputs,
                                 report.processor, options.threads, options.threads == 1 ? "" : "s",
                                 options.pin ? ", pinned" : "", NeighbourText(options));
  text += fmt::format("{:<24} {:>10} {:>10} {:>10} {:>10} {:>6} {:>9} {:>9}\n", "ms", "min",
                      "median", "p90", "p99", "runs", "load ms", "peak MB");
  for (const EngineReport& engine : report.engines) {
    if (!engine.failure.empty()) continue;
    const Percentiles p = PercentilesOf(engine.ms);
    text += fmt::format("{:<24} {:>10.4f} {:>10.4f} {:>10.4f} {:>10.4f} {:>6} {:>9} {:>9}\n",
                        engine.name + " " + engine.version, p.min, p.median, p.p90, p.p99,
                        engine.ms.size(), Shown(engine.load_ms), Shown(engine.memory_mb));
  }
  text += "\n";
  for (const EngineReport& engine : report.engines) {
    if (&engine == &tenon) continue;
    if (!engine.failure.empty()) {
      text += fmt::format("{}: did not run: {}\n", engine.name, ShownMessage(engine.failure));
      continue;
    }
    const Estimate ratio = RatioOf(engine, tenon);
    text +=
        fmt::format("{} / tenon: {:.3f} ({:.3f} to {:.3f}, {} rounds){}\n", engine.name,
                    ratio.median, ratio.low, ratio.high, tenon.rounds_ms.size(), Agreement(engine));
  }
  const double gflop = report.cost.flops / 1e9, gbyte = report.cost.bytes / 1e9;
  const double seconds = PercentilesOf(tenon.ms).median / 1e3;
  if (report.machine.rounds.empty()) {
    text +=
        fmt::format("tenon: {:.3f} GFLOP, {:.1f} GFLOP/s\ntenon: {:.3f} GB at least, {:.1f} GB/s\n",
                    gflop, gflop / seconds, gbyte, gbyte / seconds);
    return text + Notes(report);
  }
  const Estimate gflops = MedianEstimate(RoundsOf(report.machine, &MachineRates::gflops));
  const Estimate read_gbps = MedianEstimate(RoundsOf(report.machine, &MachineRates::read_gbps));
  const Estimate of_flops = ShareOf(report, report.cost.flops, &MachineRates::gflops);
  const Estimate of_reads = ShareOf(report, report.cost.bytes, &MachineRates::read_gbps);
  text += fmt::format(
      "machine: {:.0f} GFLOP/s of f32 FMA, {:.1f} GB/s read; at best {:.0f}, {:.1f}\n",
      gflops.median, read_gbps.median, report.machine.best.gflops, report.machine.best.read_gbps);
  text += fmt::format(
      "tenon: {:.3f} GFLOP, {:.1f} GFLOP/s, {:.2f} of the machine ({:.2f} to {:.2f})\n"
      "tenon: {:.3f} GB at least, {:.1f} GB/s, {:.2f} of the machine ({:.2f} to {:.2f})\n"
      "bound at the best rates: {:.3f} ms, {:.2f} of the median\n",
      gflop, gflop / seconds, of_flops.median, of_flops.low, of_flops.high, gbyte, gbyte / seconds,
      of_reads.median, of_reads.low, of_reads.high, BoundMs(report),
      BoundMs(report) / seconds / 1e3);
  return text + Notes(report);
}

std::string JsonReport(const Report& report, const Options& options) {
  Json engines = Json::array();
  for (const EngineReport& engine : report.engines)
    engines.push_back(EngineJson(engine, report.engines.front()));
  const Json json = {
      {"model", options.model},
      {"inputs", report.inputs},
      {"level", options.level},
      {"precision", Name(report.precision)},
      {"threads", options.threads},
      {"pinned", options.pin},
      {"neighbor", options.neighbour},
      {"neighbor_ms", options.neighbour_ms},
      {"processor", report.processor},
      {"device", options.cuda ? "cuda" : "cpu"},
      {"machine", MachineJson(report)},
      {"share", ShareJson(report)},
      {"cost",
       {{"flops", report.cost.flops},
        {"bytes", report.cost.bytes},
        {"bound_ms", report.machine.rounds.empty() ? Json(nullptr) : Json(BoundMs(report))}}},
      {"rounds", report.engines.front().rounds_ms.size()},
      {"agree", report.agree()},
      {"engines", std::move(engines)},
      {"notes", report.notes}};
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace tenon::ir_bench
