#include "pass/pass_report.h"

#include <utility>

#include "fmt/format.h"
#include "ir/base/shown_text.h"

namespace tenon {
namespace {

constexpr std::string_view kRule =
    "===-------------------------------------------------------------------------===\n";

double Percent(double part, double total) { return total > 0 ? 100 * part / total : 0; }

void TimingLine(double seconds, double total, int depth, std::string_view name, std::string& out) {
  out += fmt::format("  {:8.4f} ({:5.1f}%)  {:{}}{}\n", seconds, Percent(seconds, total), "",
                     2 * depth, name);
}

void TimingLines(const PassTimes& times, double total, int depth, std::string& out) {
  for (const PassTimes& part : times.parts) {
    TimingLine(part.seconds, total, depth,
               part.nested ? fmt::format("'{}' Pipeline", part.name) : part.name, out);
    TimingLines(part, total, depth + 1, out);
    if (part.verify_seconds > 0) TimingLine(part.verify_seconds, total, depth + 1, "(verify)", out);
  }
}

std::string JsonParts(const PassTimes& times) {
  std::string text = "[";
  for (size_t i = 0; i < times.parts.size(); ++i) {
    const PassTimes& part = times.parts[i];
    text += fmt::format(R"({}{{"name": "{}", "seconds": {:.6f}, "verify_seconds": {:.6f})",
                        i > 0 ? ", " : "", part.name, part.seconds, part.verify_seconds);
    if (part.nested) text += R"(, "children": )" + JsonParts(part);
    text += '}';
  }
  return text + ']';
}

std::string JsonCounts(const std::map<std::string, int64_t, std::less<>>& counts) {
  std::string text = "{";
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{}: {}", text.size() > 1 ? ", " : "", JsonQuoted(name), count);
  return text + '}';
}

void AddStatisticsJson(const PassPipeline& pipeline, std::string& out) {
  for (const PipelineItem& item : pipeline.items) {
    if (item.nested) AddStatisticsJson(*item.nested, out);
    if (item.statistics.counts().empty()) continue;
    out += fmt::format(R"({}{{"name": {}, "number": "{}", "statistics": {}}})",
                       out.empty() ? "" : ", ", JsonQuoted(item.info->name), item.number,
                       JsonCounts(item.statistics.counts()));
  }
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

PassTimes TimesOf(const PassPipeline& pipeline, double total) {
  PassTimes times;
  times.name = pipeline.anchor;
  times.nested = true;
  times.seconds = total;
  for (const PipelineItem& item : pipeline.items) {
    PassTimes part;
    if (item.nested) {
      part = TimesOf(*item.nested, item.seconds);
    } else {
      part.name = item.info->name;
      part.seconds = item.seconds;
    }
    part.verify_seconds = item.verify_seconds;
    times.parts.push_back(std::move(part));
  }
  return times;
}

std::string TimingReport(const PassTimes& times, const AroundPasses* around) {
  double total = times.seconds;
  if (around != nullptr) total += around->read_seconds + around->write_seconds;
  std::string out = Banner("Execution time report");
  out += fmt::format("  Total: {:.4f} seconds\n\n  ----Wall Time----  ----Name----\n", total);
  if (around != nullptr) TimingLine(around->read_seconds, total, 0, "(read)", out);
  TimingLines(times, total, 0, out);
  if (around != nullptr) TimingLine(around->write_seconds, total, 0, "(write)", out);
  TimingLine(total, total, 0, "Total", out);
  return out;
}

std::string TimingJson(const PassTimes& times, const AroundPasses* around) {
  std::string more;
  if (around != nullptr) {
    more = fmt::format(R"("read_seconds": {:.6f}, "write_seconds": {:.6f}, )", around->read_seconds,
                       around->write_seconds);
  }
  return fmt::format("{{\"name\": \"{}\", \"seconds\": {:.6f}, {}\"children\": {}}}\n", times.name,
                     times.seconds, more, JsonParts(times));
}

std::string StatisticsReport(const PassPipeline& pipeline) {
  std::string out = Banner("Pass statistics report");
  StatisticsLines(pipeline, out);
  return out;
}

std::string StatisticsJson(const PassPipeline& pipeline,
                           const std::map<std::string, int64_t, std::less<>>* rule_counts) {
  std::string passes;
  AddStatisticsJson(pipeline, passes);
  const std::string rules =
      rule_counts == nullptr ? "" : fmt::format(R"(, "rules": {})", JsonCounts(*rule_counts));
  return fmt::format("{{\"passes\": [{}]{}}}\n", passes, rules);
}

}  // namespace tenon
