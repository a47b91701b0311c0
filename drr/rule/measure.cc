#include "drr/rule/measure.h"

#include <utility>

#include "drr/rule/rule_text.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace tenon::drr {
namespace {

Measure Made(Measure::Kind kind, std::vector<std::string> ops = {},
             std::vector<std::string> behind = {}) {
  Measure measure;
  measure.kind = kind;
  measure.ops = std::move(ops);
  measure.behind = std::move(behind);
  return measure;
}

std::string SetText(const std::vector<std::string>& ops) {
  const std::string text = fmt::format("{}", fmt::join(ops, ", "));
  return ops.size() == 1 ? text : "{" + text + "}";
}

}  // namespace

Measure OpsOf(std::vector<std::string> ops) { return Made(Measure::Kind::kOps, std::move(ops)); }
Measure OpsBefore(std::vector<std::string> ops, std::vector<std::string> behind) {
  return Made(Measure::Kind::kBefore, std::move(ops), std::move(behind));
}
Measure ElementsComputed() { return Made(Measure::Kind::kElements); }
Measure BytesComputed() { return Made(Measure::Kind::kBytes); }

std::string ToString(const Measure& measure) {
  switch (measure.kind) {
    case Measure::Kind::kNone:
      return "";
    case Measure::Kind::kWords:
      return QuotedText(measure.words);
    case Measure::Kind::kOps:
      return fmt::format("ops({})", fmt::join(measure.ops, ", "));
    case Measure::Kind::kBefore:
      return fmt::format("before({}, {})", SetText(measure.ops), SetText(measure.behind));
    case Measure::Kind::kElements:
      return "elements";
    case Measure::Kind::kBytes:
      return "bytes";
  }
  return "";
}

}  // namespace tenon::drr
