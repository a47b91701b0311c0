#include "executor/profile/profile_report.h"

#include <algorithm>
#include <cctype>
#include <functional>

#include "fmt/format.h"
#include "ir/base/shown_text.h"

namespace tenon {
namespace {

struct Row {
  std::string kernel, name;
  int64_t calls = 0, ns = 0;
  double flops = 0, bytes = 0;

  void Add(const ProfiledCall& call, int64_t duration) {
    ++calls;
    ns += duration;
    flops += call.cost.flops;
    bytes += call.cost.bytes;
  }
  // An operation a nanosecond is one GFLOP/s.
  double gflops() const { return ns > 0 ? flops / static_cast<double>(ns) : 0; }
  double gbytes() const { return ns > 0 ? bytes / static_cast<double>(ns) : 0; }
};

using KeyFn = std::function<std::pair<std::string, std::string>(const ProfiledCall&)>;

// Sums by what `key` says (kernel, name), the longest first.
std::vector<Row> Sum(const Profiler& profiler, const KeyFn& key) {
  std::map<std::pair<std::string, std::string>, Row> rows;
  for (const Profiler::Event& event : profiler.events()) {
    const ProfiledCall& call = profiler.calls()[static_cast<size_t>(event.call)];
    Row& row = rows[key(call)];
    row.Add(call, event.end_ns - event.begin_ns);
  }
  std::vector<Row> sorted;
  for (auto& [names, row] : rows) {
    row.kernel = names.first;
    row.name = names.second;
    sorted.push_back(std::move(row));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Row& a, const Row& b) { return a.ns > b.ns; });
  return sorted;
}

std::vector<Row> ByNode(const Profiler& profiler) {
  return Sum(profiler, [](const ProfiledCall& call) {
    return std::pair(call.kernel, call.node.empty() ? "(" + call.op + ")" : call.node);
  });
}
std::vector<Row> ByKernel(const Profiler& profiler) {
  return Sum(profiler, [](const ProfiledCall& call) { return std::pair(call.kernel, call.op); });
}
std::vector<Row> ByLayer(const Profiler& profiler) {
  return Sum(profiler, [](const ProfiledCall& call) {
    return std::pair(std::string(), std::string(LayerOf(call.node)));
  });
}

// Only what has a reason to be slow or elsewhere: (reason, kernel and operation).
std::vector<Row> Fallbacks(const Profiler& profiler) {
  std::vector<Row> rows = Sum(profiler, [](const ProfiledCall& call) {
    return std::pair(call.fallback, fmt::format("{} of {}", call.kernel, call.op));
  });
  std::erase_if(rows, [](const Row& row) { return row.kernel.empty(); });
  return rows;
}

struct Totals {
  double runs = 0, run_ns = 0, kernel_ns = 0;
};

Totals TotalsOf(const Profiler& profiler) {
  Totals totals;
  totals.runs = static_cast<double>(std::max<size_t>(profiler.runs().size(), 1));
  for (const auto& run : profiler.runs()) {
    totals.run_ns += static_cast<double>(run.end_ns - run.begin_ns);
  }
  for (const auto& event : profiler.events()) {
    totals.kernel_ns += static_cast<double>(event.end_ns - event.begin_ns);
  }
  return totals;
}

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

std::string Table(std::string_view title, std::vector<Row> rows, size_t limit,
                  const Totals& totals) {
  if (rows.size() > limit) {
    Row rest;
    rest.name = fmt::format("{} more", rows.size() - limit);
    for (size_t i = limit; i < rows.size(); ++i) {
      rest.calls += rows[i].calls;
      rest.ns += rows[i].ns;
      rest.flops += rows[i].flops;
      rest.bytes += rows[i].bytes;
    }
    rows.resize(limit);
    rows.push_back(std::move(rest));
  }
  size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.kernel.size());
  std::string text = fmt::format("{:>10}  {:>6}  {:>7}  {:>8}  {:>7}  {}\n", "ms", "share", "calls",
                                 "GFLOP/s", "GB/s", title);
  for (const Row& row : rows) {
    const auto ns = static_cast<double>(row.ns);
    const std::string name = ShownName(row.name);
    const std::string names = width > 0 ? fmt::format("{:<{}}  {}", row.kernel, width, name) : name;
    text += fmt::format("{:>10.4f}  {:>5.1f}%  {:>7.6g}  {:>8.1f}  {:>7.1f}  {}\n",
                        ns / totals.runs * 1e-6, 100 * Ratio(ns, totals.run_ns),
                        static_cast<double>(row.calls) / totals.runs, row.gflops(), row.gbytes(),
                        names);
  }
  return text;
}

std::string FallbackTable(const std::vector<Row>& rows, size_t limit, const Totals& totals) {
  std::string text = fmt::format("{:>10}  {:>6}  {:>7}  {}\n", "ms", "share", "calls",
                                 "fallback and why there is no faster kernel");
  for (size_t i = 0; i < std::min(rows.size(), limit); ++i) {
    const auto ns = static_cast<double>(rows[i].ns);
    text += fmt::format("{:>10.4f}  {:>5.1f}%  {:>7.6g}  {}: {}\n", ns / totals.runs * 1e-6,
                        100 * Ratio(ns, totals.run_ns),
                        static_cast<double>(rows[i].calls) / totals.runs, rows[i].name,
                        ShownName(rows[i].kernel));
  }
  if (rows.size() > limit) text += fmt::format("{:>27}  {} more\n", "", rows.size() - limit);
  return text;
}

std::string FallbacksJson(const std::vector<Row>& rows, const Totals& totals) {
  std::string text = "[";
  for (const Row& row : rows) {
    text += fmt::format("{}\n    {{\"call\": {}, \"reason\": {}, \"ms\": {:.6f}, \"calls\": {}}}",
                        text.size() > 1 ? "," : "", JsonQuoted(row.name), JsonQuoted(row.kernel),
                        static_cast<double>(row.ns) / totals.runs * 1e-6,
                        static_cast<double>(row.calls) / totals.runs);
  }
  return text + "\n  ]";
}

std::string RowsJson(const std::vector<Row>& rows, std::string_view name, const Totals& totals) {
  std::string text = "[";
  for (const Row& row : rows) {
    if (text.size() > 1) text += ",";
    text += "\n    {";
    if (!row.kernel.empty()) text += fmt::format("\"kernel\": {}, ", JsonQuoted(row.kernel));
    text += fmt::format(
        "\"{}\": {}, \"ms\": {:.6f}, \"share\": {:.6f}, \"calls\": {}, \"gflops\": {:.3f}, "
        "\"gb_per_s\": {:.3f}}}",
        name, JsonQuoted(row.name), static_cast<double>(row.ns) / totals.runs * 1e-6,
        Ratio(static_cast<double>(row.ns), totals.run_ns),
        static_cast<double>(row.calls) / totals.runs, row.gflops(), row.gbytes());
  }
  return text + "\n  ]";
}

// A further member, or nothing.
std::string FallbackJson(const ProfiledCall& call) {
  return call.fallback.empty() ? "" : ", \"fallback\": " + JsonQuoted(call.fallback);
}

}  // namespace

std::string_view LayerOf(std::string_view node) {
  size_t last = std::string_view::npos;  // the last separator
  for (size_t begin = 0; begin < node.size();) {
    const size_t end = std::min(node.find('/', begin), node.size());
    const std::string_view part = node.substr(begin, end - begin);
    const bool numbered =
        std::any_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (numbered && end < node.size()) return node.substr(0, end);
    if (end < node.size() && end > 0) last = end;
    begin = end + 1;
  }
  return last == std::string_view::npos ? std::string_view("(no layer)") : node.substr(0, last);
}

std::string ProfileTable(const Profiler& profiler, size_t rows) {
  const Totals totals = TotalsOf(profiler);
  std::string text =
      fmt::format("profile: {} runs of {:.4f} ms, {:.1f}% of it in kernels\n\n", totals.runs,
                  totals.run_ns / totals.runs * 1e-6, 100 * Ratio(totals.kernel_ns, totals.run_ns));
  text += Table("kernel and node", ByNode(profiler), rows, totals) + "\n";
  text += Table("kernel and operation", ByKernel(profiler), rows, totals) + "\n";
  text += Table("layer", ByLayer(profiler), rows, totals);
  const std::vector<Row> fallbacks = Fallbacks(profiler);
  return fallbacks.empty() ? text : text + "\n" + FallbackTable(fallbacks, rows, totals);
}

std::string ProfileJson(const Profiler& profiler) {
  const Totals totals = TotalsOf(profiler);
  std::string text =
      fmt::format("{{\n  \"runs\": {}, \"run_ms\": {:.6f}, \"kernel_ms\": {:.6f},\n", totals.runs,
                  totals.run_ns / totals.runs * 1e-6, totals.kernel_ns / totals.runs * 1e-6);
  text += "  \"nodes\": " + RowsJson(ByNode(profiler), "node", totals) + ",\n";
  text += "  \"kernels\": " + RowsJson(ByKernel(profiler), "op", totals) + ",\n";
  text += "  \"layers\": " + RowsJson(ByLayer(profiler), "layer", totals) + ",\n";
  text += "  \"fallbacks\": " + FallbacksJson(Fallbacks(profiler), totals) + ",\n";
  text += "  \"calls\": [";
  std::vector<int64_t> times(profiler.calls().size(), 0), counts(profiler.calls().size(), 0);
  for (const Profiler::Event& event : profiler.events()) {
    times[static_cast<size_t>(event.call)] += event.end_ns - event.begin_ns;
    ++counts[static_cast<size_t>(event.call)];
  }
  for (size_t i = 0; i < profiler.calls().size(); ++i) {
    const ProfiledCall& call = profiler.calls()[i];
    text += fmt::format(
        "{}\n    {{\"kernel\": {}, \"op\": {}, \"node\": {}, \"shapes\": {}, \"flops\": {:.0f}, "
        "\"bytes\": {:.0f}, \"calls\": {}, \"ms\": {:.6f}{}}}",
        i == 0 ? "" : ",", JsonQuoted(call.kernel), JsonQuoted(call.op), JsonQuoted(call.node),
        JsonQuoted(call.shapes), call.cost.flops, call.cost.bytes,
        static_cast<double>(counts[i]) / totals.runs,
        static_cast<double>(times[i]) / totals.runs * 1e-6, FallbackJson(call));
  }
  return text + "\n  ]\n}\n";
}

std::string ProfileTrace(const Profiler& profiler) {
  int64_t zero = 0;
  if (!profiler.runs().empty()) zero = profiler.runs()[0].begin_ns;
  // Microseconds, as the format wants.
  const auto times = [&](int64_t begin_ns, int64_t end_ns) {
    return fmt::format("\"ts\": {:.3f}, \"dur\": {:.3f}",
                       static_cast<double>(begin_ns - zero) * 1e-3,
                       static_cast<double>(end_ns - begin_ns) * 1e-3);
  };
  std::string text =
      "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n"
      "{\"ph\": \"M\", \"pid\": 1, \"name\": \"process_name\", \"args\": {\"name\": \"Tenon\"}},\n"
      "{\"ph\": \"M\", \"pid\": 1, \"tid\": 0, \"name\": \"thread_name\", \"args\": {\"name\": "
      "\"instructions\"}}";
  int threads = 0;
  for (const Profiler::Event& chunk : profiler.chunks()) {
    threads = std::max(threads, chunk.thread + 1);
  }
  for (int thread = 0; thread < threads; ++thread) {
    text += fmt::format(
        ",\n{{\"ph\": \"M\", \"pid\": 1, \"tid\": {}, \"name\": \"thread_name\", \"args\": "
        "{{\"name\": \"thread {}\"}}}}",
        thread + 1, thread);
  }
  for (const auto& run : profiler.runs()) {
    text += fmt::format(",\n{{\"ph\": \"X\", \"pid\": 1, \"tid\": 0, \"name\": \"run\", {}}}",
                        times(run.begin_ns, run.end_ns));
  }
  for (const Profiler::Event& event : profiler.events()) {
    const ProfiledCall& call = profiler.calls()[static_cast<size_t>(event.call)];
    text += fmt::format(
        ",\n{{\"ph\": \"X\", \"pid\": 1, \"tid\": 0, \"name\": {}, \"cat\": {}, {}, \"args\": "
        "{{\"node\": {}, \"kernel\": {}, \"shapes\": {}, \"flops\": {:.0f}, \"bytes\": "
        "{:.0f}{}}}}}",
        JsonQuoted(call.op), JsonQuoted(LayerOf(call.node)), times(event.begin_ns, event.end_ns),
        JsonQuoted(call.node), JsonQuoted(call.kernel), JsonQuoted(call.shapes), call.cost.flops,
        call.cost.bytes, FallbackJson(call));
  }
  for (const Profiler::Event& chunk : profiler.chunks()) {
    const std::string_view name =
        chunk.call < 0 ? std::string_view("preparation")
                       : std::string_view(profiler.calls()[static_cast<size_t>(chunk.call)].op);
    text += fmt::format(",\n{{\"ph\": \"X\", \"pid\": 1, \"tid\": {}, \"name\": {}, {}}}",
                        chunk.thread + 1, JsonQuoted(name), times(chunk.begin_ns, chunk.end_ns));
  }
  return text + "\n]}\n";
}

}  // namespace tenon
