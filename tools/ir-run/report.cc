#include "tools/ir-run/report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "fmt/format.h"
#include "ir/base/shown_text.h"

namespace tenon::ir_run {
namespace {

using Json = nlohmann::ordered_json;

std::string OpTable(const Report& report) {
  std::set<std::string> names;
  size_t width = 5;
  int64_t before_total = 0, after_total = 0;
  for (const OpCounts* counts : {&report.ops_before, &report.ops_after}) {
    for (const auto& [name, count] : *counts) {
      names.insert(name);
      width = std::max(width, ShownName(name).size());
      (counts == &report.ops_before ? before_total : after_total) += count;
    }
  }
  auto row = [&](std::string_view name, const std::string& before, const std::string& after) {
    return fmt::format("  {:<{}}  {:>7}  {:>7}\n", name, width, before, after);
  };
  auto cell = [](const OpCounts& counts, const std::string& name) {
    auto it = counts.find(name);
    return it == counts.end() ? std::string("-") : fmt::format("{}", it->second);
  };
  std::string text = row("op", "before", "after");
  for (const std::string& name : names)
    text += row(ShownName(name), cell(report.ops_before, name), cell(report.ops_after, name));
  return text + row("total", fmt::format("{}", before_total), fmt::format("{}", after_total));
}

double ArenaRatio(const Session::Stats& memory) {
  return memory.arena_bound_bytes > 0 ? static_cast<double>(memory.arena_bytes) /
                                            static_cast<double>(memory.arena_bound_bytes)
                                      : 1.0;
}

std::string MemoryLine(const Session::Stats& memory) {
  const auto kib = [](size_t bytes) { return static_cast<double>(bytes) / 1024; };
  return fmt::format(
      "memory: arena {:.1f} KiB, {:.3f} of the bound {:.1f} KiB; all buffers {:.1f} KiB{}\n",
      kib(memory.arena_bytes), ArenaRatio(memory), kib(memory.arena_bound_bytes),
      kib(memory.buffer_bytes),
      memory.device_arena_bytes == 0
          ? ""
          : fmt::format("; arena of the device {:.1f} KiB", kib(memory.device_arena_bytes)));
}

std::string ErrorText(const Difference& d, bool judged = true) {
  return fmt::format("{:.2e} abs {:.2e} rel{}", d.max_abs, d.max_rel,
                     d.pass || !judged ? "" : fmt::format(" FAIL ({})", d.problem));
}

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json DifferenceJson(const Difference& d) {
  Json json = {
      {"pass", d.pass}, {"max_abs_error", Number(d.max_abs)}, {"max_rel_error", Number(d.max_rel)}};
  if (!d.problem.empty()) json["problem"] = d.problem;
  return json;
}

}  // namespace

std::string TextReport(const Report& report, const Options& options) {
  std::string text = OpTable(report);
  if (!report.rules.empty()) {
    text += "\nrules\n";
    size_t width = 0;
    for (const auto& [rule, hits] : report.rules) width = std::max(width, rule.size());
    for (const auto& [rule, hits] : report.rules) {
      if (hits > 0) text += fmt::format("  {:<{}}  {:>5}\n", rule, width, hits);
    }
  }
  text += "\n";
  for (const CaseReport& c : report.cases) {
    if (report.cases.size() > 1) text += ShownName(c.name) + "\n";
    for (const OutputReport& output : c.outputs) {
      text += fmt::format("output {} ({})\n", ShownName(output.name), output.type);
      if (output.has_expected) {
        text += "  original  against expected  " + ErrorText(output.original) + "\n";
        text += "  optimized against expected  " + ErrorText(output.optimized) + "\n";
      }
      text +=
          "  optimized against original  " + ErrorText(output.between, !output.has_expected) + "\n";
    }
  }
  text += fmt::format(
      "\noriginal {:.3f} ms, optimized {:.3f} ms: {:.2f}x faster (-O{}{}, median of {} runs)\n",
      report.original_ms, report.optimized_ms,
      report.optimized_ms > 0 ? report.original_ms / report.optimized_ms : 0.0, options.level,
      report.precision == Precision::kFp32 ? "" : fmt::format(", {}", Name(report.precision)),
      report.runs);
  text += MemoryLine(report.memory);
  if (!report.profile.empty()) text += "\n" + report.profile + "\n";
  for (const std::string& note : report.notes) text += "note: " + ShownMessage(note) + "\n";
  text += report.pass() ? "PASS\n" : "FAIL\n";
  return text;
}

std::string JsonReport(const Report& report, const Options& options) {
  Json outputs = Json::array();
  for (const CaseReport& c : report.cases) {
    for (const OutputReport& output : c.outputs) {
      const Difference& main = output.has_expected ? output.optimized : output.between;
      Json entry = {{"name", output.name},
                    {"case", c.name},
                    {"type", output.type},
                    {"pass", output.pass()},
                    {"max_abs_error", Number(main.max_abs)},
                    {"max_rel_error", Number(main.max_rel)}};
      if (output.has_expected) {
        entry["original_vs_expected"] = DifferenceJson(output.original);
        entry["optimized_vs_expected"] = DifferenceJson(output.optimized);
      }
      entry["optimized_vs_original"] = DifferenceJson(output.between);
      outputs.push_back(std::move(entry));
    }
  }
  Json rules = Json::object();
  for (const auto& [rule, hits] : report.rules) rules[rule] = hits;
  const Json json = {
      {"model", options.model},
      {"level", options.level},
      {"precision", Name(report.precision)},
      {"pass", report.pass()},
      {"original", {{"median_ms", report.original_ms}}},
      {"optimized", {{"median_ms", report.optimized_ms}}},
      {"speedup",
       report.optimized_ms > 0 ? Json(report.original_ms / report.optimized_ms) : Json(nullptr)},
      {"runs", report.runs},
      {"memory",
       {{"arena_bytes", report.memory.arena_bytes},
        {"bound_bytes", report.memory.arena_bound_bytes},
        {"arena_to_bound", ArenaRatio(report.memory)},
        {"buffer_bytes", report.memory.buffer_bytes},
        {"device_arena_bytes", report.memory.device_arena_bytes}}},
      {"outputs", std::move(outputs)},
      {"rules", std::move(rules)},
      {"ops_before", report.ops_before},
      {"ops_after", report.ops_after},
      {"notes", report.notes}};
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace tenon::ir_run
