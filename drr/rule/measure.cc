#include "drr/rule/measure.h"

#include <utility>

#include "drr/rule/rule_text.h"
#include "fmt/format.h"

namespace tenon::drr {
namespace {

Measure Made(Measure::Kind kind, std::vector<MeasuredOp> ops = {},
             std::vector<MeasuredOp> behind = {}) {
  Measure measure;
  measure.kind = kind;
  measure.ops = std::move(ops);
  measure.behind = std::move(behind);
  return measure;
}

std::string OpText(const MeasuredOp& op) {
  std::string text = op.name;
  if (!op.attr.empty()) {
    const auto* number = std::get_if<int64_t>(&op.value);
    text += fmt::format(" {{{} = {}}}", op.attr,
                        number != nullptr ? fmt::format("{}", *number)
                                          : QuotedText(std::get<std::string>(op.value)));
  }
  if (op.operand >= 0) return fmt::format("operand({}, {})", text, op.operand);
  const std::string_view word = NameOf(op.weight);
  return word.empty() ? text : fmt::format("{}({})", word, text);
}

std::string ListText(const std::vector<MeasuredOp>& ops) {
  std::string text;
  for (const MeasuredOp& op : ops) text += (text.empty() ? "" : ", ") + OpText(op);
  return text;
}

std::string SetText(const std::vector<MeasuredOp>& ops) {
  const std::string text = ListText(ops);
  return ops.size() == 1 ? text : "{" + text + "}";
}

}  // namespace

Measure OpsOf(std::vector<MeasuredOp> ops) { return Made(Measure::Kind::kOps, std::move(ops)); }
Measure OpsBefore(std::vector<MeasuredOp> ops, std::vector<MeasuredOp> behind) {
  return Made(Measure::Kind::kBefore, std::move(ops), std::move(behind));
}
Measure ElementsComputed() { return Made(Measure::Kind::kElements); }
Measure BytesComputed() { return Made(Measure::Kind::kBytes); }

MeasuredOp AxesOf(std::string op) { return {std::move(op), MeasuredOp::Weight::kAxes}; }
MeasuredOp ExchangesOf(std::string op) { return {std::move(op), MeasuredOp::Weight::kExchanges}; }
MeasuredOp OperandsOf(std::string op) { return {std::move(op), MeasuredOp::Weight::kOperands}; }
MeasuredOp NegativesOf(std::string op) { return {std::move(op), MeasuredOp::Weight::kNegatives}; }
MeasuredOp ReadsOf(std::string op) { return {std::move(op), MeasuredOp::Weight::kReads}; }

std::string_view NameOf(MeasuredOp::Weight weight) {
  switch (weight) {
    case MeasuredOp::Weight::kOne:
      return "";
    case MeasuredOp::Weight::kAxes:
      return "axes";
    case MeasuredOp::Weight::kExchanges:
      return "exchanges";
    case MeasuredOp::Weight::kOperands:
      return "operands";
    case MeasuredOp::Weight::kNegatives:
      return "negatives";
    case MeasuredOp::Weight::kReads:
      return "reads";
  }
  return "";
}

std::string ToString(const Measure& measure) {
  switch (measure.kind) {
    case Measure::Kind::kNone:
      return "";
    case Measure::Kind::kWords:
      return QuotedText(measure.words);
    case Measure::Kind::kOps:
      return fmt::format("ops({})", ListText(measure.ops));
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
