#include "frontends/debug/trace.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "drr/match/matcher.h"
#include "fmt/format.h"
#include "frontends/debug/fragment.h"
#include "ir/base/shown_text.h"
#include "ir/core/block.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/dialect/func_ops.h"

namespace tenon {
namespace {

// With locations, which tell equal operations apart.
std::string TextOf(const Operation& op) {
  return Print(op, {.generic = false, .locations = true, .elide_resources = true});
}

std::string FragmentText(const OwnedOp& module) {
  return Print(*module->region().front().front(),
               {.generic = false, .locations = false, .elide_resources = true}) +
         "\n";
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The line without the numbers of its values, which change when others come or go.
std::string WithoutNumbers(std::string_view line) {
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    text += line[i];
    if (line[i] != '%') continue;
    while (i + 1 < line.size() && (std::isalnum(static_cast<unsigned char>(line[i + 1])) != 0)) ++i;
  }
  return text;
}

// The lines of each text that the other one lacks; all lines if only numbers differ.
std::pair<std::string, std::string> LinesThatDiffer(const std::string& before,
                                                    const std::string& after) {
  if (before == after) return {};
  std::map<std::string, int64_t> balance;  // how often more in `before`
  const std::vector<std::string_view> old_lines = LinesOf(before), new_lines = LinesOf(after);
  for (std::string_view line : old_lines) ++balance[WithoutNumbers(line)];
  for (std::string_view line : new_lines) --balance[WithoutNumbers(line)];
  const auto pick = [&balance](const std::vector<std::string_view>& lines, int64_t sign) {
    std::map<std::string, int64_t> left;
    for (const auto& [line, count] : balance) left[line] = std::max<int64_t>(0, sign * count);
    std::string text;
    for (std::string_view line : lines) {
      int64_t& count = left[WithoutNumbers(line)];
      if (count == 0) continue;
      --count;
      text.append(line).append("\n");
    }
    return text;
  };
  std::pair<std::string, std::string> differing = {pick(old_lines, 1), pick(new_lines, -1)};
  if (differing.first.empty() && differing.second.empty()) return {before, after};
  return differing;
}

Operation* FunctionAround(Operation* op) {
  while (op != nullptr && !Isa<func::FuncOp>(op)) op = op->parent_op();
  return op;
}

std::string TracedName(Operation* op) {
  Operation* const function = FunctionAround(op);
  return function == nullptr ? std::string() : std::string(SymbolName(*function));
}

std::string JsonNames(const std::vector<std::string>& names) {
  std::string text = "[";
  for (const std::string& name : names) text += (text.size() > 1 ? ", " : "") + JsonQuoted(name);
  return text + "]";
}

}  // namespace

struct TraceRecorder::State {
  Trace& trace;
  std::string pass{};
  TraceStep step{};
  RewriteStep::Kind kind = RewriteStep::Kind::kRule;
  Operation* op = nullptr;              // of a pass
  std::string whole{};                  // the text of that op before
  std::set<const Operation*> inside{};  // ops of the match that are alive
  std::vector<Operation*> created{};
  std::vector<Value> results{};  // what the match computes for others
  std::vector<Value> now{};      // what stands for them; null: nothing yet
  std::vector<Value> inputs{};
};

TraceRecorder::TraceRecorder(Trace& trace) : state_(new State{.trace = trace}) {}
TraceRecorder::~TraceRecorder() = default;

void TraceRecorder::PassBegins(std::string_view text, Operation*) {
  state_->pass = std::string(text);
}

void TraceRecorder::StepBegins(const RewriteStep& step) {
  State& s = *state_;
  s.trace.asked = step.number;
  s.kind = step.kind;
  s.step = {.number = step.number,
            .kind = "rule",
            .name = std::string(step.name),
            .place = std::string(step.place),
            .pass = s.pass};
  Operation* const op = const_cast<Operation*>(step.op);
  s.step.function = TracedName(op);
  if (step.kind == RewriteStep::Kind::kPass) {
    s.step.kind = "pass";
    s.op = op;
    s.whole = TextOf(*op);
    return;
  }
  if (step.kind == RewriteStep::Kind::kFold) s.step.kind = "fold";
  s.inside = {step.ops.begin(), step.ops.end()};
  s.created.clear();
  s.results.clear();
  s.inputs.clear();
  for (Operation* matched : step.ops) {
    for (std::string& node : drr::DescribeAllLocations(matched->context(), matched->location())) {
      if (std::find(s.step.nodes.begin(), s.step.nodes.end(), node) == s.step.nodes.end())
        s.step.nodes.push_back(std::move(node));
    }
    for (unsigned r = 0; r < matched->num_results(); ++r) {
      const Value result = matched->result(r);
      const auto uses = result.uses();
      const bool outside = std::any_of(uses.begin(), uses.end(), [&](const OpOperand& use) {
        return s.inside.count(use.owner()) == 0;
      });
      if (outside) s.results.push_back(result);
    }
  }
  s.now.assign(s.results.size(), Value());
  if (s.results.empty()) return;
  s.step.before = FragmentText(MakeFragment(
      s.results, [&](const Operation* o) { return s.inside.count(o) != 0; }, s.inputs));
}

void TraceRecorder::Created(Operation* op) { state_->created.push_back(op); }

void TraceRecorder::Erasing(Operation* op) {
  State& s = *state_;
  s.inside.erase(op);
  s.created.erase(std::remove(s.created.begin(), s.created.end(), op), s.created.end());
}

void TraceRecorder::Replaced(Value was, Value now) {
  State& s = *state_;
  for (size_t i = 0; i < s.results.size(); ++i) {
    if (s.results[i] == was) s.now[i] = now;
  }
}

void TraceRecorder::StepEnds() {
  State& s = *state_;
  TraceStep& step = s.step;
  if (s.kind == RewriteStep::Kind::kPass) {
    std::tie(step.before, step.after) = LinesThatDiffer(s.whole, TextOf(*s.op));
    s.whole.clear();
    if (step.before.empty() && step.after.empty()) return;
    s.trace.steps.push_back(std::move(step));
    return;
  }
  for (Operation* made : s.created) {
    step.made.push_back(
        {std::string(made->name()), drr::DescribeAllLocations(made->context(), made->location())});
  }
  // A part of the match that stays has its old value.
  std::vector<Value> after;
  for (size_t i = 0; i < s.results.size(); ++i) after.push_back(s.now[i] ? s.now[i] : s.results[i]);
  if (!after.empty()) {
    const std::set<const Operation*> made(s.created.begin(), s.created.end());
    // An operation that is gone is no input any more.
    step.after = FragmentText(MakeFragment(
        after, [&](const Operation* o) { return made.count(o) != 0 || s.inside.count(o) != 0; },
        s.inputs));
  }
  s.trace.steps.push_back(std::move(step));
  s.inside.clear();
  s.created.clear();
}

std::string TraceJson(const Trace& trace) {
  std::string text = fmt::format("{{\"version\": 1, \"input\": {}, \"asked\": {}, \"steps\": [",
                                 JsonQuoted(trace.input), trace.asked);
  for (const TraceStep& step : trace.steps) {
    std::string made;
    for (const TraceStep::Made& op : step.made) {
      made += fmt::format("{}{{\"op\": {}, \"from\": {}}}", made.empty() ? "" : ", ",
                          JsonQuoted(op.op), JsonNames(op.from));
    }
    text += fmt::format(
        "{}\n  {{\"step\": {}, \"kind\": {}, \"name\": {}, \"place\": {}, \"pass\": {}, "
        "\"function\": {}, \"nodes\": {}, \"made\": [{}], \"before\": {}, \"after\": {}}}",
        &step == trace.steps.data() ? "" : ",", step.number, JsonQuoted(step.kind),
        JsonQuoted(step.name), JsonQuoted(step.place), JsonQuoted(step.pass),
        JsonQuoted(step.function), JsonNames(step.nodes), made, JsonQuoted(step.before),
        JsonQuoted(step.after));
  }
  return text + "\n]}\n";
}

}  // namespace tenon
