#include "frontends/view/comparison.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "drr/match/matcher.h"
#include "fmt/format.h"
#include "frontends/cpp/files/json_text.h"
#include "ir/base/shown_text.h"
#include "ir/core/location.h"
#include "nlohmann/json.hpp"
#include "pass/reports/log_view.h"

namespace tenon::view {
namespace {

size_t Index(int index) { return static_cast<size_t>(index); }

// Ops by each of their nodes. Looked up, never iterated.
using OpsByNode = std::unordered_map<std::string_view, std::vector<int>>;

OpsByNode ByNode(const Program& program) {
  OpsByNode ops;
  for (size_t i = 0; i < program.ops.size(); ++i)
    for (const std::string& node : program.ops[i].from) ops[node].push_back(static_cast<int>(i));
  return ops;
}

Program& Last(Comparison& comparison) {
  return comparison.after.has_value() ? *comparison.after : comparison.before;
}

// The ops that come from any of these nodes, in their order.
std::vector<int> OpsOf(const std::vector<std::string>& nodes, const OpsByNode& by_node) {
  std::vector<int> ops;
  for (const std::string& node : nodes) {
    if (const auto at = by_node.find(node); at != by_node.end())
      ops.insert(ops.end(), at->second.begin(), at->second.end());
  }
  if (nodes.size() > 1) {
    std::sort(ops.begin(), ops.end());
    ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  }
  return ops;
}

Fate FateAfter(const Op& op, const std::vector<int>& origins, const Program& before) {
  if (op.name == "input" || op.name == "argument") return Fate::kKept;
  const auto is_same = [&](int other) { return before.ops[Index(other)].name == op.name; };
  const bool same = std::any_of(origins.begin(), origins.end(), is_same);
  if (op.rule.empty() && (same || op.from.empty())) return Fate::kKept;
  if (origins.empty()) return Fate::kNew;
  return origins.size() > 1 ? Fate::kFused : Fate::kRewritten;
}

}  // namespace

void OriginRecorder::PassBegins(std::string_view text, Operation*) { pass_ = std::string(text); }

void OriginRecorder::StepBegins(const RewriteStep& step) {
  is_rule_ = step.kind == RewriteStep::Kind::kRule;
  created_.clear();
  matched_.clear();
  if (!is_rule_) return;
  step_ = {std::string(step.name), std::string(step.place), pass_, {}};
  for (const Operation* op : step.ops) {
    std::vector<std::string> nodes = drr::DescribeAllLocations(op->context(), op->location());
    // An op of the match may itself stand for more than its location can hold.
    if (const Maker* maker = Find(op->name(), nodes); maker != nullptr && !maker->from.empty())
      nodes = maker->from;
    for (std::string& node : nodes) matched_.push_back(std::move(node));
  }
}

void OriginRecorder::StepEnds() {
  if (!is_rule_) return;
  for (const Operation* op : created_) {
    const std::vector<std::string> nodes = drr::DescribeAllLocations(op->context(), op->location());
    if (nodes.empty()) continue;
    Maker maker = step_;
    if (nodes.size() >= Location::kMaxFused) {
      for (const std::string& node : matched_) {
        if (std::find(maker.from.begin(), maker.from.end(), node) == maker.from.end())
          maker.from.push_back(node);
      }
    }
    makers_.insert_or_assign(Key(op->name(), nodes.front()), std::move(maker));
  }
  created_.clear();
}

const OriginRecorder::Maker* OriginRecorder::Find(std::string_view op,
                                                  const std::vector<std::string>& from) const {
  if (from.empty()) return nullptr;
  const auto at = makers_.find(Key(op, from.front()));
  return at == makers_.end() ? nullptr : &at->second;
}

absl::StatusOr<Times> ReadTimes(std::string_view json) {
  constexpr int kDeepest = 8;  // the reader looks at three levels
  JsonMistake mistake;
  const nlohmann::json whole = ReadJsonText(json, kDeepest, mistake);
  const auto wrong = [](std::string_view what) {
    return absl::InvalidArgumentError(
        fmt::format("{} (expected the JSON of 'ir-run --profile=FILE.json')", what));
  };
  if (mistake.kind == JsonMistake::Kind::kDepth) return wrong("it is nested too deeply");
  if (mistake.kind == JsonMistake::Kind::kTwice)
    return wrong(fmt::format("it has the key '{}' twice", ShownName(mistake.key)));
  if (mistake.kind != JsonMistake::Kind::kNone) return wrong("it is not JSON");
  if (!whole.is_object() || !whole.contains("calls") || !whole["calls"].is_array())
    return wrong("it has no list 'calls'");
  Times times;
  for (const nlohmann::json& call : whole["calls"]) {
    if (!call.is_object() || !call.contains("op") || !call["op"].is_string() ||
        !call.contains("node") || !call["node"].is_string() || !call.contains("ms") ||
        !call["ms"].is_number()) {
      return wrong("an entry of 'calls' lacks 'op', 'node' or 'ms'");
    }
    const double ms = call["ms"].get<double>();
    if (!(ms >= 0) || ms > 1e12) return wrong("a time of 'calls' is negative or too long");
    times.ms[{call["op"].get<std::string>(), call["node"].get<std::string>()}] += ms;
    times.all_ms += ms;
  }
  return times;
}

void Compare(const OriginRecorder& origins, Comparison& comparison) {
  if (!comparison.after.has_value()) return;
  Program& before = comparison.before;
  Program& after = *comparison.after;
  const OpsByNode by_node = ByNode(before);
  std::vector<bool> fused(before.ops.size(), false), kept = fused, rewritten = fused;
  for (Op& op : after.ops) {
    if (const OriginRecorder::Maker* maker = origins.Find(op.name, op.from); maker != nullptr) {
      op.rule = maker->rule;
      op.place = maker->place;
      op.pass = maker->pass;
      if (!maker->from.empty()) op.from = maker->from;
    }
    const std::vector<int> from = OpsOf(op.from, by_node);
    op.fate = FateAfter(op, from, before);
    for (const int origin : from) {
      std::vector<bool>& list = op.fate == Fate::kFused       ? fused
                                : op.fate == Fate::kRewritten ? rewritten
                                                              : kept;
      // A node can stand for several ops, of which only those of the same name are kept.
      if (op.fate == Fate::kKept && before.ops[Index(origin)].name != op.name) continue;
      list[Index(origin)] = true;
    }
  }
  const std::set<std::string_view> folded(after.folded.begin(), after.folded.end());
  for (size_t i = 0; i < before.ops.size(); ++i) {
    Op& op = before.ops[i];
    const bool argument = op.name == "input" || op.name == "argument";
    const bool known = !op.from.empty();
    op.fate = argument || kept[i] || !known ? Fate::kKept
              : fused[i]                    ? Fate::kFused
              : rewritten[i]                ? Fate::kRewritten
              : std::any_of(op.from.begin(), op.from.end(),
                            [&](const std::string& node) { return folded.contains(node); })
                  ? Fate::kFolded
                  : Fate::kRemoved;
  }
}

void AddMisses(const RuleLog& log, Comparison& comparison) {
  Program& program = Last(comparison);
  const OpsByNode by_node = ByNode(program);
  const LogView view(log);
  for (const std::string& rule : log.tried) {
    for (const RuleMiss* miss : view.MissesOf(rule)) {
      const int index = static_cast<int>(comparison.misses.size());
      std::vector<std::string> nodes = miss->nodes;
      for (const RuleMiss::Stop& stop : miss->stops) nodes.push_back(stop.node);
      for (const int op : OpsOf(nodes, by_node)) program.ops[Index(op)].misses.push_back(index);
      comparison.misses.push_back(*miss);
    }
  }
}

void AddTimes(const Times& times, Comparison& comparison) {
  Program& program = Last(comparison);
  std::map<std::pair<std::string, std::string>, std::vector<int>> ops;
  for (size_t i = 0; i < program.ops.size(); ++i)
    ops[{program.ops[i].name, program.ops[i].node}].push_back(static_cast<int>(i));
  comparison.all_ms = times.all_ms;
  for (const auto& [key, ms] : times.ms) {
    const auto at = ops.find(key);
    if (at == ops.end()) continue;
    comparison.shown_ms += ms;
    for (const int op : at->second)
      program.ops[Index(op)].ms = ms / static_cast<double>(at->second.size());
  }
}

}  // namespace tenon::view
