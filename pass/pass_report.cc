#include "pass/pass_report.h"

#include "fmt/format.h"

namespace tenon {
namespace {

constexpr std::string_view kRule =
    "===-------------------------------------------------------------------------===\n";

double Percent(double part, double total) { return total > 0 ? 100 * part / total : 0; }

void TimingLine(double seconds, double total, int depth, std::string_view name, std::string& out) {
  out += fmt::format("  {:8.4f} ({:5.1f}%)  {:{}}{}\n", seconds, Percent(seconds, total), "",
                     2 * depth, name);
}

void TimingLines(const PassPipeline& pipeline, double total, int depth, std::string& out) {
  for (const PipelineItem& item : pipeline.items) {
    if (item.nested) {
      TimingLine(item.seconds, total, depth, fmt::format("'{}' Pipeline", item.nested->anchor),
                 out);
      TimingLines(*item.nested, total, depth + 1, out);
    } else {
      TimingLine(item.seconds, total, depth, item.info->name, out);
    }
    if (item.verify_seconds > 0) TimingLine(item.verify_seconds, total, depth + 1, "(verify)", out);
  }
}

std::string JsonItems(const PassPipeline& pipeline) {
  std::string text = "[";
  for (size_t i = 0; i < pipeline.items.size(); ++i) {
    const PipelineItem& item = pipeline.items[i];
    text += fmt::format(R"({}{{"name": "{}", "seconds": {:.6f}, "verify_seconds": {:.6f})",
                        i > 0 ? ", " : "", item.nested ? item.nested->anchor : item.info->name,
                        item.seconds, item.verify_seconds);
    if (item.nested) text += R"(, "children": )" + JsonItems(*item.nested);
    text += '}';
  }
  return text + ']';
}

void StatisticsLines(const PassPipeline& pipeline, std::string& out) {
  for (const PipelineItem& item : pipeline.items) {
    if (item.nested) StatisticsLines(*item.nested, out);
    if (item.statistics.counts().empty()) continue;
    out += fmt::format("{}\n", item.info->name);
    for (const auto& [name, count] : item.statistics.counts())
      out += fmt::format("  {:8} {}\n", count, name);
  }
}

std::string Banner(std::string_view title) {
  return fmt::format("{}{:^79}\n{}", kRule, fmt::format("... {} ...", title), kRule);
}

}  // namespace

std::string TimingReport(const PassPipeline& pipeline, double total) {
  std::string out = Banner("Execution time report");
  out += fmt::format("  Total: {:.4f} seconds\n\n  ----Wall Time----  ----Name----\n", total);
  TimingLines(pipeline, total, 0, out);
  TimingLine(total, total, 0, "Total", out);
  return out;
}

std::string TimingJson(const PassPipeline& pipeline, double total) {
  return fmt::format("{{\"name\": \"{}\", \"seconds\": {:.6f}, \"children\": {}}}\n",
                     pipeline.anchor, total, JsonItems(pipeline));
}

std::string StatisticsReport(const PassPipeline& pipeline) {
  std::string out = Banner("Pass statistics report");
  StatisticsLines(pipeline, out);
  return out;
}

}  // namespace tenon
