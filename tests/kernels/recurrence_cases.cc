// Recurrent layers.
#include "kernels/op_attrs.h"
#include "tests/kernels/cases.h"

namespace tenon::kernels::testing {
namespace {

using Cell = nn::RecurrenceCell;

Case Recurrence(Random& random) {
  nn::RecurrenceAttrs attrs;
  attrs.cell = static_cast<Cell>(random.Int(0, 2));
  attrs.reverse = random.Chance(50);
  const bool lstm = attrs.cell == Cell::kLstm, gru = attrs.cell == Cell::kGru;
  attrs.reset_after = gru && random.Chance(50);
  attrs.activation = static_cast<nn::RecurrenceActivation>(random.Int(0, 2));
  const int64_t steps = random.Int(0, 5), batch = random.Chance(50) ? 1 : random.Int(0, 9);
  // Sometimes more than a panel of the product, and beyond what one thread keeps.
  const int64_t hidden = random.Chance(10) ? random.Int(200, 400) : random.Extent();
  const int64_t columns = (lstm ? 4 : gru ? 3 : 1) * hidden;
  const Shape state = {batch, hidden};
  std::vector<Tensor> inputs = {
      random.Floats({steps, batch, columns}),
      // States stay within the range in which gates are not all shut.
      random.Floats({columns, hidden}, -0.1f, 0.1f), random.Floats(state, -1, 1),
      lstm ? random.Floats(state, -1, 1) : Tensor(),
      attrs.reset_after && random.Chance(60) ? random.Floats({hidden}) : Tensor(),
      lstm && random.Chance(30) ? random.Floats({3 * hidden}) : Tensor(),
      random.Chance(30) ? random.Ints({batch}, 0, steps) : Tensor()};
  std::vector<Tensor> outputs = {F32({steps, batch, hidden}), F32(state)};
  if (lstm) outputs.push_back(F32(state));
  std::vector<size_t> constant;
  if (random.Chance(60)) constant = {1};
  return Make(std::move(inputs), std::move(outputs), MakeAttrs(attrs), std::move(constant));
}

}  // namespace

GeneratorsByOp RecurrenceCases() { return {{"nn.recurrence", Recurrence}}; }

}  // namespace tenon::kernels::testing
