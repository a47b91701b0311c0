// What recurrent layers and ops over positions demand of their operands.
#include <algorithm>

#include "drr/check/planner.h"

namespace tenon::drr {

// x [steps, batch, gates * hidden] for a result [steps, batch, hidden].
bool Planner::RecurrenceOperands(uint16_t n, const Shape& shape) {
  const std::string cell = TextOf(n, "cell");
  const int64_t gates = cell == "lstm" ? 4 : cell == "gru" ? 3 : 1;
  // The other results have no axis of steps.
  if (shape.size() != 3 && shape.size() != 2) return false;
  const Unknown steps = shape.size() == 3 ? shape[0] : Number(Pick(1, 3)),
                batch = shape[shape.size() - 2], hidden = shape.back();
  const Unknown all = Number(gates * Value(hidden));
  if (!Demand(*Operand(n, 0), {steps, batch, all}) || !Demand(*Operand(n, 1), {all, hidden}) ||
      !Demand(*Operand(n, 2), {batch, hidden}))
    return false;
  const Edge *c = Operand(n, 3), *bias = Operand(n, 4), *peepholes = Operand(n, 5),
             *lengths = Operand(n, 6);
  const bool resets = FlagOf(n, "reset_after");
  if ((cell == "lstm") != (c != nullptr) || (peepholes != nullptr && cell != "lstm") ||
      (resets && cell != "gru") || (bias != nullptr && !resets))
    return false;
  if (c != nullptr && !Demand(*c, {batch, hidden})) return false;
  if (bias != nullptr && !Demand(*bias, {hidden})) return false;
  if (peepholes != nullptr && !Demand(*peepholes, {Number(3 * Value(hidden))})) return false;
  if (lengths == nullptr) return true;
  std::vector<double> each;
  for (int64_t i = 0; i < Value(batch); ++i)
    each.push_back(Pick(0, static_cast<int>(Value(steps))));
  if (const std::vector<double>* given = GivenTo(lengths)) each = *given;
  return Give(*lengths, each);
}

bool Planner::ReverseSequenceOperands(uint16_t n, const Shape& shape) {
  const int rank = static_cast<int>(shape.size());
  const int64_t batch = IntOf(n, "batch_axis", rank), time = IntOf(n, "time_axis", rank);
  if (batch < 0 || time < 0 || batch >= rank || time >= rank || batch == time) return false;
  std::vector<double> each;
  for (int64_t i = 0; i < Value(shape[static_cast<size_t>(batch)]); ++i)
    each.push_back(Pick(0, static_cast<int>(Value(shape[static_cast<size_t>(time)]))));
  if (const std::vector<double>* given = GivenTo(Operand(n, 1))) each = *given;
  return Give(*Operand(n, 1), each) && Demand(*Operand(n, 0), shape);
}

// Angles of rows [half of what is rotated], one for each position or picked by ids.
bool Planner::RotaryEmbeddingOperands(uint16_t n, const Shape& shape) {
  const int rank = static_cast<int>(shape.size());
  const int64_t heads = IntOf(n, "num_heads", rank);
  if (rank != 3 && rank != 4) return false;
  if (rank == 3 && (heads < 1 || heads > kMaxElements)) return false;
  if (!Known(shape.back())) Unify(shape.back(), Number(2 * Pick(1, 3) * (rank == 3 ? heads : 1)));
  if (rank == 3 && Value(shape.back()) % heads != 0) return false;
  const int64_t size = rank == 3 ? Value(shape.back()) / heads : Value(shape.back());
  int64_t rotated = IntOf(n, "rotary_dim", rank);
  rotated = rotated > 0 ? rotated : size;
  if (rotated % 2 != 0 || rotated > size || rotated == 0) return false;
  const Unknown half = Number(rotated / 2), sequence = shape[rank == 3 ? 1 : 2];
  Shape table = {shape[0], sequence, half};
  if (const Edge* ids = Operand(n, 3); ids != nullptr) {
    const int64_t rows = Pick(1, 4);
    if (!Demand(*ids, {shape[0], sequence})) return false;
    std::vector<double> numbers;
    for (int64_t i = 0; i < Value(shape[0]) * Value(sequence); ++i)
      numbers.push_back(Pick(0, static_cast<int>(rows) - 1));
    given_.emplace(Through(*ids).node, GivenNumbers{numbers, DType::kI64});
    table = {Number(rows), half};
  }
  return Demand(*Operand(n, 0), shape) && Demand(*Operand(n, 1), table) &&
         Demand(*Operand(n, 2), table);
}

// An equation of single letters: each letter of the result in one operand, and one that is summed.
void Planner::DrawEquation(uint16_t n, size_t rank) {
  const Node& node = rule_.nodes[n];
  const int slot = node.info->FindSlot("equation");
  for (const AttrCode& code : node.attrs) {
    if (code.slot != slot) continue;
    const bool variable = code.kind == AttrCode::Kind::kVariable;
    if (!variable && code.kind != AttrCode::Kind::kAny) return;
    AttrValue& value = variable ? attrs_[code.variable] : any_attrs_[std::pair(n, slot)];
    if (std::holds_alternative<std::string>(value)) return;
    std::vector<std::string> inputs(node.operands[0].size());
    if (inputs.empty() || rank > 8) return;
    std::string output;
    const int last = static_cast<int>(inputs.size()) - 1;
    for (size_t i = 0; i < rank; ++i) {
      const char letter = static_cast<char>('a' + i);
      output += letter;
      const int owner = Pick(0, last);
      for (int k = 0; k <= last; ++k)
        if (k == owner || Chance(0.3)) inputs[static_cast<size_t>(k)] += letter;
    }
    for (std::string& input : inputs) {
      if (Chance(0.7)) input += 'k';
      std::shuffle(input.begin(), input.end(), random_);
    }
    std::shuffle(output.begin(), output.end(), random_);
    std::string equation;
    for (const std::string& input : inputs) equation += (equation.empty() ? "" : ",") + input;
    value = equation + "->" + output;
  }
}

}  // namespace tenon::drr
